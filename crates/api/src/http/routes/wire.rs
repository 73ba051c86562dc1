//! What goes over the wire: what callers send, and what the answers look like.
//!
//! What answers say of tasks, events and the inbox is what `--json` of the commands prints; the
//! types for them here are its description.

#![expect(clippy::struct_field_names, reason = "the fields have the names of the protocol")]

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A task to be made.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct NewTask {
    /// One line that says what is to be done.
    #[schema(required = true, min_length = 1, max_length = 512)]
    pub(crate) title: Option<String>,
    /// Everything else about it, in Markdown.
    pub(crate) body: Option<String>,
    #[schema(value_type = Option<Priority>)]
    pub(crate) priority: Option<String>,
    /// The agent it is for; any agent if nothing is said.
    pub(crate) agent: Option<String>,
    /// What whoever works on it must be good at.
    pub(crate) tags: Option<Vec<String>>,
    /// The tasks that must be done before.
    pub(crate) depends_on: Option<Vec<String>>,
    /// The task it is a part of.
    pub(crate) parent_id: Option<String>,
    /// What only one task may use at a time.
    pub(crate) resource: Option<String>,
    /// When it should be done.
    #[schema(format = DateTime)]
    pub(crate) due_by: Option<String>,
    /// Whether somebody must look at the work before it is done; yes if nothing is said.
    pub(crate) review_required: Option<bool>,
    /// Where it begins; in the backlog if nothing is said.
    #[schema(value_type = Option<Start>)]
    pub(crate) status: Option<String>,
    /// The commands, each of one line, that must pass before the work counts as done, in place of
    /// those of the agent and the project.
    pub(crate) checks: Option<Vec<String>>,
}

/// Changes to a task. What is left out stays as it is; what is null is taken away.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[expect(clippy::option_option, reason = "a field is left alone, taken away or set")]
pub(crate) struct Edit {
    #[schema(min_length = 1, max_length = 512)]
    pub(crate) title: Option<String>,
    pub(crate) body: Option<String>,
    #[schema(value_type = Option<Priority>)]
    pub(crate) priority: Option<String>,
    #[serde(deserialize_with = "there")]
    #[schema(value_type = Option<String>)]
    pub(crate) agent: Option<Option<String>>,
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) depends_on: Option<Vec<String>>,
    #[serde(deserialize_with = "there")]
    #[schema(value_type = Option<String>)]
    pub(crate) parent_id: Option<Option<String>>,
    #[serde(deserialize_with = "there")]
    #[schema(value_type = Option<String>)]
    pub(crate) resource: Option<Option<String>>,
    #[serde(deserialize_with = "there")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) due_by: Option<Option<String>>,
    pub(crate) review_required: Option<bool>,
}

/// Tells what is null from what is not there.
#[expect(clippy::option_option, reason = "a field is left alone, taken away or set")]
fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Where a task is moved.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Move {
    /// The status it gets.
    #[schema(required = true, value_type = StatusWord)]
    pub(crate) to: Option<String>,
    /// Why.
    pub(crate) reason: Option<String>,
}

/// An approval.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Note {
    /// Anything to say about the work.
    pub(crate) note: Option<String>,
}

/// A rejection.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Reject {
    /// Why, for whoever works on it next.
    #[schema(required = true, min_length = 1)]
    pub(crate) reason: Option<String>,
}

/// The end of a task that nobody wants any more.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Cancel {
    /// Why.
    pub(crate) reason: Option<String>,
}

/// An answer to the question a task is blocked on.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AnswerTask {
    /// The answer. It is in the next work order.
    #[schema(required = true, min_length = 1)]
    pub(crate) text: Option<String>,
}

/// A story to be begun.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NewStory {
    /// The story, as US-005.
    #[schema(required = true, min_length = 1)]
    pub(crate) story: Option<String>,
    /// The stories that must be done before it goes on.
    pub(crate) blocked_by: Option<Vec<String>>,
    /// Whether agents do its steps.
    pub(crate) auto: Option<bool>,
    /// Whether it begins anew, be it running or done.
    pub(crate) force: Option<bool>,
}

