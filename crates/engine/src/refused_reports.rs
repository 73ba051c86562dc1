//! Remembers the refused report of a run until the run ends, to explain why it counts as a run
//! without a report.
//!
//! This is only in memory. After a restart the explanation is missing, but the
//! decision is the same.

use std::collections::BTreeMap;

use adjutant_model::{Answer, AnswerVerdict, Reason, TaskId};

/// The most runs that are remembered.
const RUNS_MAX: usize = 256;
/// The most characters stored per run.
const CHARS_MAX: usize = 1_000;

/// The last refusal by run.
#[derive(Debug, Default)]
pub(crate) struct RefusedReports(BTreeMap<(TaskId, u64), String>);

impl RefusedReports {
    /// Remembers the answer to a report that a run left, if it was refused.
    pub(crate) fn record(&mut self, task: &TaskId, fence: u64, answer: &Answer) {
        let is_ignored = answer.reason == Some(Reason::MissingToken);
        if answer.verdict != AnswerVerdict::Rejected && !is_ignored {
            return;
        }
        if self.0.len() >= RUNS_MAX {
            self.0.pop_first();
        }
        self.0.insert((task.clone(), fence), describe_refusal(answer));
    }

    /// Puts the refusal of a run's report, if there was one, in front of its last output.
    pub(crate) fn explain_tail(&self, task: &TaskId, fence: u64, tail: &str) -> String {
        match self.0.get(&(task.clone(), fence)) {
            Some(refusal) if tail.is_empty() => refusal.clone(),
            Some(refusal) => format!("{refusal}\n{tail}"),
            None => tail.to_owned(),
        }
    }
}

fn describe_refusal(answer: &Answer) -> String {
    if answer.reason == Some(Reason::MissingToken) {
        return "a line AOF/1 on its standard output was ignored: it has no `runToken` \
                (missing_token)"
            .to_owned();
    }
    let problems: Vec<String> = answer.problems.iter().map(ToString::to_string).collect();
    let reason = answer.reason.map_or("", Reason::as_str);
    let what = if problems.is_empty() { reason.to_owned() } else { problems.join("; ") };
    let words = format!("its report was refused: {what}");
    words.chars().take(CHARS_MAX).collect()
}
