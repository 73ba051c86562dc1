//! The agreement that a node needs to join a fleet: the wire protocol, the timeouts by which nodes
//! judge each other, and the owner of a node name.
//!
//! A node lets a run continue for as long as its own settings allow, and the leader waits for as
//! long as its settings say. If these times differed, two agents could work on one task. The same
//! could happen with two nodes of one name, each of which would start the work assigned to that
//! name. So a name passes from one folder to another only when no run of it is left, and a node
//! starts an assigned run only after it has confirmed that it still has its name.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_model::NodeId;
use adjutant_store::fleet_network::AgreedValue;
use adjutant_store::{FleetNetwork, StoreError, monotonic_now};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::member::lock;
use super::node_name_claims::NodeNameClaims;
use super::protocol::{agree_on_protocol, check_protocol};
use super::roster::NODE_TTL;

/// The key under which the times are agreed.
pub const TIMES: &str = "times";

/// Why a node cannot be a member of the fleet.
#[derive(Debug, Error)]
pub enum MembershipError {
    #[error("another node is already named {0}")]
    NameTaken(NodeId),
    /// Another folder had this name last; it is silent and has runs that may still continue.
    #[error(
        "{0} is the name of another machine, which does not answer and may still have active runs"
    )]
    NameStillInUse(NodeId),
    /// A setting differs from that of the nodes that are up.
    #[error("{setting} is {own:?} on this node, but {theirs:?} on the nodes that are up ({nodes})")]
    TimesDiffer { setting: &'static str, own: Duration, theirs: Duration, nodes: String },
    #[error("this version of Adjutant speaks fleet protocol {own}, but the fleet speaks {theirs}")]
    Protocol {
        own: u32,
        theirs: u32,
        /// The nodes that are up, if this version is newer than the fleet's.
        nodes: Vec<NodeId>,
    },
    /// The servers do not answer or refuse.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The times that must be equal on all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgreedTimes {
    heartbeat_ttl_ms: u64,
    term_ms: u64,
}

impl AgreedTimes {
    pub fn new(heartbeat_ttl: Duration, term: Duration) -> Self {
        Self { heartbeat_ttl_ms: millis(heartbeat_ttl), term_ms: millis(term) }
    }

    /// Agrees with the other nodes. If no node is up, this node's times replace the old ones.
    fn agree(self, net: &dyn FleetNetwork) -> Result<AgreedValue, MembershipError> {
        let own = serde_json::to_string(&self).unwrap_or_default();
        loop {
            let agreed = net.propose_agreement(TIMES, &own)?;
            if agreed.text == own {
                return Ok(agreed);
            }
            let up = nodes_up(net)?;
            if let Some(theirs) = parse_times(&agreed.text).filter(|_| !up.is_empty()) {
                self.compare(theirs, &up)?;
                return Ok(agreed);
            }
            if let Some(changed) = net.replace_agreement(TIMES, &agreed.text, &own)? {
                return Ok(changed);
            }
        }
    }

    fn compare(self, theirs: Self, up: &[NodeId]) -> Result<(), MembershipError> {
        let (setting, own, theirs) = if self.heartbeat_ttl_ms != theirs.heartbeat_ttl_ms {
            ("heartbeat_ttl", self.heartbeat_ttl_ms, theirs.heartbeat_ttl_ms)
        } else if self.term_ms != theirs.term_ms {
            ("term", self.term_ms, theirs.term_ms)
        } else {
            return Ok(());
        };
        let (own, theirs) = (Duration::from_millis(own), Duration::from_millis(theirs));
        let nodes: Vec<&str> = up.iter().map(NodeId::as_str).collect();
        Err(MembershipError::TimesDiffer { setting, own, theirs, nodes: nodes.join(", ") })
    }
}

