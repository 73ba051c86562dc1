//! How much each run has said, so that one that floods is told from one that reports.
//!
//! Kept in memory alone. Who starts anew in between counts anew, which is enough of a bound.

use std::collections::BTreeMap;

use adjutant_core::TaskId;
use adjutant_core::input::Token;

/// The most runs that are remembered.
const RUNS_MAX: usize = 256;

/// How many messages came from each run.
#[derive(Debug, Default)]
pub(crate) struct Floods(BTreeMap<(TaskId, u64), u64>);

impl Floods {
    /// Counts a message, and returns how many came from the same run before. Nobody else is counted.
    pub(crate) fn count(&mut self, whose: &Token) -> u64 {
        let Token::Run { task, fence } = whose else { return 0 };
        let key = (task.clone(), *fence);
        if self.0.len() >= RUNS_MAX && !self.0.contains_key(&key) {
            self.0.pop_first();
        }
        let count = self.0.entry(key).or_default();
        *count += 1;
        *count - 1
    }
}
