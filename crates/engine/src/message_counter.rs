//! Counts the messages of each run, to tell a run that floods from one that reports.
//!
//! The counts are only in memory. A restarted daemon counts from zero, which still bounds a flood.

use std::collections::BTreeMap;

use adjutant_core::input::TokenOwner;
use adjutant_model::TaskId;

/// The most runs that are remembered.
const RUNS_MAX: usize = 256;

/// The number of messages by run.
#[derive(Debug, Default)]
pub(crate) struct MessageCounter(BTreeMap<(TaskId, u64), u64>);

impl MessageCounter {
    /// Counts a message, and returns how many came from the same run before. Messages from outside
    /// runs are not counted.
    pub(crate) fn count(&mut self, whose: &TokenOwner) -> u64 {
        let TokenOwner::Run { task, fence, .. } = whose else { return 0 };
        let key = (task.clone(), *fence);
        if self.0.len() >= RUNS_MAX && !self.0.contains_key(&key) {
            self.0.pop_first();
        }
        let count = self.0.entry(key).or_default();
        *count += 1;
        *count - 1
    }
}
