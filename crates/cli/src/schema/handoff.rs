//! Work given on: the payload of a `handoff.request`, and `inputs/handoff.json`.

use adjutant_core::aof::LIST_ITEMS_MAX;
use schemars::{JsonSchema, json_schema};

use super::described;
use super::id::TaskId;
use super::name::{AgentName, Sender};
use super::path::RelPath;
use super::text::{ITEM_CHARS_MAX, Item, List, NO_NUL};
use super::time::Timestamp;

/// The payload of a `handoff.request`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct HandoffRequest {
    /// The task that is given on, as in the envelope.
    task_id: TaskId,
    /// The task it comes from: another one.
    parent_task_id: TaskId,
    /// Who gives, as in the envelope.
    from_agent: Sender,
    /// Who is to take.
    to_agent: AgentName,
    acceptance_criteria: Option<Criteria>,
    /// The files that must be there at the end.
    expected_outputs: Option<List<RelPath>>,
    /// What to read first.
    context_refs: Option<List<RelPath>>,
    /// What not to do.
    constraints: Option<List<Item>>,
    /// Until when.
    due_by: Timestamp,
}

described! {
    /// What must hold at the end: a list of texts. What is no text is dropped, with a warning.
    Criteria => json_schema!({
        "maxItems": LIST_ITEMS_MAX,
        "items": {"maxLength": ITEM_CHARS_MAX, "pattern": NO_NUL},
    })
}

/// What `inputs/handoff.json` holds.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Handoff {
    /// The task that is given on.
    task_id: TaskId,
    /// The task it comes from.
    parent_task_id: TaskId,
    /// Who gives.
    from_agent: AgentName,
    /// Who is to take.
    to_agent: AgentName,
    /// What must hold at the end.
    acceptance_criteria: List<Item>,
    /// The files that must be there at the end.
    expected_outputs: List<RelPath>,
    /// What to read first.
    context_refs: List<RelPath>,
    /// What not to do.
    constraints: List<Item>,
    /// Until when, in the words of the message.
    due_by: Timestamp,
}
