//! An AOF/1 message.

use adjutant_core::aof::{PROTOCOL, VERSION};
use schemars::{JsonSchema, json_schema};

use super::acknowledgement::{HandoffAccepted, HandoffRejected};
use super::completion::CompletionReport;
use super::described;
use super::handoff::HandoffRequest;
use super::id::TaskId;
use super::name::{AgentName, Sender};
use super::status_update::StatusUpdate;
use super::text::Item;
use super::time::Timestamp;

/// An AOF/1 message: at most 1 MiB, nested at most 64 levels deep. Fields that are not listed are
/// ignored.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Envelope {
    protocol: Protocol,
    version: Version,
    /// The task it is about.
    task_id: TaskId,
    from_agent: Sender,
    /// Whom it is for.
    to_agent: AgentName,
    /// When it was sent.
    sent_at: Timestamp,
    /// The token of the run it comes from.
    run_token: Option<Item>,
    #[serde(flatten)]
    message: Message,
}

described! {
    /// Says that this is a message of the protocol.
    Protocol => json_schema!({"const": PROTOCOL})
}

described! {
    /// The version of the protocol.
    Version => json_schema!({"const": VERSION})
}

/// What a message says.
#[derive(JsonSchema)]
#[serde(tag = "type", content = "payload")]
enum Message {
    /// An agent says what came of its work.
    #[serde(rename = "completion.report")]
    CompletionReport(CompletionReport),
    /// An agent says how far it is.
    #[serde(rename = "status.update")]
    StatusUpdate(StatusUpdate),
    /// An agent gives work on.
    #[serde(rename = "handoff.request")]
    HandoffRequest(HandoffRequest),
    /// An agent takes work that was given on.
    #[serde(rename = "handoff.accepted")]
    HandoffAccepted(HandoffAccepted),
    /// An agent does not take it.
    #[serde(rename = "handoff.rejected")]
    HandoffRejected(HandoffRejected),
}
