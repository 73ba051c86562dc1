//! What came of the work: the payload of a `completion.report`, and most of `run_result.json`.

use adjutant_core::aof::NOTES_CHARS_MAX;
use schemars::JsonSchema;

use super::id::TaskId;
use super::path::RelPath;
use super::text::{Item, List, Text};
use super::word::OutcomeWord;

/// The payload of a `completion.report`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompletionReport {
    /// The task, as in the envelope.
    task_id: Option<TaskId>,
    #[serde(flatten)]
    completion: Completion,
}

/// What an agent says of its work.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Completion {
    outcome: OutcomeWord,
    /// The file with the summary. If it is missing, the move goes ahead with a warning.
    summary_ref: RelPath,
    /// The files it left.
    deliverables: Option<List<RelPath>>,
    tests: TestReport,
    /// What it waits for.
    blockers: Option<List<Item>>,
    /// Anything else.
    notes: Text<NOTES_CHARS_MAX>,
}

/// How the tests went. `passed` and `failed` together are not more than `total`.
#[derive(JsonSchema)]
pub(super) struct TestReport {
    /// All of them.
    #[schemars(range(max = u64::MAX))]
    total: u64,
    /// Those that passed.
    #[schemars(range(max = u64::MAX))]
    passed: u64,
    /// Those that failed.
    #[schemars(range(max = u64::MAX))]
    failed: u64,
}
