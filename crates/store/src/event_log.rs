//! The encoding of the event log: one line per event, each with the hash of the line before.

use std::fmt;

use adjutant_model::event::EventLine;
use adjutant_model::{EventId, RecordedEvent};

use crate::hash::ShortHash;

/// Where the event log ends: what the next line is chained to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventChain {
    pub last: EventId,
    /// The hash of the last line.
    pub prev: Option<ShortHash>,
}

/// Why a line is not an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine(String);

impl EventChain {
    /// Encodes the next events as lines, and advances the chain past them.
    pub fn append_events(&mut self, events: &[RecordedEvent]) -> Vec<String> {
        events.iter().map(|recorded| self.push(recorded)).collect()
    }

    fn push(&mut self, recorded: &RecordedEvent) -> String {
        let line = encode(recorded, self.prev);
        self.prev = Some(ShortHash::digest(line.as_bytes()));
        self.last = recorded.id;
        line
    }
}

/// Writes an event as a line, without its line break.
pub fn encode(recorded: &RecordedEvent, prev: Option<ShortHash>) -> String {
    let line = EventLine::new(recorded, prev.map(|hash| hash.to_string()));
    serde_json::to_string(&line).expect("text and numbers always make JSON")
}

/// Reads an event from a line that [`encode`] wrote. Bodies and salvaged texts are not in the event
/// log and come back empty.
pub fn decode(line: &str) -> Result<RecordedEvent, BadLine> {
    serde_json::from_str(line).map_err(|error| BadLine(error.to_string()))
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadLine {}