/// A person's no to a story.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RejectStory {
    /// Why: one of the reasons that a story is routed by, or `default` for none of them.
    #[schema(required = true, value_type = RejectionWord)]
    pub(crate) reason: Option<String>,
    /// What there is to say to the next executor.
    pub(crate) note: Option<String>,
}

/// A step that a story is put to.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ToStep {
    /// The step, as `impl`.
    pub(crate) step: Option<String>,
    /// What there is to say to the next executor.
    pub(crate) note: Option<String>,
}

/// Whether agents do the steps of a story.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct AutoStory {
    /// The agent that does them; any of the configuration if nothing is said.
    pub(crate) agent: Option<String>,
    /// Whether they are started by hand again.
    pub(crate) off: Option<bool>,
}

/// An executor that broke.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BrokenStep {
    /// How, in words.
    #[schema(required = true, min_length = 1)]
    pub(crate) error: Option<String>,
}

/// Why a person says no to a story.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "it describes what is checked elsewhere")]
enum RejectionWord {
    Default,
    ConstitutionViolation,
    NeedsClarification,
    NfrMissing,
    ScopeWarning,
    TestTimeout,
}

/// Several things that wait for a person, settled at once.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Batch {
    /// What is to be done, in order; at most 100.
    #[schema(required = true, min_items = 1, max_items = 100)]
    pub(crate) actions: Option<Vec<Action>>,
}

/// One thing that settles what waits for a person.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Action {
    #[schema(required = true, value_type = ActionWord)]
    pub(crate) action: Option<String>,
    /// The task.
    #[schema(required = true)]
    pub(crate) task_id: Option<String>,
    /// For `approve`: anything to say about the work.
    pub(crate) note: Option<String>,
    /// For `reject` and `cancel`: why.
    pub(crate) reason: Option<String>,
    /// For `answer`: the answer.
    pub(crate) text: Option<String>,
    /// For `apply`: the report that came too late, as the inbox names it.
    pub(crate) name: Option<String>,
}

/// What came of one of several things.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    /// What was to be done.
    pub(crate) action: String,
    /// To which task.
    pub(crate) task_id: String,
    /// What came of it.
    pub(crate) answer: Value,
}

/// What settles what waits for a person.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
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
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "it describes what is checked elsewhere")]
enum Priority {
    Critical,
    High,
    Normal,
    Low,
}

/// Where a task can begin.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "it describes what is checked elsewhere")]
enum Start {
    Backlog,
    Ready,
}

/// Where a task stands.
#[derive(ToSchema)]
#[schema(rename_all = "kebab-case")]
#[expect(dead_code, reason = "it describes what is checked elsewhere")]
pub(crate) enum StatusWord {
    Backlog,
    Ready,
    InProgress,
    Blocked,
    Review,
    Done,
    Cancelled,
    Deadletter,
}

/// A task: the front matter of its file, and where that lies. Fields that are not named here are
/// there as the file has them.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what files have")]
pub(crate) struct Task {
    id: String,
    title: String,
    #[schema(inline)]
    status: StatusWord,
    priority: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    last_transition_at: Option<String>,
    created_by: Option<String>,
    /// `agent`, `role` and `tags`: whom it is for.
    #[schema(value_type = Option<Object>)]
    routing: Option<Map<String, Value>>,
    parent_id: Option<String>,
    depends_on: Option<Vec<String>>,
    resource: Option<String>,
    due_by: Option<String>,
    /// Who works on it, until when.
    #[schema(value_type = Option<Object>)]
    lease: Option<Map<String, Value>>,
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
    /// Where its file lies in the data folder.
    path: String,
    /// Everything else about it, in Markdown; where one task is shown.
    #[schema(required = false)]
    body: Option<String>,
}

