//! The bodies of API requests and responses.
//!
//! Responses are described by the views that are sent. Tasks, events and stories have no view that
//! names all their fields; the types for them here only describe them.
//!
//! Required fields of requests are `Option`s, so that a handler can report all missing fields at
//! once; `schemars(!default)` keeps them required in the schema.

#![expect(clippy::struct_field_names, reason = "the fields have the names of the protocol")]

use adjutant_model::Status;
use adjutant_model::answer::AnswerDocument;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// A task to create.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct NewTask {
    /// One line that says what to do.
    #[schemars(required, length(min = 1, max = 512))]
    pub(crate) title: Option<String>,
    /// The description, in Markdown.
    pub(crate) body: Option<String>,
    #[schemars(with = "Option<Priority>")]
    pub(crate) priority: Option<String>,
    /// The agent that must do the task; any agent by default.
    pub(crate) agent: Option<String>,
    /// Tags that an agent must have to get the task.
    pub(crate) tags: Option<Vec<String>>,
    /// The ids of tasks that must be done before this one starts.
    pub(crate) depends_on: Option<Vec<String>>,
    /// The id of the parent task.
    pub(crate) parent_id: Option<String>,
    /// A resource that only one running task may use at a time.
    pub(crate) resource: Option<String>,
    /// The due date.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) due_by: Option<String>,
    /// Whether a person must approve the work; true by default.
    pub(crate) review_required: Option<bool>,
    /// The initial status; `backlog` by default.
    #[schemars(with = "Option<Start>")]
    pub(crate) status: Option<String>,
    /// Commands of one line each that must pass before the task is done. They replace the checks of
    /// the agent and the project.
    pub(crate) checks: Option<Vec<String>>,
    /// Only agents with this mode.
    pub(crate) mode: Option<String>,
    /// Only agents with this role.
    pub(crate) role: Option<String>,
    /// The most that all runs together may cost, in dollars.
    pub(crate) budget_usd: Option<f64>,
    /// The most tokens that all runs together may use.
    pub(crate) budget_tokens: Option<u64>,
    /// The longest duration of a run, as `1h30m`, or `off`; the agent's limit if absent.
    pub(crate) timeout: Option<String>,
    /// The longest time a run may print and report nothing, as `15m`, or `off`.
    pub(crate) idle_timeout: Option<String>,
}

/// Changes to a task. A field that is left out stays as it is; a field that is null is removed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(!default)]
#[expect(clippy::option_option, reason = "a field is left alone, removed or set")]
pub(crate) struct Edit {
    #[schemars(length(min = 1, max = 512))]
    pub(crate) title: Option<String>,
    pub(crate) body: Option<String>,
    #[schemars(with = "Option<Priority>")]
    pub(crate) priority: Option<String>,
    #[serde(deserialize_with = "keep_null")]
    #[schemars(with = "Option<String>")]
    pub(crate) agent: Option<Option<String>>,
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) depends_on: Option<Vec<String>>,
    #[serde(deserialize_with = "keep_null")]
    #[schemars(with = "Option<String>")]
    pub(crate) parent_id: Option<Option<String>>,
    #[serde(deserialize_with = "keep_null")]
    #[schemars(with = "Option<String>")]
    pub(crate) resource: Option<Option<String>>,
    #[serde(deserialize_with = "keep_null")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub(crate) due_by: Option<Option<String>>,
    pub(crate) review_required: Option<bool>,
    /// The commands that must pass; with an empty list those of the agent or the project apply.
    pub(crate) checks: Option<Vec<String>>,
    #[serde(deserialize_with = "keep_null")]
    #[schemars(with = "Option<String>")]
    pub(crate) mode: Option<Option<String>>,
    #[serde(deserialize_with = "keep_null")]
    #[schemars(with = "Option<String>")]
    pub(crate) role: Option<Option<String>>,
    #[serde(deserialize_with = "keep_null")]
    #[schemars(with = "Option<f64>")]
    pub(crate) budget_usd: Option<Option<f64>>,
    #[serde(deserialize_with = "keep_null")]
    #[schemars(with = "Option<u64>")]
    pub(crate) budget_tokens: Option<Option<u64>>,
    #[serde(deserialize_with = "keep_null")]
    #[schemars(with = "Option<String>")]
    pub(crate) timeout: Option<Option<String>>,
    #[serde(deserialize_with = "keep_null")]
    #[schemars(with = "Option<String>")]
    pub(crate) idle_timeout: Option<Option<String>>,
}

/// Keeps `null` apart from a field that is missing.
#[expect(clippy::option_option, reason = "a field is left alone, removed or set")]
fn keep_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A move of a task to another status.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct Move {
    /// The new status.
    #[schemars(with = "Status")]
    pub(crate) to: Option<String>,
    /// The reason for the move.
    pub(crate) reason: Option<String>,
}

/// An optional note.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct Note {
    /// A note about the decision; for a story, the message to the next executor.
    pub(crate) note: Option<String>,
}

/// The approval of work in review.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct ApproveTask {
    /// A note about the decision.
    pub(crate) note: Option<String>,
    /// Whether the work may change protected paths.
    #[schemars(with = "Option<bool>")]
    pub(crate) allow_protected: bool,
}

/// The acceptance of the checks in the file of a task.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct AcceptChecks {
    /// The checks that the person saw, as in `metadata.checks` of the task; absent if it has none.
    pub(crate) checks: Option<Vec<String>>,
}

/// The rejection of work in review.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct Reject {
    /// The reason, for the next run.
    #[schemars(required, length(min = 1))]
    pub(crate) reason: Option<String>,
}

/// The cancellation of a task.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct Cancel {
    /// The reason for the cancellation.
    pub(crate) reason: Option<String>,
}

