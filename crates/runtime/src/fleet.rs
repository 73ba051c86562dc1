//! A daemon as one of many: the nodes of a fleet share one record, and one of them decides.
//!
//! Every node has an engine that follows what is committed, and looks after the runs that were
//! given to it. What would change the record is asked of the node that decides, and answered after
//! the commit; that node does it itself. A node that hears nothing of the others decides nothing,
//! and lets its agents go on until their leases are over.
//!
//! The stream of commits guards the record; everything here is about not getting in each other's
//! way, and about never doing anything twice.

mod ask;
mod forward;
mod holder;
mod lead;
mod logs;
mod member;
mod outputs;
mod pact;
mod protocol;
mod roster;
mod wire;

#[cfg(test)]
mod golden_tests;

use std::sync::Arc;
use std::time::Duration;

use adjutant_core::NodeId;
use adjutant_store::{Loaded, Net, Store};

pub(crate) use ask::{Question, Reply, To, answers_to_text};
pub(crate) use forward::{Asked, bring, carry_own, decide_own, forward, greet, hear};
pub(crate) use lead::{Bell, Lead};
pub(crate) use logs::Shipper;
pub use member::Granted;
pub(crate) use member::{Gate, Member};
pub(crate) use pact::Name;
pub use pact::Unfit;
pub use protocol::{agree_on_protocol, check_protocol};
pub use roster::{Known, NodeInfo};

/// What a daemon needs to be one of many.
pub struct Fleet {
    /// The folder of this node, kept in step with all others.
    pub store: Box<dyn Store + Send>,
    /// What it held when it was opened.
    pub loaded: Loaded,
    /// The way to the others.
    pub net: Arc<dyn Net>,
    /// Who this node is.
    pub me: Me,
}

/// Who a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Me {
    /// What it is called.
    pub node: NodeId,
    /// What its agents are good for because of where they are.
    pub labels: Vec<String>,
    /// How long the right to decide lasts unless it is renewed.
    pub term: Duration,
}
