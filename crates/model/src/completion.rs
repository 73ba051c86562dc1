//! Completion reports: what an agent says about its work, and the transitions that follow.

use serde::{Deserialize, Serialize};

use crate::actor::AgentId;
#[cfg(feature = "schema")]
use crate::field_reader::{LIST_ITEMS_MAX, NOTES_CHARS_MAX, limit_items};
use crate::relative_path::RelPath;
use crate::review::ReviewPolicy;
#[cfg(feature = "schema")]
use crate::schema::NO_NUL;
use crate::status::Status;
use crate::task_id::TaskId;
use crate::text_value::word_enum;
use crate::time::Timestamp;

/// Where an agent leaves its hand-over, relative to its task's folder.
pub const HANDOFF_REF: &str = "outputs/handoff.md";

word_enum! {
    /// The result of a run's work, as the agent reports it.
    #[strum(serialize_all = "snake_case")]
    pub enum WorkOutcome {
        Done,
        Blocked,
        NeedsReview,
        Partial,
    }
}

/// How many tests ran, passed and failed. `passed` and `failed` together are at most `total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestReport {
    /// The number of tests.
    #[cfg_attr(feature = "schema", schemars(range(max = u64::MAX)))]
    pub total: u64,
    /// The number of tests that passed.
    #[cfg_attr(feature = "schema", schemars(range(max = u64::MAX)))]
    pub passed: u64,
    /// The number of tests that failed.
    #[cfg_attr(feature = "schema", schemars(range(max = u64::MAX)))]
    pub failed: u64,
}

/// The payload of a `completion.report`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompletionReport {
    pub outcome: WorkOutcome,
    /// The file with the summary. If it is missing, the report counts, with a warning.
    pub summary_ref: RelPath,
    #[cfg_attr(feature = "schema", schemars(default))]
    pub handoff_ref: HandoffRef,
    /// The files that the run left.
    #[cfg_attr(feature = "schema", schemars(default, length(max = LIST_ITEMS_MAX)))]
    pub deliverables: Vec<RelPath>,
    pub tests: TestReport,
    /// What the work waits for.
    #[cfg_attr(feature = "schema", schemars(default, transform = limit_items))]
    pub blockers: Vec<String>,
    /// Anything else that the agent reports.
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = NOTES_CHARS_MAX), regex(pattern = NO_NUL))
    )]
    pub notes: String,
}

/// The file with the hand-over: always `outputs/handoff.md`; other values in a file are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(schema_with = "handoff_ref_schema"))]
pub struct HandoffRef;

#[cfg(feature = "schema")]
fn handoff_ref_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    if generator.contract().is_serialize() {
        schemars::json_schema!({"const": HANDOFF_REF})
    } else {
        schemars::json_schema!({"examples": [HANDOFF_REF]})
    }
}

impl Serialize for HandoffRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HANDOFF_REF)
    }
}

impl<'de> Deserialize<'de> for HandoffRef {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|_| Self)
    }
}

/// A completion report with its sender and time: the content of `run_result.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunResult {
    /// The task that the report is about.
    #[serde(rename = "taskId")]
    pub task: TaskId,
    /// The sender of the report.
    #[serde(rename = "agentId")]
    pub agent: AgentId,
    /// When the report was sent.
    pub completed_at: Timestamp,
    #[serde(flatten)]
    pub completion: CompletionReport,
}

impl WorkOutcome {
    /// Returns where the task goes from this outcome, in order.
    pub const fn target_statuses(self, review: ReviewPolicy) -> &'static [Status] {
        match (self, review) {
            (Self::Done, ReviewPolicy::NotNeeded) => &[Status::Review, Status::Done],
            (Self::Done, ReviewPolicy::Required) | (Self::NeedsReview | Self::Partial, _) => {
                &[Status::Review]
            }
            (Self::Blocked, _) => &[Status::Blocked],
        }
    }
}

/// Returns the transitions that an outcome asks for. Leaves out the status that the task already
/// has; a closed task makes none.
pub fn outcome_transitions(
    from: Status,
    outcome: WorkOutcome,
    review: ReviewPolicy,
) -> Vec<Status> {
    if from.is_closed() {
        return Vec::new();
    }
    let targets = outcome.target_statuses(review);
    targets.iter().copied().filter(|target| *target != from).collect()
}

impl CompletionReport {
    /// Returns the reason for the transitions: the blockers of a blocked task, otherwise the notes.
    pub fn reason(&self) -> String {
        match self.outcome {
            WorkOutcome::Blocked if !self.blockers.is_empty() => self.blockers.join("; "),
            _ => self.notes.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_transitions_match_protocol() {
        use Status::{Blocked, Cancelled, Done, InProgress, Review as InReview};
        let check = |from, outcome, review, expected: &[Status]| {
            assert_eq!(outcome_transitions(from, outcome, review), expected, "{from} {outcome}");
        };
        check(InProgress, WorkOutcome::Done, ReviewPolicy::Required, &[InReview]);
        check(InProgress, WorkOutcome::Done, ReviewPolicy::NotNeeded, &[InReview, Done]);
        check(InProgress, WorkOutcome::Blocked, ReviewPolicy::Required, &[Blocked]);
        check(InProgress, WorkOutcome::NeedsReview, ReviewPolicy::NotNeeded, &[InReview]);
        check(InProgress, WorkOutcome::Partial, ReviewPolicy::NotNeeded, &[InReview]);
        check(InReview, WorkOutcome::Partial, ReviewPolicy::Required, &[]);
        check(InReview, WorkOutcome::Done, ReviewPolicy::NotNeeded, &[Done]);
        check(Blocked, WorkOutcome::Blocked, ReviewPolicy::Required, &[]);
        check(Done, WorkOutcome::Partial, ReviewPolicy::Required, &[]);
        check(Cancelled, WorkOutcome::Done, ReviewPolicy::NotNeeded, &[]);
    }
}
