//! A `new_task` and an `attempt_completion`.

use adjutant_core::delegation::{TEXT_CHARS_MAX, WORD_CHARS_MAX};
use adjutant_core::mission::INSTRUCTION_CHARS_MAX;
use schemars::JsonSchema;

use super::foreign::{AttemptWord, ForeignId, IssueEncounteredWord, PriorityWord, Said};
use super::name::AgentName;
use super::path::RelPath;
use super::text::Text;

/// A `new_task`: work given to whoever has a mode. At most 128 KiB. Fields that are not listed are
/// ignored, with a warning.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewTask {
    task_id: ForeignId,
    /// The task it is a part of: another one.
    parent_task_id: Option<ForeignId>,
    /// The mode of the agent that is to do it.
    delegated_to_mode: AgentName,
    /// What is to be done.
    objective: Said<INSTRUCTION_CHARS_MAX>,
    /// What one should know.
    context: Option<Text<INSTRUCTION_CHARS_MAX>>,
    /// What to read.
    #[schemars(length(max = 1_000))]
    inputs: Option<Vec<Artifact>>,
    /// What must be there at the end.
    #[schemars(length(max = 1_000))]
    expected_outputs: Option<Vec<ExpectedOutput>>,
    /// What to keep to.
    #[schemars(length(max = 1_000))]
    constraints_and_rules: Option<Vec<Text<TEXT_CHARS_MAX>>>,
    /// What must hold at the end.
    #[schemars(length(max = 1_000))]
    acceptance_criteria: Option<Vec<Text<TEXT_CHARS_MAX>>>,
    priority: Option<PriorityWord>,
    /// Until when: a time as RFC 3339 writes it, or any words.
    deadline_hint: Option<Said<TEXT_CHARS_MAX>>,
}

/// Something to read, or something that was made.
#[derive(JsonSchema)]
struct Artifact {
    /// What it is.
    r#type: Option<Text<WORD_CHARS_MAX>>,
    path: RelPath,
    /// Which version of it.
    version: Option<Text<WORD_CHARS_MAX>>,
    /// What is in it.
    description: Option<Text<TEXT_CHARS_MAX>>,
}

/// Something that must be there at the end. If it is not, success needs a review.
#[derive(JsonSchema)]
struct ExpectedOutput {
    /// What it is.
    r#type: Option<Text<WORD_CHARS_MAX>>,
    path: RelPath,
    /// What is to be in it.
    description: Option<Text<TEXT_CHARS_MAX>>,
}

/// An `attempt_completion`: what came of a `new_task`. At most 1 MiB. Fields that are not listed
/// are ignored, with a warning.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct AttemptCompletion {
    task_id: ForeignId,
    result: AttemptWord,
    /// What was done, or what is the matter.
    summary: Said<TEXT_CHARS_MAX>,
    /// What was made.
    #[schemars(length(max = 1_000))]
    output_artifacts: Option<Vec<Artifact>>,
    /// What was the matter.
    #[serde(rename = "issues_encountered")]
    #[schemars(length(max = 1_000))]
    issues_encountered: Option<Vec<IssueEncountered>>,
}

/// Something that was the matter.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct IssueEncountered {
    r#type: IssueEncounteredWord,
    /// What it is.
    description: Said<TEXT_CHARS_MAX>,
    /// How it could be resolved.
    suggested_resolution: Option<Text<TEXT_CHARS_MAX>>,
}
