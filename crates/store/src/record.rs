//! The record: one JSON line an event, each carrying a hash of the line before.

mod decode;
mod encode;

pub use decode::decode;
pub use encode::encode;

use adjutant_core::{EventId, Recorded};

use crate::hash::Hash;

/// Where the record ends: what the next line is chained to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Chain {
    /// The number of the last event.
    pub last: EventId,
    /// The hash of the last line.
    pub prev: Option<Hash>,
}

impl Chain {
    /// Writes the lines of the next events, and moves on.
    pub fn extend(&mut self, events: &[Recorded]) -> Vec<String> {
        events.iter().map(|recorded| self.push(recorded)).collect()
    }

    fn push(&mut self, recorded: &Recorded) -> String {
        let line = encode(recorded, self.prev);
        self.prev = Some(Hash::of(line.as_bytes()));
        self.last = recorded.id;
        line
    }
}
