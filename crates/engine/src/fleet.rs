//! A daemon in a fleet: the nodes share one event log, and one of them, the leader, decides.
//!
//! Every node has an engine that follows commits, and supervises the runs assigned to that node. A
//! follower sends requests that change the event log to the leader, which answers after the commit;
//! the leader performs its own requests itself. A node that cannot reach the others decides
//! nothing, and lets its agents run until their leases expire.
//!
//! The stream of commits protects the event log. This module only keeps nodes from conflicting with
//! each other, and makes sure that nothing is done twice.

mod forward;
pub mod member;
pub mod membership_agreement;
mod node_name_claims;
pub mod outputs;
pub mod protocol;
pub mod roster;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use adjutant_model::NodeId;
use adjutant_store::{FleetNetwork, FleetStore, LoadedStore};

pub(crate) use forward::{
    answer_nodes, commit_own_files, forward, perform_own, report_to_leader, send_to_node,
};
pub use member::FleetMember;
pub use member::GrantedRuns;
pub use membership_agreement::MembershipError;
pub use membership_agreement::PreviousOwner;
pub use protocol::{agree_on_protocol, check_protocol};
pub use roster::{KnownNodes, NodeInfo};

/// Everything a daemon needs to join a fleet.
pub struct FleetSetup {
    /// The folder of this node, which follows the stream of commits.
    pub store: Box<dyn FleetStore + Send>,
    /// The contents of the store when it was opened.
    pub loaded: LoadedStore,
    /// The connection to the other nodes.
    pub net: Arc<dyn FleetNetwork>,
    pub identity: NodeIdentity,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeIdentity {
    pub node: NodeId,
    /// What the agents of this node are suited for because of where they run.
    pub labels: Vec<String>,
    /// How long leadership lasts unless it is renewed.
    pub term: Duration,
}
