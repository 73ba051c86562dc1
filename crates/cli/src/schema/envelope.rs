//! The schema of an AOF/1 message: its head, and what the payloads add to the types of the model.

#![expect(dead_code, reason = "the fields of these types are described and never filled")]

use adjutant_core::protocols::aof::{PROTOCOL, VERSION};
use adjutant_model::actor::refuse_reserved;
use adjutant_model::completion::CompletionReport;
use adjutant_model::field_reader::{
    ITEM_CHARS_MAX, NOTES_CHARS_MAX, PROGRESS_CHARS_MAX, REASON_CHARS_MAX, limit_items,
};
use adjutant_model::handoff::TaskHandoff;
use adjutant_model::schema::{NO_NUL, NOT_BLANK};
use adjutant_model::{AgentId, Status, TaskId, Timestamp};
use schemars::JsonSchema;
use serde_json::{Value, json};

/// An AOF/1 message: at most 1 MiB, nested at most 64 levels deep. Unknown fields are ignored.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Envelope {
    /// Marks a message of the protocol.
    #[schemars(extend("const" = PROTOCOL))]
    protocol: Value,
    /// The version of the protocol.
    #[schemars(extend("const" = VERSION))]
    version: Value,
    /// The task that the message is about.
    task_id: TaskId,
    /// The name of the agent that sends the message. Names of actors that are
    /// not agents are refused.
    #[schemars(transform = refuse_reserved)]
    from_agent: AgentId,
    /// The agent that the message is for.
    to_agent: AgentId,
    /// When the message was sent.
    sent_at: Timestamp,
    /// The token of the run that sends the message.
    #[schemars(length(max = ITEM_CHARS_MAX), regex(pattern = NO_NUL))]
    run_token: Option<String>,
    #[serde(flatten)]
    message: MessagePayload,
}

#[derive(JsonSchema)]
#[serde(tag = "type", content = "payload")]
enum MessagePayload {
    /// An agent reports the result of its work.
    #[serde(rename = "completion.report")]
    Completion(CompletionPayload),
    /// An agent reports how far it is.
    #[serde(rename = "status.update")]
    Status(StatusPayload),
    /// An agent delegates work.
    #[serde(rename = "handoff.request")]
    HandoffRequest(TaskHandoff),
    /// An agent accepts delegated work.
    #[serde(rename = "handoff.accepted")]
    HandoffAccepted(AcceptedPayload),
    /// An agent rejects delegated work.
    #[serde(rename = "handoff.rejected")]
    HandoffRejected(RejectedPayload),
}

/// The payload of a `completion.report`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CompletionPayload {
    /// The task, as in the envelope.
    task_id: Option<TaskId>,
    #[serde(flatten)]
    completion: CompletionReport,
}

/// The payload of a `status.update`. At least one of status, progress, blockers and
/// notes has content.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = has_content()))]
struct StatusPayload {
    /// The task, as in the envelope.
    task_id: TaskId,
    /// The sender, as in the envelope.
    #[schemars(transform = refuse_reserved)]
    agent_id: AgentId,
    /// The status that the sender asks for. A move that is not allowed becomes a line in
    /// the work log.
    status: Option<Status>,
    /// How far the work is.
    #[schemars(length(max = PROGRESS_CHARS_MAX), regex(pattern = NO_NUL))]
    progress: Option<String>,
    /// What the work waits for.
    #[schemars(transform = limit_items)]
    blockers: Option<Vec<String>>,
    /// Anything else that the agent reports.
    #[schemars(length(max = NOTES_CHARS_MAX), regex(pattern = NO_NUL))]
    notes: Option<String>,
}

fn has_content() -> Value {
    let text = json!({"pattern": NOT_BLANK});
    json!([
        {"required": ["status"]},
        {"required": ["progress"], "properties": {"progress": text}},
        {"required": ["blockers"], "properties": {"blockers": {"minItems": 1}}},
        {"required": ["notes"], "properties": {"notes": text}},
    ])
}

/// The payload of a `handoff.accepted`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AcceptedPayload {
    /// The task, as in the envelope.
    task_id: TaskId,
    /// Must agree with the type of the message.
    #[schemars(extend("const" = true))]
    accepted: Option<bool>,
    /// A remark of the agent.
    #[schemars(length(max = REASON_CHARS_MAX), regex(pattern = NO_NUL))]
    reason: Option<String>,
}

/// The payload of a `handoff.rejected`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RejectedPayload {
    /// The task, as in the envelope.
    task_id: TaskId,
    /// Must agree with the type of the message.
    #[schemars(extend("const" = false))]
    accepted: Option<bool>,
    /// Why the agent rejects the task.
    #[schemars(length(max = REASON_CHARS_MAX), regex(pattern = NO_NUL))]
    reason: Option<String>,
}
