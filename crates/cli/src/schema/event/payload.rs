//! What each type of event says.

use schemars::JsonSchema;

use super::task::TaskRecord;
use crate::schema::completion::TestReport;
use crate::schema::id::TaskId;
use crate::schema::name::AgentName;
use crate::schema::path::RelPath;
use crate::schema::time::Timestamp;
use crate::schema::word::{NoticeWord, OutcomeWord, Reason, ReceivedType, Status};

/// Says nothing: the type says it all.
#[derive(JsonSchema)]
pub(super) struct Nothing {}

/// A message or a document in order.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageReceived {
    r#type: ReceivedType,
    /// Whom a message was for.
    to_agent: Option<AgentName>,
    /// When a message was sent, in its own words.
    sent_at: Option<Timestamp>,
    /// The id a document names, as its dialect has it.
    document_id: Option<String>,
}

/// A message that was refused.
#[derive(JsonSchema)]
pub(super) struct MessageRejected {
    reason: Reason,
    /// Every place that was wrong, each as `path: what is wrong`.
    #[schemars(length(min = 1))]
    errors: Option<Vec<String>>,
}

/// A message of a type nobody here knows.
#[derive(JsonSchema)]
pub(super) struct MessageUnknown {
    /// The type as it was given.
    r#type: String,
}

/// Something odd.
#[derive(JsonSchema)]
pub(super) struct MessageWarned {
    reason: Reason,
    /// What exactly.
    detail: String,
}

/// A new task.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskCreated {
    task: TaskRecord,
    /// There if somebody made the file by hand.
    #[schemars(extend("const" = true))]
    by_hand: Option<bool>,
}

/// A task that changed.
#[derive(JsonSchema)]
pub(super) struct TaskEdited {
    /// The names of the fields that changed, and `body` for the body.
    #[schemars(length(min = 1))]
    changed: Vec<String>,
    task: TaskRecord,
}

/// A task that moved.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskTransitioned {
    /// Where it came from.
    from: Status,
    /// Where it went.
    to: Status,
    /// Why, in the words of whoever moved it; empty if nothing was said.
    reason: String,
    /// There if a person moved the file.
    #[schemars(extend("const" = true))]
    by_hand: Option<bool>,
    /// There if a person moved the file where the table has no way.
    #[schemars(extend("const" = true))]
    against_the_table: Option<bool>,
    /// There if the scheduler holds it back, and will let it go when it can.
    #[schemars(extend("const" = "dependency"))]
    held_by: Option<String>,
}

/// What an agent said of its work: as `run_result.json` has it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskCompleted {
    /// The task it is about.
    task_id: TaskId,
    /// Who sent it.
    agent_id: AgentName,
    /// When it was sent.
    completed_at: Timestamp,
    outcome: OutcomeWord,
    /// The file with the summary.
    summary_ref: RelPath,
    /// The file with the hand-over.
    handoff_ref: RelPath,
    /// The files it left.
    deliverables: Vec<RelPath>,
    tests: TestReport,
    /// What it waits for.
    blockers: Vec<String>,
    /// Anything else.
    notes: String,
    /// There if it came by a `run_result.json` that was left behind, not by a message.
    #[schemars(extend("const" = true))]
    left_behind: Option<bool>,
}

/// A line of the work log.
#[derive(JsonSchema)]
pub(super) struct TaskLogged {
    /// When the report was sent.
    at: Timestamp,
    /// How far the work is.
    progress: Option<String>,
    /// Anything else.
    notes: Option<String>,
    /// What it waits for.
    #[schemars(length(min = 1))]
    blockers: Option<Vec<String>>,
}

/// A delegation that did not come about.
#[derive(JsonSchema)]
pub(super) struct DelegationRejected {
    /// One of our reasons, or the agent's own words.
    reason: String,
}

/// Something that was put aside.
#[derive(JsonSchema)]
pub(super) struct RunSalvaged {
    /// What it is called; with the number of this event before it, under `salvage/`.
    file: String,
    reason: Reason,
}

/// A command that was refused.
#[derive(JsonSchema)]
pub(super) struct CommandRefused {
    /// The command, as `task move`.
    command: String,
    reason: Reason,
}

/// Somebody who was refused.
#[derive(JsonSchema)]
pub(super) struct AccessRefused {
    reason: Reason,
    /// What was asked for, and from where.
    detail: String,
    /// How often since the last event of this kind.
    count: u64,
}

/// A request that carried a key, and was done.
#[derive(JsonSchema)]
pub(super) struct RequestKept {
    /// A digest of the key and whose it is.
    key: String,
    /// A digest of the request.
    request: String,
    /// The task it was about.
    about: Option<TaskId>,
    /// The events it caused.
    events: Vec<u64>,
}

/// A node that decides from now on.
#[derive(JsonSchema)]
pub(super) struct FleetDecider {
    /// The node.
    node: String,
}

/// Somebody who was told.
#[derive(JsonSchema)]
pub(super) struct NotifySent {
    /// The name of the rule.
    rule: String,
    /// What kind of target it has.
    target: String,
    kind: NoticeWord,
    /// The event it told of.
    about: u64,
    /// How often it was tried.
    tries: u32,
}

/// Somebody who could not be told.
#[derive(JsonSchema)]
pub(super) struct NotifyFailed {
    /// The name of the rule.
    rule: String,
    /// What kind of target it has; `none` if the rule is gone.
    target: String,
    kind: NoticeWord,
    /// The event it would have told of.
    about: u64,
    /// How often it was tried.
    tries: u32,
    /// Why not.
    reason: String,
}

/// A folder that others wrote.
#[derive(JsonSchema)]
pub(super) struct FolderAdopted {
    /// How many tasks were in it.
    tasks: u64,
}
