//! The batch: everything that one commit makes durable, all or nothing.

use std::fmt;

pub use adjutant_model::effect::{EffectId, PendingEffect};
use adjutant_model::{RecordedEvent, Task};
use serde::{Deserialize, Serialize};

/// The number of a commit, from 1; 0 is a store without commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoreVersion(pub u64);

/// One commit: new events, the tasks after them, and changes to the pending effects.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommitBatch {
    /// The version the batch was decided on. A store at another version refuses the batch.
    pub expected_version: StoreVersion,
    pub events: Vec<RecordedEvent>,
    /// Every task that an event changed, in its state after the last event.
    pub tasks_after: Vec<Task>,
    /// New pending effects.
    pub new_effects: Vec<PendingEffect>,
    /// Effects that have been performed.
    pub settled_effects: Vec<EffectId>,
    /// Answers to requests of other nodes, as pairs of request key and answer. They are part of the
    /// commit, so an answer is lost only if its commit is lost.
    pub answers: Vec<(String, String)>,
}

impl StoreVersion {
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for StoreVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
