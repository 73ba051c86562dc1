//! What the nodes of a fleet must be at one about before one of them may join: the times by which
//! they judge each other, and whose a name is.
//!
//! A node lets a run go on for as long as it thinks it may, and whoever decides waits for as long
//! as it thinks it must. Were these different, two agents could work on one task. The same would
//! come of two nodes of one name, each of which took the work of that name for its own. So a name
//! goes from one folder to another only when nothing is left that was begun in it, and a node begins
//! what it was given only when it has seen afterwards that it still has its name.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_core::NodeId;
use adjutant_store::net::Agreed;
use adjutant_store::{Net, StoreError, steady};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::holder::Holder;
use super::member::lock;
use super::protocol::{agree_on_protocol, check_protocol};
use super::roster::COUNTS;

/// What the times are agreed on under.
const TIMES: &str = "times";

/// Why a node cannot be one of a fleet.
#[derive(Debug, Error)]
pub enum Unfit {
    /// Another process has its name.
    #[error("another node calls itself {0}")]
    NameTaken(NodeId),
    /// Another folder had its name last, is not heard, and has runs that may still go on.
    #[error("{0} is another machine, which is not heard and has runs that may still go on")]
    Lingers(NodeId),
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
    /// The fleet speaks another wire protocol than this version.
    #[error("this version of Adjutant speaks fleet protocol {own}, and the fleet speaks {theirs}")]
    Protocol {
        /// The number of this version.
        own: u32,
        /// The number of the fleet.
        theirs: u32,
        /// The nodes that are up, if this version is the newer one.
        nodes: Vec<NodeId>,
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

fn is_later(now: &Agreed, known: &Agreed) -> bool {
    now.revision > known.revision && now.text != known.text
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn read(agreed: &str) -> Option<Times> {
    serde_json::from_str(agreed).ok()
}

pub(super) fn up(net: &dyn Net) -> Result<Vec<NodeId>, StoreError> {
    Ok(net.nodes(COUNTS)?.into_iter().map(|(node, _)| node).collect())
}

/// What a node agreed on with the others when it joined.
#[derive(Debug)]
pub(crate) struct Pact {
    times: Times,
    node: NodeId,
    /// What tells the process that has the name from any other, and this folder from others.
    holder: Holder,
    joined: Mutex<Option<Joined>>,
    /// Whether another process is known to have taken the name.
    is_replaced: AtomicBool,
}

/// What was agreed on then.
#[derive(Debug)]
struct Joined {
    times: Agreed,
    name: Agreed,
    /// When it was last asked whose the name is, and it was this node's.
    seen: Duration,
}

/// Whether the record has runs of a node that may still go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    Runs,
    Nothing,
}

/// What stands between whom a name is about to belong to and whom it still belongs to.
const INSTEAD_OF: char = '<';

/// Returns whom a name belongs to: somebody may be about to have it instead, who does not know yet
/// whether there is something left of it.
fn owner(text: &str) -> &str {
    text.split_once(INSTEAD_OF).map_or(text, |(_, owner)| owner)
}

/// Whose a name was that this node has taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Name {
    /// This folder's, or nobody's.
    Ours,
    /// That of another folder, which had it under this.
    Anothers(String),
}

impl Pact {
    pub(crate) fn new(times: Times, node: NodeId, holder: Holder) -> Self {
        Self { times, node, holder, joined: Mutex::default(), is_replaced: AtomicBool::new(false) }
    }

    /// Agrees with the others on the times that count, and takes the name of this node, unless
    /// somebody who is up has it. One that is not heard has it no more, and sees that when it is
    /// back; but another machine keeps it while it has runs. Whose the name was is returned: where
    /// it was another's, what was committed before it was taken is yet to be seen.
    pub(crate) fn join(&self, net: &dyn Net, left: Left) -> Result<Name, Unfit> {
        agree_on_protocol(net)?;
        let times = self.times.agree(net)?;
        if up(net)?.contains(&self.node) {
            return Err(Unfit::NameTaken(self.node.clone()));
        }
        let seen = steady();
        let (name, whose) = self.take_name(net, left)?;
        *lock(&self.joined) = Some(Joined { times, name, seen });
        Ok(whose)
    }

