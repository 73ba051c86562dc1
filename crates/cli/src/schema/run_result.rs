//! `run_result.json`.

use adjutant_core::completion::HANDOFF_REF;
use schemars::{JsonSchema, json_schema};

use super::completion::Completion;
use super::described;
use super::id::TaskId;
use super::name::AgentName;
use super::time::Timestamp;

/// What `run_result.json` holds: the last completion of the current run.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunResult {
    /// The task, as the folder is called.
    task_id: TaskId,
    /// Who sent it.
    agent_id: AgentName,
    /// When it was sent.
    completed_at: Timestamp,
    handoff_ref: Option<HandoffRef>,
    #[serde(flatten)]
    completion: Completion,
}

described! {
    /// The file with the hand-over, for whoever goes on with the work. Always the same.
    HandoffRef => json_schema!({"examples": [HANDOFF_REF]})
}
