//! The front matter of a task file, which people and other programs write too.

use adjutant_core::task::TITLE_CHARS_MAX;
use schemars::{JsonSchema, json_schema};
use serde_json::Value;

use super::described;
use super::id::TaskId;
use super::name::AgentName;
use super::text::NOT_BLANK;
use super::time::Timestamp;
use super::word::{Priority, Status};

/// The front matter of a task file. Fields that are not listed are kept as they are.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Task {
    schema_version: Option<SchemaVersion>,
    /// Its id, as the file is called.
    id: TaskId,
    title: Title,
    /// Where it stands. The folder the file lies in decides.
    status: Status,
    priority: Option<Priority>,
    /// When it was made.
    created_at: Option<Timestamp>,
    /// When it last changed.
    updated_at: Option<Timestamp>,
    /// When its status last changed.
    last_transition_at: Option<Timestamp>,
    /// Who made it.
    created_by: Option<String>,
    routing: Option<Routing>,
    /// The task it is a part of.
    parent_id: Option<TaskId>,
    /// The tasks that must be done before.
    depends_on: Option<Vec<TaskId>>,
    /// What only one task may use at a time.
    resource: Option<String>,
    /// When it should be done.
    due_by: Option<Timestamp>,
    lease: Option<Lease>,
    metadata: Option<Metadata>,
}

described! {
    /// The version of the format: 1 is ours, 2 is read as well.
    SchemaVersion => json_schema!({"type": "integer", "enum": [1, 2]})
}

described! {
    /// One line that says what is to be done.
    Title => json_schema!({"type": "string", "maxLength": TITLE_CHARS_MAX, "pattern": NOT_BLANK})
}

described! {
    /// A length of time like 30s, 5m or 1h30m, or whole seconds; `off` if there is no end to it.
    TimeLimit => json_schema!({
        "anyOf": [
            {"type": "integer", "minimum": 1},
            {"type": "string", "pattern": "^(off|(?=.*[1-9])([0-9]+(ms|s|m|h|d))+)$"},
        ],
    })
}

described! {
    /// An amount of money in dollars.
    Dollars => json_schema!({"type": "number", "minimum": 0})
}

described! {
    /// A number of tokens.
    Tokens => json_schema!({"type": "integer", "minimum": 0})
}

/// Whom the task is for.
#[derive(JsonSchema)]
struct Routing {
    /// This agent and no other.
    agent: Option<AgentName>,
    /// The agent of this mode.
    mode: Option<String>,
    /// Any agent of this role.
    role: Option<String>,
    /// What an agent should be good at.
    tags: Option<Vec<String>>,
}

/// The right of one run to report on the task. Counts only in progress.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Lease {
    /// Who holds it.
    agent: AgentName,
    /// Since when.
    acquired_at: Timestamp,
    /// Until when, if it is not renewed.
    expires_at: Timestamp,
    /// How often it was renewed: a whole number, or 0.
    renew_count: Option<Value>,
    /// The number of the run: a whole number, or 1.
    attempt: Option<Value>,
    /// Grows with every lease ever given on the task: a whole number, or 0.
    fence: Option<Value>,
}

/// Whatever anybody notes about the task. What is not as listed counts as absent, but for the
/// limits of time, the budgets and the checks, which must make sense.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    /// `false`: finished work is done. Anything else: it waits in review.
    review_required: Option<Value>,
    /// How often it was delegated: a whole number.
    delegation_depth: Option<Value>,
    /// How long a run may take; its agent's configuration counts where this is absent.
    timeout: Option<TimeLimit>,
    /// How long a run may print and report nothing.
    idle_timeout: Option<TimeLimit>,
    /// The last run that held a lease and holds it no more: agent, attempt, fence.
    last_run: Option<Value>,
    /// Who sent the last completion.
    reported_by: Option<Value>,
    /// The fence of the run that sent it.
    reported_fence: Option<Value>,
    /// Why a reviewer sent it back, for whoever works on it next.
    feedback: Option<Value>,
    /// The run that was started and whose end nobody has seen yet: agent, attempt, fence.
    open_run: Option<Value>,
    /// The node of a fleet that looks after its last run, and has what that left.
    node: Option<Value>,
    /// The attempts without a result since the count was last started: attempt and reason of each.
    failures: Option<Value>,
    /// Until when it waits before it is tried again.
    not_before: Option<Value>,
    /// When the last attempt was given up.
    expired_at: Option<Value>,
    /// Why the last attempt was given up.
    expired_reason: Option<Value>,
    /// `dependency`: the scheduler holds it back, and lets it go when it can.
    blocked_by: Option<Value>,
    /// Why it is blocked, or was given up.
    status_reason: Option<Value>,
    /// What a person answered, for whoever works on it next.
    answer: Option<Value>,
    /// What its agent asks: text and suggestedResolution.
    question: Option<Value>,
    /// What its run wants to be allowed, while it waits: attempt, fence, number, since, text, choices.
    permission: Option<Value>,
    /// How the last run can be gone on with: agent, id, and the node
    /// of a fleet that has it.
    session: Option<Value>,
    /// An agent that cannot work, as was found out with it: agent, until, reason, settings, and
    /// the node of a fleet it was found out on; a list where there are several.
    parked: Option<Value>,
    /// What was used, by day and agent: day, agent, inputTokens, outputTokens, cachedTokens, costUsd.
    usage: Option<Value>,
    /// How much it may cost, in dollars, all in all.
    budget_usd: Option<Dollars>,
    /// How many tokens it may use, all in all.
    budget_tokens: Option<Tokens>,
    /// Where the story stands that it is: a copy of what the project's files say.
    story: Option<Value>,
    /// The commands that must pass before work on it counts as done; its agent's or the project's
    /// count where this is absent.
    checks: Option<Vec<String>>,
    /// What is known of its work between the report and the end: claim, evidence, merge, merging.
    work: Option<Value>,
    /// The mission it was made from, or some of its ids: `task_id`, `epic_id`, `prd_id`.
    mission: Option<Value>,
    /// The `new_task` it was made from, or its taskId.
    delegation: Option<Value>,
}