/// The reopening of a cancelled task.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct ReopenTask {
    /// The reason for the reopening.
    pub(crate) reason: Option<String>,
}

/// The copy of a task.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct CopyTask {
    /// The status of the new task; `backlog` if absent.
    #[schemars(with = "Option<Start>")]
    pub(crate) status: Option<String>,
}

/// An answer to the question a task is blocked on.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct AnswerTask {
    /// The answer. It is in the next work order.
    #[schemars(required, length(min = 1))]
    pub(crate) text: Option<String>,
}

/// A story to start.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct NewStory {
    /// The story id, such as US-005.
    #[schemars(required, length(min = 1))]
    pub(crate) story: Option<String>,
    /// The ids of stories that must be done before this one continues.
    pub(crate) blocked_by: Option<Vec<String>>,
    /// Whether agents perform the steps.
    pub(crate) auto: Option<bool>,
    /// Whether to start over if the story is already running or done.
    pub(crate) force: Option<bool>,
}

/// The rejection of a step of a story.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct RejectStory {
    /// The reason, which decides where the story goes; `default` if none of the others fits.
    #[schemars(with = "RejectionWord")]
    pub(crate) reason: Option<String>,
    /// A message for the next executor.
    pub(crate) note: Option<String>,
}

/// The step that a story is moved to.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct ToStep {
    /// The step, such as `impl`.
    pub(crate) step: Option<String>,
    /// A message for the next executor.
    pub(crate) note: Option<String>,
}

/// Whether agents perform the steps of a story.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct AutoStory {
    /// The agent that performs the steps; any configured agent by default.
    pub(crate) agent: Option<String>,
    /// Whether people start the steps again.
    pub(crate) off: Option<bool>,
}

/// The failure of an executor.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct BrokenStep {
    /// What went wrong.
    #[schemars(required, length(min = 1))]
    pub(crate) error: Option<String>,
}

/// The reason for rejecting a step of a story.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[expect(dead_code, reason = "it describes what is checked elsewhere")]
enum RejectionWord {
    Default,
    ConstitutionViolation,
    NeedsClarification,
    NfrMissing,
    ScopeWarning,
    TestTimeout,
}

/// Several decisions about inbox items.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct Batch {
    /// The actions, in order; at most 100.
    #[schemars(required, length(min = 1, max = 100))]
    pub(crate) actions: Option<Vec<Action>>,
}

/// One decision about an inbox item.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct Action {
    #[schemars(with = "ActionWord")]
    pub(crate) action: Option<String>,
    /// The id of the task.
    #[schemars(required)]
    pub(crate) task_id: Option<String>,
    /// For `approve`: a note about the work.
    pub(crate) note: Option<String>,
    /// For `approve`: whether the work may change protected paths.
    #[schemars(with = "Option<bool>")]
    pub(crate) allow_protected: bool,
    /// For `reject` and `cancel`: the reason.
    pub(crate) reason: Option<String>,
    /// For `answer`: the answer.
    pub(crate) text: Option<String>,
    /// For `apply`: the name of the late report, as in the inbox.
    pub(crate) name: Option<String>,
}

/// The result of one of several actions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    /// The action.
    pub(crate) action: String,
    /// The id of the task, as in the request.
    pub(crate) task_id: String,
    /// The result.
    pub(crate) answer: AnswerDocument,
}

/// An action that decides an inbox item.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "it describes what is checked elsewhere")]
enum ActionWord {
    Approve,
    Reject,
    Answer,
    Retry,
    Cancel,
    Apply,
}

/// How urgent a task is.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "it describes what is checked elsewhere")]
enum Priority {
    Critical,
    High,
    Normal,
    Low,
}

/// The status of a new task.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "it describes what is checked elsewhere")]
enum Start {
    Backlog,
    Ready,
}

/// A task: the front matter of its file, and the path of that file. Other fields of the front
/// matter are included unchanged.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", extend("required" = ["id", "title", "status", "path"]))]
#[expect(dead_code, reason = "it describes what files have")]
pub(crate) struct Task {
    id: String,
    title: String,
    status: Status,
    priority: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    last_transition_at: Option<String>,
    created_by: Option<String>,
    /// Which agents can do the task: `agent`, `role`, `mode` and `tags`.
    routing: Option<Map<String, Value>>,
    parent_id: Option<String>,
    depends_on: Option<Vec<String>>,
    resource: Option<String>,
    due_by: Option<String>,
    /// The run that works on the task, and until when its lease is valid.
    lease: Option<Map<String, Value>>,
    metadata: Option<Map<String, Value>>,
    /// The path of the task's file in the data folder.
    path: String,
    /// The description, in Markdown; only where a single task is returned.
    body: Option<String>,
    /// What the operator should know about the change, such as that no configured agent can do the
    /// task; only in the answer to a change, and absent if there is nothing.
    warnings: Option<Vec<String>>,
}

/// An event of the event log.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes lines of the event log")]
pub(crate) struct Event {
    event_id: u64,
    r#type: String,
    timestamp: String,
    actor: String,
    #[schemars(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    payload: Map<String, Value>,
    /// The first characters of the hash of the previous line.
    #[schemars(skip_serializing_if = "Option::is_none")]
    prev: Option<String>,
}

/// The state of a story.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it describes what the command prints")]
pub(crate) struct Story {
    story: Option<String>,
    step: String,
    attempt: u32,
    max_attempts: u32,
    status: String,
    reason: Option<String>,
    next_step: Option<String>,
    caller_instruction: String,
    /// The result of the request.
    result: String,
    /// The prompt for the executor, if one was started or the prompt was requested.
    #[schemars(skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
}
