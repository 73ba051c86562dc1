//! Communication between the nodes of a fleet, apart from commits.
//!
//! Almost none of it is stored: leadership and membership are found out again, and a node whose
//! request gets no answer learns from the commits whether it was done. Only agreements are stored.

use std::any::Any;
use std::time::Duration;

use adjutant_model::{NodeId, TaskId};

use crate::batch::StoreVersion;
use crate::store::StoreError;

/// The fleet as one node uses it.
pub trait FleetNetwork: Send + Sync {
    /// Becomes the leader for this long, unless another node is the leader.
    fn acquire_leadership(
        &self,
        node: &NodeId,
        ttl: Duration,
    ) -> Result<Option<Box<dyn LeadershipLease>>, StoreError>;

    /// Returns the leader, as far as this node knows.
    fn current_leader(&self, ttl: Duration) -> Result<Option<NodeId>, StoreError>;

    /// Sends a request to a node and waits this long for the answer. `None` does not tell whether
    /// the node received the request.
    fn send_request(
        &self,
        node: &NodeId,
        question: Vec<u8>,
        patience: Duration,
    ) -> Result<Option<Vec<u8>>, StoreError>;

    /// Answers requests to this node, several at once, until the returned value is dropped.
    fn serve_requests(
        &self,
        node: &NodeId,
        answer: RequestHandler,
    ) -> Result<SubscriptionGuard, StoreError>;

    /// Calls `callback` when there may be a new commit, until the returned value is dropped.
    fn on_commit(&self, callback: CommitCallback) -> Result<SubscriptionGuard, StoreError>;

    /// Publishes a description of this node. It expires unless it is published again within `ttl`.
    fn announce(&self, node: &NodeId, what: Vec<u8>, ttl: Duration) -> Result<(), StoreError>;

    /// Tells the other nodes that this node leaves.
    fn withdraw(&self, node: &NodeId, ttl: Duration) -> Result<(), StoreError>;

    /// Returns the present nodes with their published descriptions.
    fn nodes(&self, ttl: Duration) -> Result<Vec<(NodeId, Vec<u8>)>, StoreError>;

    /// Returns the version of the newest commit.
    fn version(&self) -> Result<StoreVersion, StoreError>;

    /// Returns the agreed value of a name, if there is one. Writes nothing.
    fn read_agreement(&self, on: &str) -> Result<Option<AgreedValue>, StoreError>;

    /// Returns the agreed value of a name; if there is none, `own` becomes it.
    fn propose_agreement(&self, on: &str, own: &str) -> Result<AgreedValue, StoreError>;

    /// Replaces the agreed value `was` by `to`. Returns `None` if the value is not `was`.
    fn replace_agreement(
        &self,
        on: &str,
        was: &str,
        to: &str,
    ) -> Result<Option<AgreedValue>, StoreError>;

    /// Returns the secret that all nodes of the fleet share, which the servers cannot read; if there
    /// is none, `own` becomes it.
    fn share_secret(&self, own: &str) -> Result<String, StoreError>;

    /// Removes and returns what was refused since the last call.
    fn take_refused(&self) -> Vec<RefusedMessages>;

    /// Writes bytes of a run's log at an offset.
    fn append_log(
        &self,
        task: &TaskId,
        attempt: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), StoreError>;

    /// Returns the bytes of a run's log from an offset, and the offset where they begin.
    fn read_log(
        &self,
        task: &TaskId,
        attempt: u32,
        offset: u64,
    ) -> Result<(u64, Vec<u8>), StoreError>;
}

/// A value that all nodes of a project agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgreedValue {
    pub text: String,
    /// Larger for every later value; a value that was read may be outdated.
    pub revision: u64,
}

/// Messages that were not accepted, because no accepted node signed them for this place and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedMessages {
    /// What was refused, and why.
    pub detail: String,
    pub count: u64,
}

/// Answers a request of a node, which signed it. Returns `None` if the request speaks for another
/// node; then it is refused.
pub type RequestHandler = Box<dyn Fn(&NodeId, Vec<u8>) -> Option<Vec<u8>> + Send + Sync>;

/// A callback for new commits, up to this version.
pub type CommitCallback = Box<dyn Fn(StoreVersion) + Send + Sync>;

/// A subscription that ends when it is dropped.
pub type SubscriptionGuard = Box<dyn Any + Send>;

/// The leadership, as long as it is renewed.
pub trait LeadershipLease: Send {
    /// Returns whether no other node can be the leader yet.
    fn is_held(&self) -> bool;

    /// Returns how long no other node can become the leader.
    fn time_left(&self) -> Duration;

    /// Extends the leadership. Returns whether it was granted.
    fn renew(&mut self) -> Result<bool, StoreError>;

    /// Gives the leadership up, so that no node has to wait until it expires.
    fn release(self: Box<Self>) -> Result<(), StoreError>;
}
