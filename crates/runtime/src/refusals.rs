//! What runs left and was refused, until they end: it is why they count as runs without a report.
//!
//! Kept in memory alone. Who starts anew in between says less, and decides the same.

use std::collections::BTreeMap;

use adjutant_core::{Answer, TaskId, Verdict};

/// The most runs that are remembered.
const RUNS_MAX: usize = 256;
/// The most characters that are said of one.
const CHARS_MAX: usize = 1_000;

/// What was refused of the runs there are.
#[derive(Debug, Default)]
pub(crate) struct Refusals(BTreeMap<(TaskId, u64), String>);

impl Refusals {
    /// Takes note of the answer to a report that a run left.
    pub(crate) fn note(&mut self, task: &TaskId, fence: u64, answer: &Answer) {
        if answer.verdict != Verdict::Rejected {
            return;
        }
        if self.0.len() >= RUNS_MAX {
            self.0.pop_first();
        }
        self.0.insert((task.clone(), fence), in_words(answer));
    }

    /// Adds to the last words of a run that its report was refused, if it was.
    pub(crate) fn told(&self, task: &TaskId, fence: u64, tail: &str) -> String {
        match self.0.get(&(task.clone(), fence)) {
            Some(refusal) if tail.is_empty() => refusal.clone(),
            Some(refusal) => format!("{refusal}\n{tail}"),
            None => tail.to_owned(),
        }
    }
}

fn in_words(answer: &Answer) -> String {
    let problems: Vec<String> = answer.problems.iter().map(ToString::to_string).collect();
    let reason = answer.reason.map_or("", adjutant_core::Reason::as_str);
    let what = if problems.is_empty() { reason.to_owned() } else { problems.join("; ") };
    let words = format!("its report was refused: {what}");
    words.chars().take(CHARS_MAX).collect()
}
