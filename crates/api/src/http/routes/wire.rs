//! What goes over the wire: what callers send, and what the answers look like.
//!
//! What answers say of tasks, events and the inbox is what `--json` of the commands prints; the
//! types for them here are its description.
//!
//! Required fields of requests are `Option`s, so that a handler can report all missing fields at
//! once; `schemars(!default)` keeps them required in the schema.

#![expect(clippy::struct_field_names, reason = "the fields have the names of the protocol")]

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// A task to be made.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct NewTask {
    /// One line that says what is to be done.
    #[schemars(required, length(min = 1, max = 512))]
    pub(crate) title: Option<String>,
    /// Everything else about it, in Markdown.
    pub(crate) body: Option<String>,
    #[schemars(with = "Option<Priority>")]
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
    #[schemars(extend("format" = "date-time"))]
    pub(crate) due_by: Option<String>,
    /// Whether somebody must look at the work before it is done; yes if nothing is said.
    pub(crate) review_required: Option<bool>,
    /// Where it begins; in the backlog if nothing is said.
    #[schemars(with = "Option<Start>")]
    pub(crate) status: Option<String>,
    /// The commands, each of one line, that must pass before the work counts as done, in place of
    /// those of the agent and the project.
    pub(crate) checks: Option<Vec<String>>,
}

/// Changes to a task. What is left out stays as it is; what is null is taken away.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(!default)]
#[expect(clippy::option_option, reason = "a field is left alone, taken away or set")]
pub(crate) struct Edit {
    #[schemars(length(min = 1, max = 512))]
    pub(crate) title: Option<String>,
    pub(crate) body: Option<String>,
    #[schemars(with = "Option<Priority>")]
    pub(crate) priority: Option<String>,
    #[serde(deserialize_with = "there")]
    #[schemars(with = "Option<String>")]
    pub(crate) agent: Option<Option<String>>,
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) depends_on: Option<Vec<String>>,
    #[serde(deserialize_with = "there")]
    #[schemars(with = "Option<String>")]
    pub(crate) parent_id: Option<Option<String>>,
    #[serde(deserialize_with = "there")]
    #[schemars(with = "Option<String>")]
    pub(crate) resource: Option<Option<String>>,
    #[serde(deserialize_with = "there")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub(crate) due_by: Option<Option<String>>,
    pub(crate) review_required: Option<bool>,
}

/// Tells what is null from what is not there.
#[expect(clippy::option_option, reason = "a field is left alone, taken away or set")]
fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Where a task is moved.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct Move {
    /// The status it gets.
    #[schemars(with = "StatusWord")]
    pub(crate) to: Option<String>,
    /// Why.
    pub(crate) reason: Option<String>,
}

/// An approval.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct Note {
    /// Anything to say about the work.
    pub(crate) note: Option<String>,
}

/// A rejection.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct Reject {
    /// Why, for whoever works on it next.
    #[schemars(required, length(min = 1))]
    pub(crate) reason: Option<String>,
}

/// The end of a task that nobody wants any more.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct Cancel {
    /// Why.
    pub(crate) reason: Option<String>,
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

/// A story to be begun.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct NewStory {
    /// The story, as US-005.
    #[schemars(required, length(min = 1))]
    pub(crate) story: Option<String>,
    /// The stories that must be done before it goes on.
    pub(crate) blocked_by: Option<Vec<String>>,
    /// Whether agents do its steps.
    pub(crate) auto: Option<bool>,
    /// Whether it begins anew, be it running or done.
    pub(crate) force: Option<bool>,
}

/// A person's no to a story.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct RejectStory {
    /// Why: one of the reasons that a story is routed by, or `default` for none of them.
    #[schemars(with = "RejectionWord")]
    pub(crate) reason: Option<String>,
    /// What there is to say to the next executor.
    pub(crate) note: Option<String>,
}

/// A step that a story is put to.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct ToStep {
    /// The step, as `impl`.
    pub(crate) step: Option<String>,
    /// What there is to say to the next executor.
    pub(crate) note: Option<String>,
}

/// Whether agents do the steps of a story.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct AutoStory {
    /// The agent that does them; any of the configuration if nothing is said.
    pub(crate) agent: Option<String>,
    /// Whether they are started by hand again.
    pub(crate) off: Option<bool>,
}

/// An executor that broke.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct BrokenStep {
    /// How, in words.
    #[schemars(required, length(min = 1))]
    pub(crate) error: Option<String>,
}

/// Why a person says no to a story.
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

/// Several things that wait for a person, settled at once.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct Batch {
    /// What is to be done, in order; at most 100.
    #[schemars(required, length(min = 1, max = 100))]
    pub(crate) actions: Option<Vec<Action>>,
}

