//! The payload of a `status.update`.

use adjutant_core::aof::{NOTES_CHARS_MAX, PROGRESS_CHARS_MAX};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::id::TaskId;
use super::name::Sender;
use super::text::{Item, List, NOT_BLANK, Text};
use super::word::Status;

/// The payload of a `status.update`. At least one of status, progress, blockers and notes says
/// something.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = says_something()))]
pub(super) struct StatusUpdate {
    /// The task, as in the envelope.
    task_id: TaskId,
    /// The sender, as in the envelope.
    agent_id: Sender,
    /// Where the task should go. A move that is not allowed becomes a line in the work log.
    status: Option<Status>,
    /// How far the work is.
    progress: Option<Text<PROGRESS_CHARS_MAX>>,
    /// What it waits for.
    blockers: Option<List<Item>>,
    /// Anything else.
    notes: Option<Text<NOTES_CHARS_MAX>>,
}

fn says_something() -> Value {
    let said = json!({"pattern": NOT_BLANK});
    json!([
        {"required": ["status"]},
        {"required": ["progress"], "properties": {"progress": said}},
        {"required": ["blockers"], "properties": {"blockers": {"minItems": 1}}},
        {"required": ["notes"], "properties": {"notes": said}},
    ])
}
