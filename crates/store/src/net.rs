//! What the nodes of a fleet say to each other, besides what they commit.
//!
//! Next to none of it has to be kept: who decides and who is there is found out again, and whoever
//! asks and gets no answer finds in the commits whether it was done. What is kept is what all must
//! agree on.

use std::any::Any;
use std::time::Duration;

use adjutant_core::{NodeId, TaskId};

use crate::batch::Version;
use crate::store::StoreError;

/// What a node of a fleet needs of the others.
pub trait Net: Send + Sync {
    /// Takes the right to decide for this long, if nobody else has it.
    fn lead(&self, node: &NodeId, ttl: Duration) -> Result<Option<Box<dyn Lead>>, StoreError>;

    /// Returns who decides, as far as is known.
    fn decider(&self, ttl: Duration) -> Result<Option<NodeId>, StoreError>;

    /// Asks a node, and waits this long for its answer. None says nothing about whether it heard.
    fn ask(
        &self,
        node: &NodeId,
        question: Vec<u8>,
        patience: Duration,
    ) -> Result<Option<Vec<u8>>, StoreError>;

    /// Answers what others ask this node, several at once, until what is returned is dropped.
    fn answer(&self, node: &NodeId, answer: Answer) -> Result<Held, StoreError>;

    /// Calls a bell whenever something may have been committed, until what is returned is dropped.
    fn on_commit(&self, bell: Bell) -> Result<Held, StoreError>;

    /// Says what this node is, to whoever wants to know, for as long as it is said again in time.
    fn announce(&self, node: &NodeId, what: Vec<u8>, ttl: Duration) -> Result<(), StoreError>;

    /// Says that this node leaves.
    fn withdraw(&self, node: &NodeId, ttl: Duration) -> Result<(), StoreError>;

    /// Returns the nodes that are there, each with what it says it is.
    fn nodes(&self, ttl: Duration) -> Result<Vec<(NodeId, Vec<u8>)>, StoreError>;

    /// Returns the version of the last commit there is.
    fn version(&self) -> Result<Version, StoreError>;

    /// Returns what all nodes of the project agreed on under a name, if they did. Writes nothing.
    fn agreed(&self, on: &str) -> Result<Option<Agreed>, StoreError>;

    /// Returns what all nodes of the project agreed on under a name: what is given, where that is
    /// nothing yet.
    fn agree(&self, on: &str, own: &str) -> Result<Agreed, StoreError>;

    /// Puts something else in the place of what was agreed on, if it still is. None if it was not.
    fn change(&self, on: &str, was: &str, to: &str) -> Result<Option<Agreed>, StoreError>;

    /// Adds to the log of a run what comes from this byte on.
    fn append_log(
        &self,
        task: &TaskId,
        attempt: u32,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), StoreError>;

    /// Returns what the log of a run has from this byte on, and where that begins.
    fn read_log(
        &self,
        task: &TaskId,
        attempt: u32,
        offset: u64,
    ) -> Result<(u64, Vec<u8>), StoreError>;
}

/// What all nodes of a project agreed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// What.
    pub text: String,
    /// What is larger for everything that was agreed on later: what is read may be old.
    pub revision: u64,
}

/// Answers a question with an answer.
pub type Answer = Box<dyn Fn(Vec<u8>) -> Vec<u8> + Send + Sync>;

/// Something that is called when there is news: something was committed, up to this version.
pub type Bell = Box<dyn Fn(Version) + Send + Sync>;

/// Something that goes on until it is dropped.
pub type Held = Box<dyn Any + Send>;

/// The right to decide, for as long as it is renewed.
pub trait Lead: Send {
    /// Says whether nobody else can have it yet.
    fn is_held(&self) -> bool;

    /// Returns how long nobody else can have it.
    fn left(&self) -> Duration;

    /// Asks for more time. Says whether it was granted.
    fn renew(&mut self) -> Result<bool, StoreError>;

    /// Gives it back, so that nobody has to wait for its end.
    fn release(self: Box<Self>) -> Result<(), StoreError>;
}
