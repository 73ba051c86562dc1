//! What is committed in one go: all of it, or nothing.

use adjutant_core::{Effect, EventId, Recorded, Task};
use std::fmt;

/// The number of a commit, from 1; 0 is a store nothing was committed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Version(pub u64);

/// A commit: events, the tasks as they are after them, and what is owed to the outside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    /// The version it was decided on. A store that has moved on refuses it.
    pub expect: Version,
    /// What happened.
    pub events: Vec<Recorded>,
    /// Every task an event changed, as it is after the last of them.
    pub after: Vec<Task>,
    /// Effects that are owed from now on.
    pub owed: Vec<Owed>,
    /// Effects that have been done.
    pub settled: Vec<EffectId>,
    /// What others are answered who asked for some of this, by what they asked under. It travels
    /// with the commit, so that an answer cannot be lost where the commit is not.
    pub answers: Vec<(String, String)>,
}

/// An effect that is to be done, once, even if it takes several tries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owed {
    /// What the effect is known by.
    pub id: EffectId,
    /// What is to be done.
    pub effect: Effect,
}

/// The id of an effect: the last event of the decision that owes it, and its place among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EffectId {
    /// The event.
    pub event: EventId,
    /// The place, from 0.
    pub place: u32,
}

impl Version {
    /// Returns the version after the next commit.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for EffectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.event, self.place)
    }
}
