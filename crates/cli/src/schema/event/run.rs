//! What the events about runs say.

use schemars::JsonSchema;

use crate::schema::foreign::EpicId;
use crate::schema::name::AgentName;
use crate::schema::time::Timestamp;

/// An answer.
#[derive(JsonSchema)]
pub(super) struct TaskAnswered {
    /// The answer, for whoever works on the task next.
    text: String,
}

/// A question.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskAsked {
    /// What the agent asks.
    question: String,
    /// How it would resolve it.
    suggested_resolution: Option<String>,
}

/// Something that was learnt.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EpicNoted {
    epic_id: EpicId,
    /// When it was learnt.
    at: Timestamp,
    /// What was learnt.
    text: String,
}

/// A run that begins.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunStarted {
    /// Who is to work on the task.
    agent: AgentName,
    /// The number of the run.
    attempt: u32,
    /// The fence of its lease.
    fence: u64,
    /// Until when its lease lasts, if it is not renewed.
    expires_at: Timestamp,
    /// Set if the agent fetched the task and works elsewhere: its heartbeat alone counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    elsewhere: bool,
}

/// A sign of life that renewed a lease.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunHeartbeat {
    /// The fence of the lease.
    fence: u64,
    /// Until when it lasts now.
    expires_at: Timestamp,
}

/// A process that is over.
#[derive(JsonSchema)]
pub(super) struct RunExited {
    /// The number of the run.
    attempt: u32,
    /// The fence of its lease.
    fence: u64,
    /// How it ended.
    #[schemars(regex(
        pattern = "^(code:-?[0-9]+|signal:-?[0-9]+|timed_out|idle|stopped|lost|not_started:.*)$"
    ))]
    exit: String,
    /// The last lines it printed, or whatever else there is to say; empty if there is nothing.
    reason: String,
}

/// An attempt without a result.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunFailed {
    /// The number of the run.
    attempt: u32,
    /// The fence of its lease.
    fence: u64,
    /// Why it came to nothing.
    reason: String,
    /// Until when the task waits before it is tried again; absent if it is not.
    not_before: Option<Timestamp>,
}

/// A report that counts after all.
#[derive(JsonSchema)]
pub(super) struct SalvageApplied {
    /// Its name under `salvage/` in the folder of the run.
    file: String,
}
