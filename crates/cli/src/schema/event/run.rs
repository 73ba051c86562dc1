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

/// What a run wants to be allowed.
#[derive(JsonSchema)]
pub(super) struct RunAsked {
    /// The number of the run.
    attempt: u32,
    /// Its fence.
    fence: u64,
    /// The number of the question in the run.
    number: u32,
    /// When it was asked.
    since: Timestamp,
    /// What it wants to do.
    text: String,
    /// What may be answered.
    choices: Vec<ChoiceRecord>,
}

/// One thing that may be answered.
#[derive(JsonSchema)]
struct ChoiceRecord {
    /// What the agent knows it by.
    id: String,
    /// What people are shown.
    name: String,
    /// What it comes to.
    #[schemars(extend("enum" = ["allow_once", "allow_always", "reject_once", "reject_always"]))]
    kind: String,
}

/// What was answered.
#[derive(JsonSchema)]
pub(super) struct RunAnswered {
    /// The number of the run.
    attempt: u32,
    /// Its fence.
    fence: u64,
    /// The number of the question in the run.
    number: u32,
    /// The choice, by what the agent knows it by; absent if it is refused without one.
    choice: Option<String>,
    /// Whether it is allowed.
    allowed: bool,
    /// What whoever answered said about it.
    note: String,
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
    /// The node of a fleet that starts it and looks after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
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
        pattern = "^(code:-?[0-9]+|signal:-?[0-9]+|timed_out|idle|over_budget|stopped|lost|not_started:.*|no_workspace:.*)$"
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

/// What the agent of a run told of itself.
#[derive(JsonSchema)]
pub(super) struct RunUsage {
    /// Who.
    agent: AgentName,
    /// The number of the run.
    attempt: u32,
    /// The fence of its lease.
    fence: u64,
    /// What the agent knows its conversation by, if it can be gone on with.
    session: Option<String>,
    /// What it used.
    usage: UsageRecord,
    /// What is to be known of its program, as that this version was not tried.
    warning: Option<String>,
}

/// What was used of a model; what an agent does not tell is 0.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageRecord {
    /// Tokens read, those from a cache included.
    input_tokens: u64,
    /// Tokens written.
    output_tokens: u64,
    /// Tokens read from a cache.
    cached_tokens: u64,
    /// What it cost, in dollars.
    cost_usd: f64,
}

/// A run whose agent could not work.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunParked {
    /// The number of the run.
    attempt: u32,
    /// The fence of its lease.
    fence: u64,
    /// Who cannot work, and why.
    parked: ParkedRecord,
    /// Until when the task waits; absent if others may have it, or a person has to do something.
    not_before: Option<Timestamp>,
}

/// An agent that cannot work for now.
#[derive(JsonSchema)]
pub(super) struct ParkedRecord {
    /// Who.
    agent: AgentName,
    /// Until when; absent if a person has to do something.
    until: Option<Timestamp>,
    /// What the agent said.
    reason: String,
    /// What is another text for other settings: it may work under others.
    #[schemars(regex(pattern = "^[0-9a-f]{16}$"))]
    settings: String,
    /// The node of a fleet it was tried on: it may work on others. Absent on one machine.
    node: Option<String>,
}

/// Agents that cannot work for now: one, or several.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is only described")]
pub(super) enum ParkedRecords {
    /// One.
    One(ParkedRecord),
    /// Several, or one on several nodes of a fleet.
    Several(Vec<ParkedRecord>),
}

/// An agent that is given work again.
#[derive(JsonSchema)]
pub(super) struct AgentFreed {
    /// Who.
    agent: AgentName,
}

/// A run that had no place to work in.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunDeferred {
    /// The number of the run.
    attempt: u32,
    /// The fence of its lease.
    fence: u64,
    /// Why it could not begin.
    reason: String,
    /// Until when the task waits before it is tried again.
    not_before: Timestamp,
}

/// A report that counts after all.
#[derive(JsonSchema)]
pub(super) struct SalvageApplied {
    /// Its name under `salvage/` in the folder of the run.
    file: String,
}