    fn take_name(&self, net: &dyn Net, left: Left) -> Result<(Agreed, Name), Unfit> {
        let own = self.holder.own();
        loop {
            let held = net.agree(&self.key(), own)?;
            if held.text == own {
                self.holder.settle()?;
                return Ok((held, Name::Ours));
            }
            let owner = owner(&held.text);
            if self.holder.is_ours(owner) {
                self.holder.write_ahead()?;
                if let Some(taken) = net.change(&self.key(), &held.text, own)? {
                    self.holder.settle()?;
                    return Ok((taken, Name::Ours));
                }
            } else if left == Left::Runs {
                return Err(Unfit::Lingers(self.node.clone()));
            } else {
                let instead = format!("{own}{INSTEAD_OF}{owner}");
                if let Some(taken) = net.change(&self.key(), &held.text, &instead)? {
                    return Ok((taken, Name::Anothers(owner.to_owned())));
                }
            }
        }
    }

    /// Keeps a name that was another's, or gives it back if that one turns out to have runs: it may
    /// have been given one, and started it, while this node came up.
    pub(crate) fn keep(&self, net: &dyn Net, was: &str, left: Left) -> Result<(), Unfit> {
        let own = self.holder.own();
        let instead = format!("{own}{INSTEAD_OF}{was}");
        if left == Left::Runs {
            net.change(&self.key(), &instead, was)?;
            return Err(Unfit::Lingers(self.node.clone()));
        }
        let Some(name) = net.change(&self.key(), &instead, own)? else {
            return Err(Unfit::NameTaken(self.node.clone()));
        };
        self.holder.settle()?;
        if let Some(joined) = &mut *lock(&self.joined) {
            joined.name = name;
        }
        Ok(())
    }

    /// Looks whether the name has become another's since. Who cannot be asked says nothing, and
    /// what was agreed on before says nothing either.
    pub(crate) fn look(&self, net: &dyn Net) -> Result<(), Unfit> {
        let Some((_, name)) = self.agreed() else { return Ok(()) };
        let began = steady();
        match net.agree(&self.key(), &name.text) {
            // Whoever is about to have it gives it back, or has it the next time.
            Ok(now) if is_later(&now, &name) && owner(&now.text) == name.text => {}
            Ok(now) if is_later(&now, &name) => {
                self.is_replaced.store(true, Ordering::Release);
                return Err(Unfit::NameTaken(self.node.clone()));
            }
            Ok(now) if now.text == name.text => self.note_seen(began),
            Ok(_) | Err(_) => {}
        }
        Ok(())
    }

    /// Looks whether the others have agreed on other times since, or on another protocol.
    pub(crate) fn look_at_times(&self, net: &dyn Net) -> Result<(), Unfit> {
        let Some((times, _)) = self.agreed() else { return Ok(()) };
        // A newer node may have found none up while this one was not heard.
        if let Err(unfit @ Unfit::Protocol { .. }) = check_protocol(net) {
            return Err(unfit);
        }
        let now = net.agree(TIMES, &times.text).ok().filter(|now| is_later(now, &times));
        match now.and_then(|now| read(&now.text)) {
            Some(theirs) => self.times.compare(theirs, &up(net).unwrap_or_default()),
            None => Ok(()),
        }
    }

    /// Says whether this node was seen to have its name after that.
    pub(crate) fn was_seen_after(&self, then: Duration) -> bool {
        lock(&self.joined).as_ref().is_some_and(|joined| joined.seen > then)
    }

    /// Returns what was agreed on, so that nobody waits for the servers with it locked.
    fn agreed(&self) -> Option<(Agreed, Agreed)> {
        lock(&self.joined).as_ref().map(|joined| (joined.times.clone(), joined.name.clone()))
    }

