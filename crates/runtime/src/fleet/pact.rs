//! What the nodes of a fleet must be at one about before one of them may join: the times by which
//! they judge each other, and whose a name is.
//!
//! A node lets a run go on for as long as it thinks it may, and whoever decides waits for as long
//! as it thinks it must. Were these different, two agents could work on one task. The same would
//! come of two nodes of one name, each of which took the work of that name for its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_core::NodeId;
use adjutant_store::net::Agreed;
use adjutant_store::{Net, StoreError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::member::lock;
use super::roster::COUNTS;

/// What the times are agreed on under.
const TIMES: &str = "times";

/// Why a node cannot be one of a fleet.
#[derive(Debug, Error)]
pub enum Unfit {
    /// Another process has its name.
    #[error("another node calls itself {0}")]
    NameTaken(NodeId),
    /// The nodes that are up go by another time.
    #[error("{setting} is {own:?} here, and {theirs:?} for the nodes that are up ({nodes})")]
    Differs {
        /// What it is called in the configuration.
        setting: &'static str,
        /// What this node says.
        own: Duration,
        /// What the others say.
        theirs: Duration,
        /// Who is up.
        nodes: String,
    },
    /// The others cannot be asked.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The times that must be the same on all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Times {
    heartbeat_ttl_ms: u64,
    term_ms: u64,
}

impl Times {
    pub(crate) fn new(heartbeat_ttl: Duration, term: Duration) -> Self {
        Self { heartbeat_ttl_ms: millis(heartbeat_ttl), term_ms: millis(term) }
    }

    /// Agrees with the others. Where nobody is up, what this node says counts from now on.
    fn agree(self, net: &dyn Net) -> Result<Agreed, Unfit> {
        let own = serde_json::to_string(&self).unwrap_or_default();
        loop {
            let agreed = net.agree(TIMES, &own)?;
            if agreed.text == own {
                return Ok(agreed);
            }
            let up = up(net)?;
            if let Some(theirs) = read(&agreed.text).filter(|_| !up.is_empty()) {
                self.compare(theirs, &up)?;
                return Ok(agreed);
            }
            if let Some(changed) = net.change(TIMES, &agreed.text, &own)? {
                return Ok(changed);
            }
        }
    }

    fn compare(self, theirs: Self, up: &[NodeId]) -> Result<(), Unfit> {
        let (setting, own, theirs) = if self.heartbeat_ttl_ms != theirs.heartbeat_ttl_ms {
            ("heartbeat_ttl", self.heartbeat_ttl_ms, theirs.heartbeat_ttl_ms)
        } else if self.term_ms != theirs.term_ms {
            ("term", self.term_ms, theirs.term_ms)
        } else {
            return Ok(());
        };
        let (own, theirs) = (Duration::from_millis(own), Duration::from_millis(theirs));
        let nodes: Vec<&str> = up.iter().map(NodeId::as_str).collect();
        Err(Unfit::Differs { setting, own, theirs, nodes: nodes.join(", ") })
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn read(agreed: &str) -> Option<Times> {
    serde_json::from_str(agreed).ok()
}

fn up(net: &dyn Net) -> Result<Vec<NodeId>, StoreError> {
    Ok(net.nodes(COUNTS)?.into_iter().map(|(node, _)| node).collect())
}

/// What a node agreed on with the others when it joined.
#[derive(Debug)]
pub(crate) struct Pact {
    times: Times,
    node: NodeId,
    /// What tells the process that has the name from any other.
    holder: String,
    joined: Mutex<Option<Joined>>,
    /// Whether another process is known to have taken the name.
    is_replaced: AtomicBool,
}

/// What was agreed on then.
#[derive(Debug)]
struct Joined {
    times: Agreed,
    name: Agreed,
}

impl Pact {
    pub(crate) fn new(times: Times, node: NodeId, holder: String) -> Self {
        Self { times, node, holder, joined: Mutex::default(), is_replaced: AtomicBool::new(false) }
    }

    /// Agrees with the others on the times that count, and takes the name of this node, unless
    /// somebody who is up has it. One that is not heard has it no more, and sees that when it is
    /// back.
    pub(crate) fn join(&self, net: &dyn Net) -> Result<(), Unfit> {
        let times = self.times.agree(net)?;
        if up(net)?.contains(&self.node) {
            return Err(Unfit::NameTaken(self.node.clone()));
        }
        let name = self.take_name(net)?;
        *lock(&self.joined) = Some(Joined { times, name });
        Ok(())
    }

    fn take_name(&self, net: &dyn Net) -> Result<Agreed, Unfit> {
        loop {
            let held = net.agree(&self.key(), &self.holder)?;
            if held.text == self.holder {
                return Ok(held);
            }
            if let Some(taken) = net.change(&self.key(), &held.text, &self.holder)? {
                return Ok(taken);
            }
        }
    }

    /// Looks whether the others have agreed on something else since. Who cannot be asked says
    /// nothing, and what was agreed on before says nothing either.
    pub(crate) fn look(&self, net: &dyn Net) -> Result<(), Unfit> {
        let joined = lock(&self.joined);
        let Some(Joined { times, name }) = &*joined else { return Ok(()) };
        let later = |on: &str, known: &Agreed| {
            let now = net.agree(on, &known.text).ok()?;
            (now.revision > known.revision && now.text != known.text).then_some(now)
        };
        if later(&self.key(), name).is_some() {
            self.is_replaced.store(true, Ordering::Release);
            return Err(Unfit::NameTaken(self.node.clone()));
        }
        match later(TIMES, times).and_then(|now| read(&now.text)) {
            Some(theirs) => self.times.compare(theirs, &up(net).unwrap_or_default()),
            None => Ok(()),
        }
    }

    /// Says whether another process is known to have taken the name.
    pub(crate) fn is_replaced(&self) -> bool {
        self.is_replaced.load(Ordering::Acquire)
    }

    fn key(&self) -> String {
        format!("node-{}", self.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(ttl_secs: u64, term_secs: u64) -> Times {
        Times::new(Duration::from_secs(ttl_secs), Duration::from_secs(term_secs))
    }

    #[test]
    fn what_differs_is_named_with_both_and_with_who_is_up() {
        let up = ["a", "b"].map(|name| NodeId::parse(name).expect("a good name"));
        let said = |own: Times| match own.compare(times(300, 6), &up) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said(times(300, 6)), "");
        let ttl = "heartbeat_ttl is 60s here, and 300s for the nodes that are up (a, b)";
        assert_eq!(said(times(60, 6)), ttl);
        assert_eq!(said(times(300, 2)), "term is 2s here, and 6s for the nodes that are up (a, b)");
    }
}
