//! The result of a decision: an answer, events and effects.

use adjutant_model::event::NewEvent;
use adjutant_model::{Answer, Effect};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Sent to the caller once the events are committed.
    pub answer: Answer,
    /// In the order they happened.
    pub events: Vec<NewEvent>,
    /// Performed after the commit.
    pub effects: Vec<Effect>,
}