/// The answer that every message gets, whatever way it came.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what every channel answers")]
pub(crate) struct Answer {
    #[schema(inline)]
    result: ResultWord,
    /// Why, in a word that programs rely on.
    #[schema(required = true)]
    reason: Option<String>,
    /// The task it is about.
    #[schema(required = true)]
    task_id: Option<String>,
    /// The events it caused.
    events: Vec<u64>,
    /// Where the task stands now.
    #[schema(required = true)]
    status: Option<String>,
    /// Everything that is wrong with it, with its place.
    errors: Vec<String>,
}

/// What became of a message.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "it describes what every channel answers")]
enum ResultWord {
    Applied,
    Noop,
    Rejected,
    Unknown,
    Ignored,
}

/// What holds a task back.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what the command prints")]
pub(crate) struct Why {
    task_id: String,
    /// Whether the next tick can give it out.
    runnable: bool,
    #[schema(inline)]
    reasons: Vec<Hold>,
}

/// One thing that holds a task back.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what the command prints")]
struct Hold {
    code: String,
    text: String,
}

/// An event of the record.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes lines of the record")]
pub(crate) struct Event {
    event_id: u64,
    r#type: String,
    timestamp: String,
    actor: String,
    #[schema(required = false)]
    task_id: Option<String>,
    #[schema(value_type = Object)]
    payload: Map<String, Value>,
    /// The beginning of the hash of the line before.
    #[schema(required = false)]
    prev: Option<String>,
}

/// Something that waits for a person.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what the command prints")]
pub(crate) struct InboxItem {
    kind: String,
    task_id: String,
    #[schema(required = true)]
    since: Option<String>,
    text: String,
    /// The commands that settle it.
    actions: Vec<String>,
}

/// A run of a task that was started on this machine.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what folders of runs have")]
pub(crate) struct Run {
    attempt: u32,
    agent: String,
    fence: u64,
    /// `running`, `over`, or `lost` if nobody saw its end.
    state: String,
    started_at: String,
    #[schema(required = true)]
    ended_at: Option<String>,
    /// How it ended.
    #[schema(value_type = Value, required = true)]
    exit: Option<Value>,
    /// The last lines of what it printed.
    #[schema(required = true)]
    tail: Option<String>,
}

/// How things stand.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what the command prints")]
pub(crate) struct Status {
    running: bool,
    #[schema(required = true)]
    pid: Option<u32>,
    #[schema(required = true)]
    since: Option<String>,
    #[schema(required = true)]
    version: Option<String>,
    /// Where it listens.
    #[schema(required = true)]
    url: Option<String>,
    /// The runs there are.
    #[schema(value_type = Vec<Object>)]
    runs: Vec<Map<String, Value>>,
    /// How many tasks stand where.
    #[schema(value_type = Object)]
    counts: Map<String, Value>,
}

/// Who is configured, and who is found on the machine and is not.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what the command prints")]
pub(crate) struct Agents {
    #[schema(value_type = Vec<Object>)]
    agents: Vec<Map<String, Value>>,
    #[schema(value_type = Vec<Object>)]
    found: Vec<Map<String, Value>>,
    /// The nodes of a fleet that are up, with the agents and slots of each; absent on one machine.
    #[schema(value_type = Option<Vec<Object>>)]
    nodes: Option<Vec<Map<String, Value>>>,
}

/// Where a story stands.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what the command prints")]
pub(crate) struct Story {
    #[schema(required = true)]
    story: Option<String>,
    step: String,
    attempt: u32,
    max_attempts: u32,
    status: String,
    #[schema(required = true)]
    reason: Option<String>,
    #[schema(required = true)]
    next_step: Option<String>,
    caller_instruction: String,
    /// What came of the call.
    result: String,
    /// What an executor is told, where one is started or asked for.
    #[schema(required = false)]
    prompt: Option<String>,
}