fn is_later(now: &AgreedValue, known: &AgreedValue) -> bool {
    now.revision > known.revision && now.text != known.text
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn parse_times(agreed: &str) -> Option<AgreedTimes> {
    serde_json::from_str(agreed).ok()
}

pub fn nodes_up(net: &dyn FleetNetwork) -> Result<Vec<NodeId>, StoreError> {
    Ok(net.nodes(NODE_TTL)?.into_iter().map(|(node, _)| node).collect())
}

/// What this node agreed on with the others when it joined.
#[derive(Debug)]
pub struct MembershipAgreement {
    times: AgreedTimes,
    node: NodeId,
    /// Distinguishes the process that has the name from others, and this folder from others.
    claims: NodeNameClaims,
    joined: Mutex<Option<JoinedState>>,
    /// Whether another process is known to have taken the name.
    is_replaced: AtomicBool,
}

#[derive(Debug)]
struct JoinedState {
    times: AgreedValue,
    name: AgreedValue,
    /// When this node last started a check that confirmed its name.
    confirmed_at: Duration,
}

/// Whether the event log has runs of the node that may still continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemainingRuns {
    Present,
    Absent,
}

/// Separates the process that is taking a name over from the one that still owns it.
const TAKEOVER_MARK: char = '<';

/// Returns who owns a name. A process may be taking it over without knowing yet
/// whether runs are left.
fn owner(text: &str) -> &str {
    text.split_once(TAKEOVER_MARK).map_or(text, |(_, owner)| owner)
}

/// Who had the name before this node took it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviousOwner {
    /// This folder, or no node at all.
    ThisFolder,
    /// Another folder, which claimed it under this token.
    OtherFolder(String),
}

impl MembershipAgreement {
    pub fn new(times: AgreedTimes, node: NodeId, claims: NodeNameClaims) -> Self {
        Self { times, node, claims, joined: Mutex::default(), is_replaced: AtomicBool::new(false) }
    }

    /// Agrees on protocol and times, and takes the name of this node. Fails if a node that is
    /// up has the name, or if a silent node on another machine has it and still has runs. A
    /// silent node loses its name otherwise, and finds out when it is back. Returns who had the
    /// name: if it was another folder, the caller must read all commits made before the
    /// takeover and then confirm the name.
    pub fn join(
        &self,
        net: &dyn FleetNetwork,
        left: RemainingRuns,
    ) -> Result<PreviousOwner, MembershipError> {
        agree_on_protocol(net)?;
        let times = self.times.agree(net)?;
        if nodes_up(net)?.contains(&self.node) {
            return Err(MembershipError::NameTaken(self.node.clone()));
        }
        let seen = monotonic_now();
        let (name, whose) = self.take_name(net, left)?;
        *lock(&self.joined) = Some(JoinedState { times, name, confirmed_at: seen });
        Ok(whose)
    }

    fn take_name(
        &self,
        net: &dyn FleetNetwork,
        left: RemainingRuns,
    ) -> Result<(AgreedValue, PreviousOwner), MembershipError> {
        let own = self.claims.own_token();
        loop {
            let held = net.propose_agreement(&self.key(), own)?;
            if held.text == own {
                self.claims.record_owned()?;
                return Ok((held, PreviousOwner::ThisFolder));
            }
            let owner = owner(&held.text);
            if self.claims.is_earlier_claim(owner) {
                self.claims.record_intent()?;
                if let Some(taken) = net.replace_agreement(&self.key(), &held.text, own)? {
                    self.claims.record_owned()?;
                    return Ok((taken, PreviousOwner::ThisFolder));
                }
            } else if left == RemainingRuns::Present {
                return Err(MembershipError::NameStillInUse(self.node.clone()));
            } else {
                let instead = format!("{own}{TAKEOVER_MARK}{owner}");
                if let Some(taken) = net.replace_agreement(&self.key(), &held.text, &instead)? {
                    return Ok((taken, PreviousOwner::OtherFolder(owner.to_owned())));
                }
            }
        }
    }