    fn note_seen(&self, at: Duration) {
        if let Some(joined) = &mut *lock(&self.joined) {
            joined.seen = at;
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
    use std::path::Path;

    use super::*;
    use crate::fleet::forward::tests::Lossy;

    /// A process on a folder, which would have the name under this.
    fn process(root: &Path, own: &str) -> Pact {
        std::fs::create_dir_all(root.join("journal")).expect("a folder");
        let node = NodeId::parse("desk").expect("a good name");
        let holder = Holder::new(root, node.clone(), own.to_owned());
        Pact::new(times(300, 6), node, holder)
    }

    fn lingers<T>(joined: &Result<T, Unfit>) -> bool {
        matches!(joined, Err(Unfit::Lingers(_)))
    }

    #[test]
    fn a_name_passes_to_another_folder_only_when_nothing_is_left_of_it() {
        let (net, homes) = (Lossy::default(), [(); 2].map(|()| tempfile::tempdir().expect("one")));
        let [one, other] = homes.each_ref().map(tempfile::TempDir::path);
        let has = || net.agree("node-desk", "nobody").expect("it is there").text;
        assert_eq!(process(one, "a").join(&net, Left::Nothing).expect("it is free"), Name::Ours);
        let first = process(one, "b");
        assert_eq!(first.join(&net, Left::Runs).expect("it had it"), Name::Ours);
        assert!(lingers(&process(other, "c").join(&net, Left::Runs)));
        assert_eq!(has(), "b");

        // A run was started while the other came up: the name goes back.
        let second = process(other, "d");
        let was = second.join(&net, Left::Nothing).expect("nothing is known of runs");
        assert_eq!((was, has().as_str()), (Name::Anothers("b".into()), "d<b"));
        let then = steady();
        first.look(&net).expect("the other does not have it yet");
        assert!(!first.was_seen_after(then), "nor can it be sure of it");
        assert!(lingers(&second.keep(&net, "b", Left::Runs)));
        first.look(&net).expect("it has its name again");
        assert!(first.was_seen_after(then));

        // One that died in between does not have it, and the first may come back.
        process(other, "e").join(&net, Left::Nothing).expect("nothing is known of runs");
        assert!(lingers(&process(other, "f").join(&net, Left::Runs)));
        let fifth = process(other, "g");
        fifth.join(&net, Left::Nothing).expect("nothing is known of runs");
        assert_eq!(has(), "g<b");
        let first = process(one, "h");
        assert_eq!(first.join(&net, Left::Runs).expect("it had it"), Name::Ours);
        assert!(matches!(fifth.keep(&net, "b", Left::Nothing), Err(Unfit::NameTaken(_))));

        let third = process(other, "i");
        let was = third.join(&net, Left::Nothing).expect("nothing is left");
        assert_eq!(was, Name::Anothers("h".into()));
        third.keep(&net, "h", Left::Nothing).expect("nothing is left");
        assert!(matches!(first.look(&net), Err(Unfit::NameTaken(_))) && first.is_replaced());
        third.look(&net).expect("it has it");
        assert_eq!(process(other, "j").join(&net, Left::Runs).expect("it had it"), Name::Ours);
        assert!(lingers(&process(one, "k").join(&net, Left::Runs)));
    }

    #[test]
    fn a_name_is_seen_to_be_had_only_by_asking() {
        let (net, home) = (Lossy::default(), tempfile::tempdir().expect("a folder"));
        let pact = process(home.path(), "a");
        let before = steady();
        assert!(!pact.was_seen_after(before));
        pact.join(&net, Left::Nothing).expect("it is free");
        assert!(pact.was_seen_after(before));
        let then = steady();
        assert!(!pact.was_seen_after(then));
        pact.look(&net).expect("it has it");
        assert!(pact.was_seen_after(then));
        let then = steady();
        net.change("node-desk", "a", "b").expect("it is changed");
        assert!(pact.look(&net).is_err() && !pact.was_seen_after(then));
    }

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
