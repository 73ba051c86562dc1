//! A task as events have it: what rules may ask about, without its body.

use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::run::{ParkedRecords, RunAsked, UsageRecord};
use super::story::StoryMoved;
use super::work::MergeWord;
use crate::schema::id::TaskId;
use crate::schema::name::AgentName;
use crate::schema::time::Timestamp;
use crate::schema::word::{OutcomeWord, Priority, Status};

/// A task as it was after the event.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskRecord {
    /// Its id, for good.
    id: TaskId,
    /// One line that says what is to be done.
    title: String,
    status: Status,
    priority: Priority,
    /// When it was made.
    created_at: Timestamp,
    /// When it last changed.
    updated_at: Timestamp,
    /// When its status last changed.
    last_transition_at: Timestamp,
    /// Who made it; empty if the file does not say.
    created_by: String,
    routing: Option<RoutingRecord>,
    /// The task it is a part of.
    parent_id: Option<TaskId>,
    /// The tasks that must be done before.
    #[schemars(length(min = 1))]
    depends_on: Option<Vec<TaskId>>,
    /// What only one task may use at a time.
    resource: Option<String>,
    /// When it should be done.
    due_by: Option<Timestamp>,
    lease: Option<LeaseRecord>,
    metadata: Option<MetadataRecord>,
}

/// Whom it is for.
#[derive(JsonSchema)]
struct RoutingRecord {
    /// This agent and no other.
    agent: Option<AgentName>,
    /// The agent of this mode.
    mode: Option<String>,
    /// Any agent of this role.
    role: Option<String>,
    /// What an agent should be good at.
    #[schemars(length(min = 1))]
    tags: Option<Vec<String>>,
}

/// The right of one run to report on it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LeaseRecord {
    /// Who holds it.
    agent: AgentName,
    /// Since when.
    acquired_at: Timestamp,
    /// Until when, if it is not renewed.
    expires_at: Timestamp,
    /// How often it was renewed.
    renew_count: u32,
    /// The number of the run.
    attempt: u32,
    /// Grows with every lease ever given on the task.
    fence: u64,
}

/// What this program notes about it.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MetadataRecord {
    /// There if finished work is done without a review.
    #[schemars(extend("const" = false))]
    review_required: Option<bool>,
    /// How often it was delegated.
    #[schemars(range(min = 1))]
    delegation_depth: Option<u32>,
    last_run: Option<LastRunRecord>,
    /// Who sent the last completion.
    reported_by: Option<AgentName>,
    /// The fence of the run that sent it.
    reported_fence: Option<u64>,
    /// Why a reviewer sent it back, for whoever works on it next.
    feedback: Option<String>,
    open_run: Option<OpenRunRecord>,
    /// The node of a fleet that looks after its last run, and has what that left.
    node: Option<String>,
    /// The attempts without a result since the count was last started.
    #[schemars(length(min = 1))]
    failures: Option<Vec<FailureRecord>>,
    /// Until when it waits before it is tried again.
    not_before: Option<Timestamp>,
    /// When the last attempt was given up.
    expired_at: Option<Timestamp>,
    /// Why the last attempt was given up.
    expired_reason: Option<String>,
    /// There if the scheduler holds it back, and will let it go when it can.
    #[schemars(extend("const" = "dependency"))]
    blocked_by: Option<String>,
    /// Why it is blocked, or was given up.
    status_reason: Option<String>,
    /// What a person answered, for whoever works on it next.
    answer: Option<String>,
    question: Option<QuestionRecord>,
    /// What its run wants to be allowed, while it waits.
    permission: Option<RunAsked>,
    session: Option<SessionRecord>,
    parked: Option<ParkedRecords>,
    /// What was used, by day and agent.
    #[schemars(length(min = 1))]
    usage: Option<Vec<SpentRecord>>,
    /// How much it may cost, in dollars.
    budget_usd: Option<f64>,
    /// How many tokens it may use.
    budget_tokens: Option<u64>,
    /// Where the story stands that it is.
    story: Option<StoryMoved>,
    /// The commands that must pass before work on it counts as done.
    checks: Option<Vec<String>>,
    work: Option<WorkRecord>,
    /// The mission it was made from, or some of its ids.
    mission: Option<Map<String, Value>>,
    /// The `new_task` it was made from, or its id.
    delegation: Option<Map<String, Value>>,
}

/// What is known of its work between the report and the end.
#[derive(JsonSchema)]
struct WorkRecord {
    claim: Option<ClaimRecord>,
    /// What was found out about it, in a line.
    evidence: Option<String>,
    /// What approving it does.
    merge: Option<MergeWord>,
    merging: Option<MergingRecord>,
}

/// What its run said, while that is looked into.
#[derive(JsonSchema)]
struct ClaimRecord {
    /// The number of the run.
    attempt: u32,
    /// Its fence.
    fence: u64,
    /// What it said.
    outcome: OutcomeWord,
    /// Why its task is to move.
    reason: String,
}

/// The merge that is under way.
#[derive(JsonSchema)]
struct MergingRecord {
    /// What whoever approved the work said.
    note: String,
    /// What it waits for, if it does.
    waits: Option<String>,
}

/// What its agent asks.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct QuestionRecord {
    /// The question.
    text: String,
    /// How the agent would resolve it.
    suggested_resolution: Option<String>,
}

/// How the last run can be gone on with.
#[derive(JsonSchema)]
struct SessionRecord {
    /// Whose it is.
    agent: AgentName,
    /// What the agent knows it by.
    id: String,
    /// The node of a fleet that has it; absent on one machine.
    node: Option<String>,
}

/// What one agent used on one day.
#[derive(JsonSchema)]
struct SpentRecord {
    /// The day, in UTC.
    day: String,
    /// Who.
    agent: AgentName,
    #[serde(flatten)]
    usage: UsageRecord,
}

/// The run that was started and whose end nobody has seen yet.
#[derive(JsonSchema)]
struct OpenRunRecord {
    /// Who runs.
    agent: AgentName,
    /// The number of the run.
    attempt: u32,
    /// Its fence.
    fence: u64,
}

/// An attempt that came to nothing.
#[derive(JsonSchema)]
struct FailureRecord {
    /// The number of the run.
    attempt: u32,
    /// What happened.
    reason: String,
}

/// The last run that held a lease and holds it no more.
#[derive(JsonSchema)]
struct LastRunRecord {
    /// Who held it.
    agent: AgentName,
    /// The number of the run.
    attempt: u32,
    /// Its fence.
    fence: u64,
}