    /// Keeps a name that belonged to another folder. Gives it back if that folder turns out to have
    /// runs: it may have been assigned one, and started it, while this node came up.
    pub fn confirm_name(
        &self,
        net: &dyn FleetNetwork,
        was: &str,
        left: RemainingRuns,
    ) -> Result<(), MembershipError> {
        let own = self.claims.own_token();
        let instead = format!("{own}{TAKEOVER_MARK}{was}");
        if left == RemainingRuns::Present {
            net.replace_agreement(&self.key(), &instead, was)?;
            return Err(MembershipError::NameStillInUse(self.node.clone()));
        }
        let Some(name) = net.replace_agreement(&self.key(), &instead, own)? else {
            return Err(MembershipError::NameTaken(self.node.clone()));
        };
        self.claims.record_owned()?;
        if let Some(joined) = &mut *lock(&self.joined) {
            joined.name = name;
        }
        Ok(())
    }

    /// Checks whether another node has taken the name. A failed request, or an answer older than
    /// what is known, changes nothing.
    pub fn check_name(&self, net: &dyn FleetNetwork) -> Result<(), MembershipError> {
        let Some((_, name)) = self.agreed_values() else { return Ok(()) };
        let began = monotonic_now();
        match net.propose_agreement(&self.key(), &name.text) {
            // The process taking it over either gives it back, or owns it by the next check.
            Ok(now) if is_later(&now, &name) && owner(&now.text) == name.text => {}
            Ok(now) if is_later(&now, &name) => {
                self.is_replaced.store(true, Ordering::Release);
                return Err(MembershipError::NameTaken(self.node.clone()));
            }
            Ok(now) if now.text == name.text => self.record_confirmation(began),
            Ok(_) | Err(_) => {}
        }
        Ok(())
    }

    /// Checks whether the fleet has agreed on other times or another protocol since.
    pub fn check_times(&self, net: &dyn FleetNetwork) -> Result<(), MembershipError> {
        let Some((times, _)) = self.agreed_values() else { return Ok(()) };
        // A newer node may have found no node up while this one was silent.
        if let Err(unfit @ MembershipError::Protocol { .. }) = check_protocol(net) {
            return Err(unfit);
        }
        let now =
            net.propose_agreement(TIMES, &times.text).ok().filter(|now| is_later(now, &times));
        match now.and_then(|now| parse_times(&now.text)) {
            Some(theirs) => self.times.compare(theirs, &nodes_up(net).unwrap_or_default()),
            None => Ok(()),
        }
    }

    /// Returns whether this node was confirmed to have its name after `then`.
    pub fn was_confirmed_after(&self, then: Duration) -> bool {
        lock(&self.joined).as_ref().is_some_and(|joined| joined.confirmed_at > then)
    }

    /// Returns the agreed times and name, cloned so that the lock is not held
    /// while servers are asked.
    fn agreed_values(&self) -> Option<(AgreedValue, AgreedValue)> {
        lock(&self.joined).as_ref().map(|joined| (joined.times.clone(), joined.name.clone()))
    }

    fn record_confirmation(&self, at: Duration) {
        if let Some(joined) = &mut *lock(&self.joined) {
            joined.confirmed_at = at;
        }
    }

