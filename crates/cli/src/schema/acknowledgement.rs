//! The payloads of `handoff.accepted` and `handoff.rejected`.

use adjutant_core::aof::REASON_CHARS_MAX;
use schemars::JsonSchema;

use super::id::TaskId;
use super::text::Text;

/// The payload of a `handoff.accepted`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct HandoffAccepted {
    /// The task, as in the envelope.
    task_id: TaskId,
    /// Agrees with the type of the message.
    #[schemars(extend("const" = true))]
    accepted: Option<bool>,
    /// Anything to say about it.
    reason: Option<Text<REASON_CHARS_MAX>>,
}

/// The payload of a `handoff.rejected`.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct HandoffRejected {
    /// The task, as in the envelope.
    task_id: TaskId,
    /// Agrees with the type of the message.
    #[schemars(extend("const" = false))]
    accepted: Option<bool>,
    /// Why not.
    reason: Option<Text<REASON_CHARS_MAX>>,
}