/// One thing that settles what waits for a person.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(!default)]
pub(crate) struct Action {
    #[schemars(with = "ActionWord")]
    pub(crate) action: Option<String>,
    /// The task.
    #[schemars(required)]
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
#[derive(Debug, Serialize, JsonSchema)]
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

/// Where a task can begin.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "it describes what is checked elsewhere")]
enum Start {
    Backlog,
    Ready,
}

/// Where a task stands.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
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

// A field that is always present and can be null; an `Option` can be absent as well. No doc comment:
// it would become the description of every such field.
#[derive(JsonSchema)]
#[schemars(inline)]
pub(crate) struct Nullable<T>(Option<T>);

/// A task: the front matter of its file, and where that lies. Fields that are not named here are
/// there as the file has them.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what files have")]
pub(crate) struct Task {
    id: String,
    title: String,
    status: StatusWord,
    priority: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    last_transition_at: Option<String>,
    created_by: Option<String>,
    /// `agent`, `role` and `tags`: whom it is for.
    routing: Option<Map<String, Value>>,
    parent_id: Option<String>,
    depends_on: Option<Vec<String>>,
    resource: Option<String>,
    due_by: Option<String>,
    /// Who works on it, until when.
    lease: Option<Map<String, Value>>,
    metadata: Option<Map<String, Value>>,
    /// Where its file lies in the data folder.
    path: String,
    /// Everything else about it, in Markdown; where one task is shown.
    body: Option<String>,
}

/// The answer that every message gets, whatever way it came.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what every channel answers")]
pub(crate) struct Answer {
    result: ResultWord,
    /// Why, in a word that programs rely on.
    reason: Nullable<String>,
    /// The task it is about.
    task_id: Nullable<String>,
    /// The events it caused.
    events: Vec<u64>,
    /// Where the task stands now.
    status: Nullable<String>,
    /// Everything that is wrong with it, with its place.
    errors: Vec<String>,
}

/// What became of a message.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase", inline)]
#[expect(dead_code, reason = "it describes what every channel answers")]
enum ResultWord {
    Applied,
    Noop,
    Rejected,
    Unknown,
    Ignored,
}

/// What holds a task back.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what the command prints")]
pub(crate) struct Why {
    task_id: String,
    /// Whether the next tick can give it out.
    runnable: bool,
    reasons: Vec<Hold>,
}

/// One thing that holds a task back.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "it describes what the command prints")]
struct Hold {
    code: String,
    text: String,
}

/// An event of the record.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes lines of the record")]
pub(crate) struct Event {
    event_id: u64,
    r#type: String,
    timestamp: String,
    actor: String,
    task_id: Option<String>,
    payload: Map<String, Value>,
    /// The beginning of the hash of the line before.
    prev: Option<String>,
}

/// Something that waits for a person.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what the command prints")]
pub(crate) struct InboxItem {
    kind: String,
    task_id: String,
    since: Nullable<String>,
    text: String,
    /// The commands that settle it.
    actions: Vec<String>,
}

/// A run of a task that was started on this machine.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what folders of runs have")]
pub(crate) struct Run {
    attempt: u32,
    agent: String,
    fence: u64,
    /// `running`, `over`, or `lost` if nobody saw its end.
    state: String,
    started_at: String,
    ended_at: Nullable<String>,
    /// How it ended.
    exit: Value,
    /// The last lines of what it printed.
    tail: Nullable<String>,
}

/// How things stand.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what the command prints")]
pub(crate) struct Status {
    running: bool,
    pid: Nullable<u32>,
    since: Nullable<String>,
    version: Nullable<String>,
    /// Where it listens.
    url: Nullable<String>,
    /// The runs there are.
    runs: Vec<Map<String, Value>>,
    /// How many tasks stand where.
    counts: Map<String, Value>,
}

/// Who is configured, and who is found on the machine and is not.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it describes what the command prints")]
pub(crate) struct Agents {
    agents: Vec<Map<String, Value>>,
    found: Vec<Map<String, Value>>,
    /// The nodes of a fleet that are up, with the agents and slots of each; absent on one machine.
    nodes: Option<Vec<Map<String, Value>>>,
}

/// Where a story stands.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it describes what the command prints")]
pub(crate) struct Story {
    story: Nullable<String>,
    step: String,
    attempt: u32,
    max_attempts: u32,
    status: String,
    reason: Nullable<String>,
    next_step: Nullable<String>,
    caller_instruction: String,
    /// What came of the call.
    result: String,
    /// What an executor is told, where one is started or asked for.
    prompt: Option<String>,
}