    /// Returns whether another process is known to have taken the name.
    pub fn is_replaced(&self) -> bool {
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
    use crate::fleet::forward::tests::LossyNet;

    /// A process on a folder that claims the name under this token.
    fn process(root: &Path, own: &str) -> MembershipAgreement {
        std::fs::create_dir_all(root.join("journal")).expect("a folder");
        let node = NodeId::parse("desk").expect("a good name");
        let holder = NodeNameClaims::new(root, node.clone(), own.to_owned());
        MembershipAgreement::new(times(300, 6), node, holder)
    }

    fn lingers<T>(joined: &Result<T, MembershipError>) -> bool {
        matches!(joined, Err(MembershipError::NameStillInUse(_)))
    }

    #[test]
    fn node_name_passes_to_other_folder_only_without_runs() {
        let (net, homes) =
            (LossyNet::default(), [(); 2].map(|()| tempfile::tempdir().expect("one")));
        let [one, other] = homes.each_ref().map(tempfile::TempDir::path);
        let has = || net.propose_agreement("node-desk", "unknown").expect("it is there").text;
        assert_eq!(
            process(one, "a").join(&net, RemainingRuns::Absent).expect("it is free"),
            PreviousOwner::ThisFolder
        );
        let first = process(one, "b");
        assert_eq!(
            first.join(&net, RemainingRuns::Present).expect("it had it"),
            PreviousOwner::ThisFolder
        );
        assert!(lingers(&process(other, "c").join(&net, RemainingRuns::Present)));
        assert_eq!(has(), "b");

        // A run was started while the other came up: the name goes back.
        let second = process(other, "d");
        let was = second.join(&net, RemainingRuns::Absent).expect("nothing is known of runs");
        assert_eq!((was, has().as_str()), (PreviousOwner::OtherFolder("b".into()), "d<b"));
        let then = monotonic_now();
        first.check_name(&net).expect("the other does not have it yet");
        assert!(!first.was_confirmed_after(then), "nor can it be sure of it");
        assert!(lingers(&second.confirm_name(&net, "b", RemainingRuns::Present)));
        first.check_name(&net).expect("it has its name again");
        assert!(first.was_confirmed_after(then));

        // A process that died in between does not own the name, and the first may come back.
        process(other, "e").join(&net, RemainingRuns::Absent).expect("nothing is known of runs");
        assert!(lingers(&process(other, "f").join(&net, RemainingRuns::Present)));
        let fifth = process(other, "g");
        fifth.join(&net, RemainingRuns::Absent).expect("nothing is known of runs");
        assert_eq!(has(), "g<b");
        let first = process(one, "h");
        assert_eq!(
            first.join(&net, RemainingRuns::Present).expect("it had it"),
            PreviousOwner::ThisFolder
        );
        assert!(matches!(
            fifth.confirm_name(&net, "b", RemainingRuns::Absent),
            Err(MembershipError::NameTaken(_))
        ));

        let third = process(other, "i");
        let was = third.join(&net, RemainingRuns::Absent).expect("nothing is left");
        assert_eq!(was, PreviousOwner::OtherFolder("h".into()));
        third.confirm_name(&net, "h", RemainingRuns::Absent).expect("nothing is left");
        assert!(
            matches!(first.check_name(&net), Err(MembershipError::NameTaken(_)))
                && first.is_replaced()
        );
        third.check_name(&net).expect("it has it");
        assert_eq!(
            process(other, "j").join(&net, RemainingRuns::Present).expect("it had it"),
            PreviousOwner::ThisFolder
        );
        assert!(lingers(&process(one, "k").join(&net, RemainingRuns::Present)));
    }

    #[test]
    fn node_name_is_confirmed_only_by_asking_servers() {
        let (net, home) = (LossyNet::default(), tempfile::tempdir().expect("a folder"));
        let pact = process(home.path(), "a");
        let before = monotonic_now();
        assert!(!pact.was_confirmed_after(before));
        pact.join(&net, RemainingRuns::Absent).expect("it is free");
        assert!(pact.was_confirmed_after(before));
        let then = monotonic_now();
        assert!(!pact.was_confirmed_after(then));
        pact.check_name(&net).expect("it has it");
        assert!(pact.was_confirmed_after(then));
        let then = monotonic_now();
        net.replace_agreement("node-desk", "a", "b").expect("it is changed");
        assert!(pact.check_name(&net).is_err() && !pact.was_confirmed_after(then));
    }

    fn times(ttl_secs: u64, term_secs: u64) -> AgreedTimes {
        AgreedTimes::new(Duration::from_secs(ttl_secs), Duration::from_secs(term_secs))
    }

    #[test]
    fn agreed_times_mismatch_names_both_values_and_nodes() {
        let up = ["a", "b"].map(|name| NodeId::parse(name).expect("a good name"));
        let said = |own: AgreedTimes| match own.compare(times(300, 6), &up) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said(times(300, 6)), "");
        let ttl = "heartbeat_ttl is 60s on this node, but 300s on the nodes that are up (a, b)";
        assert_eq!(said(times(60, 6)), ttl);
        assert_eq!(
            said(times(300, 2)),
            "term is 2s on this node, but 6s on the nodes that are up (a, b)"
        );
    }
}
