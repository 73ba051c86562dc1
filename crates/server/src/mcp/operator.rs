//! The tools of an operator; each does what the command of the same name does.

use adjutant_engine::EngineRequest;
use adjutant_model::command::{CommandCaller, InitialStatus, NewTask};
use adjutant_model::encoding::usd::millionths;
use adjutant_model::review::ReviewPolicy;
use adjutant_model::task::TaskRouting;
use adjutant_model::time_limits::{DurationLimit, TaskTimeLimits};
use adjutant_model::usage::UsageBudget;
use adjutant_model::{Actor, AgentId, Command, Priority, TaskId, Time};
use adjutant_query::answer::answer_document;
use adjutant_query::task::serialize_list;
use adjutant_query::task_list::TaskQuery;
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::McpServerSession;
use super::report::require_accepted;
use super::tool::{NoArgs, ToolEffect, ToolResult, describe_tool, parse_args};

pub(super) const INSTRUCTIONS: &str = "\
Manages tasks for coding agents. `inbox` lists everything that needs a person; decide with \
`approve`, `reject`, `answer`, `retry` or `cancel`. `create` creates a task, `list` and `show` \
return tasks, and `why` explains why a task is not running.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListArgs {
    /// Only tasks with one of these statuses: backlog, ready, in-progress, blocked, review, done,
    /// cancelled, deadletter.
    #[serde(default)]
    status: Vec<String>,
    /// Only tasks that this agent works on or that are assigned to it.
    #[serde(default)]
    agent: Option<String>,
    /// Only tasks that have all these tags.
    #[serde(default)]
    tags: Vec<String>,
    /// Only tasks with all these words in their title, or with this text in an id.
    #[serde(default)]
    text: Option<String>,
    /// Only tasks that are neither done nor cancelled.
    #[serde(default)]
    open: bool,
    /// The maximum number of tasks; 50 by default.
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskIdArgs {
    /// The task id, or an alias of it such as a foreign id.
    id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApproveArgs {
    /// The task id, or an alias of it such as a foreign id.
    id: String,
    /// A note about the work.
    #[serde(default)]
    note: String,
    /// Whether the work may change protected paths: .adjutant/ and the rules in .ai/.
    #[serde(default)]
    allow_protected: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReasonArgs {
    /// The task id, or an alias of it such as a foreign id.
    id: String,
    /// The reason. After a rejection, the next work order contains it.
    reason: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AnswerArgs {
    /// The task id, or an alias of it such as a foreign id.
    id: String,
    /// The answer. It is in the next work order.
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CreateArgs {
    /// One line that says what to do.
    title: String,
    /// The description, in Markdown.
    #[serde(default)]
    body: String,
    /// critical, high, normal or low.
    #[serde(default)]
    priority: Option<String>,
    /// The agent that must do the task; any agent by default.
    #[serde(default)]
    agent: Option<String>,
    /// Tags that an agent must have to get the task.
    #[serde(default)]
    tags: Vec<String>,
    /// The ids of tasks that must be done before this one starts.
    #[serde(default)]
    depends_on: Vec<String>,
    /// The id of the parent task.
    #[serde(default)]
    parent: Option<String>,
    /// A resource that only one running task may use at a time.
    #[serde(default)]
    resource: Option<String>,
    /// The due date, such as 2026-02-09T21:00:00Z.
    #[serde(default)]
    due: Option<String>,
    /// Whether a person must approve the work; true by default.
    #[serde(default = "default_true")]
    review: bool,
    /// Whether the task can start at once; otherwise it waits in the backlog.
    #[serde(default)]
    ready: bool,
    /// Commands of one line each that must pass before the task is done. They replace the checks of
    /// the agent and the project.
    #[serde(default)]
    checks: Vec<String>,
    /// Only agents with this mode.
    #[serde(default)]
    mode: Option<String>,
    /// Only agents with this role.
    #[serde(default)]
    role: Option<String>,
    /// The most that all runs together may cost, in dollars.
    #[serde(default)]
    budget_usd: Option<f64>,
    /// The most tokens that all runs together may use.
    #[serde(default)]
    budget_tokens: Option<u64>,
    /// The longest duration of a run, as 1h30m, or off.
    #[serde(default)]
    timeout: Option<String>,
    /// The longest time a run may print and report nothing, as 15m, or off.
    #[serde(default)]
    idle_timeout: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SendArgs {
    /// A message or document of any dialect, as text.
    message: String,
}

fn default_true() -> bool {
    true
}

pub(super) fn tools() -> Vec<Tool> {
    use ToolEffect::{ReadOnly, Writes};
    vec![
        describe_tool::<ListArgs>("list", ReadOnly, "Lists tasks, without their bodies."),
        describe_tool::<TaskIdArgs>("show", ReadOnly, "Returns a task: its fields and its body."),
        describe_tool::<TaskIdArgs>("why", ReadOnly, "Explains why a task is not running."),
        describe_tool::<NoArgs>("inbox", ReadOnly, "Lists everything that needs a person."),
        describe_tool::<CreateArgs>("create", Writes, "Creates a task."),
        describe_tool::<ApproveArgs>("approve", Writes, "Approves a task in review."),
        describe_tool::<ReasonArgs>("reject", Writes, "Rejects a task in review."),
        describe_tool::<AnswerArgs>(
            "answer",
            Writes,
            "Answers the question that a task is blocked on.",
        ),
        describe_tool::<TaskIdArgs>(
            "retry",
            Writes,
            "Retries a task that is blocked or in the dead-letter queue.",
        ),
        describe_tool::<ReasonArgs>("cancel", Writes, "Cancels a task."),
        describe_tool::<ReasonArgs>("reopen", Writes, "Returns a cancelled task to the backlog."),
        describe_tool::<TaskIdArgs>(
            "copy",
            Writes,
            "Creates a task in the backlog with the content of another one, without its history.",
        ),
        describe_tool::<SendArgs>("send", Writes, "Submits a message or document of any dialect."),
    ]
}

/// Calls an operator's tool; `None` if it does not exist.
pub(super) fn call(
    session: &McpServerSession,
    by: &Actor,
    name: &str,
    arguments: Value,
) -> Option<ToolResult> {
    let result = match name {
        "list" => list(session, arguments),
        "show" => show(session, arguments),
        "why" => why(session, arguments),
        "inbox" => inbox(session, arguments),
        "create" => execute_command(session, by, create(session, arguments)),
        "approve" => execute_command(session, by, approve(session, arguments)),
        "reject" => execute_command(session, by, reject(session, arguments)),
        "answer" => execute_command(session, by, answer(session, arguments)),
        "retry" => execute_command(session, by, retry(session, arguments)),
        "cancel" => execute_command(session, by, cancel(session, arguments)),
        "reopen" => execute_command(session, by, reopen(session, arguments)),
        "copy" => execute_command(session, by, copy(session, arguments)),
        "send" => send(session, arguments),
        _ => return None,
    };
    Some(result.into())
}

fn list(session: &McpServerSession, arguments: Value) -> Result<ToolResult, ToolResult> {
    let ListArgs { status, agent, tags, text, open, limit } = parse_args(arguments)?;
    let query = TaskQuery::parse(&status, agent.as_deref(), limit.unwrap_or(50))?;
    let query = TaskQuery { tags, text, is_open: open, ..query };
    let tasks = session.project()?.queries.tasks(&query)?;
    Ok(ToolResult::Data(json!({ "tasks": serialize_list(&tasks) })))
}

fn show(session: &McpServerSession, arguments: Value) -> Result<ToolResult, ToolResult> {
    let task = session.project()?.queries.task(&task_argument(session, arguments)?)?;
    Ok(ToolResult::Data(json!(*task)))
}

fn why(session: &McpServerSession, arguments: Value) -> Result<ToolResult, ToolResult> {
    let why = session.project()?.queries.why(&task_argument(session, arguments)?)?;
    Ok(ToolResult::Data(json!(why)))
}

fn inbox(session: &McpServerSession, arguments: Value) -> Result<ToolResult, ToolResult> {
    let NoArgs {} = parse_args(arguments)?;
    Ok(ToolResult::Data(json!({ "items": session.project()?.queries.inbox()? })))
}

fn task_argument(session: &McpServerSession, arguments: Value) -> Result<TaskId, ToolResult> {
    let TaskIdArgs { id } = parse_args(arguments)?;
    Ok(session.project()?.queries.resolve_task(&id)?)
}

fn approve(session: &McpServerSession, arguments: Value) -> Result<Command, ToolResult> {
    let ApproveArgs { id, note, allow_protected } = parse_args(arguments)?;
    let id = session.project()?.queries.resolve_task(&id)?;
    Ok(if allow_protected {
        Command::ApproveProtected { id, note }
    } else {
        Command::Approve { id, note }
    })
}

fn reject(session: &McpServerSession, arguments: Value) -> Result<Command, ToolResult> {
    let ReasonArgs { id, reason } = parse_args(arguments)?;
    Ok(Command::Reject { id: session.project()?.queries.resolve_task(&id)?, reason })
}

fn answer(session: &McpServerSession, arguments: Value) -> Result<Command, ToolResult> {
    let AnswerArgs { id, text } = parse_args(arguments)?;
    Ok(Command::Answer { id: session.project()?.queries.resolve_task(&id)?, text })
}

fn retry(session: &McpServerSession, arguments: Value) -> Result<Command, ToolResult> {
    Ok(Command::Retry { id: task_argument(session, arguments)? })
}

fn cancel(session: &McpServerSession, arguments: Value) -> Result<Command, ToolResult> {
    let ReasonArgs { id, reason } = parse_args(arguments)?;
    Ok(Command::Cancel { id: session.project()?.queries.resolve_task(&id)?, reason })
}

fn reopen(session: &McpServerSession, arguments: Value) -> Result<Command, ToolResult> {
    let ReasonArgs { id, reason } = parse_args(arguments)?;
    Ok(Command::Reopen { id: session.project()?.queries.resolve_task(&id)?, reason })
}

fn copy(session: &McpServerSession, arguments: Value) -> Result<Command, ToolResult> {
    let id = task_argument(session, arguments)?;
    Ok(Command::Copy { id, start: InitialStatus::Backlog, content: None })
}

fn create(session: &McpServerSession, arguments: Value) -> Result<Command, ToolResult> {
    let new: CreateArgs = parse_args(arguments)?;
    let task = |id: &String| session.project()?.queries.resolve_task(id);
    let depends_on: Result<Vec<TaskId>, _> = new.depends_on.iter().map(task).collect();
    let routing = TaskRouting {
        agent: new.agent.as_deref().map(parse_agent).transpose()?,
        role: new.role.map(Into::into),
        mode: new.mode.map(Into::into),
        tags: new.tags.into_iter().map(Into::into).collect(),
        ..TaskRouting::default()
    };
    Ok(Command::Add(Box::new(NewTask {
        title: new.title,
        body: new.body,
        priority: new.priority.as_deref().map(parse_priority).transpose()?.unwrap_or_default(),
        routing,
        parent: new.parent.as_ref().map(task).transpose()?,
        depends_on: depends_on?,
        resource: new.resource,
        due_by: new.due.as_deref().map(parse_time).transpose()?,
        review: if new.review { ReviewPolicy::Required } else { ReviewPolicy::NotNeeded },
        start: if new.ready { InitialStatus::Ready } else { InitialStatus::Backlog },
        checks: new.checks,
        budget: UsageBudget {
            tokens: new.budget_tokens,
            cost: new.budget_usd.map(parse_dollars).transpose()?,
        },
        limits: TaskTimeLimits {
            timeout: new.timeout.as_deref().map(parse_limit).transpose()?,
            idle_timeout: new.idle_timeout.as_deref().map(parse_limit).transpose()?,
        },
    })))
}

/// Executes a command, and answers as the command line does.
fn execute_command(
    session: &McpServerSession,
    by: &Actor,
    command: Result<Command, ToolResult>,
) -> Result<ToolResult, ToolResult> {
    let by = CommandCaller::Operator(by.clone());
    let request = EngineRequest::command(by, command?);
    let answered = require_accepted(session.project()?.ask(request)?)?;
    Ok(ToolResult::Data(json!(answer_document(&answered))))
}

fn send(session: &McpServerSession, arguments: Value) -> Result<ToolResult, ToolResult> {
    let SendArgs { message } = parse_args(arguments)?;
    let answered =
        require_accepted(session.project()?.ask(EngineRequest::message(message.into_bytes()))?)?;
    Ok(ToolResult::Data(json!(answer_document(&answered))))
}

fn parse_agent(text: &str) -> Result<AgentId, ToolResult> {
    AgentId::parse(text).map_err(|bad| bad_argument(text, &format!("an agent name {bad}")))
}

fn parse_priority(text: &str) -> Result<Priority, ToolResult> {
    Priority::parse(text)
        .ok_or_else(|| bad_argument(text, "a priority is critical, high, normal or low"))
}

fn parse_time(text: &str) -> Result<Time, ToolResult> {
    Time::parse(text).map_err(|_| bad_argument(text, "a time is written as 2026-02-09T21:00:00Z"))
}

fn parse_dollars(amount: f64) -> Result<u64, ToolResult> {
    let text = amount.to_string();
    millionths(amount)
        .ok_or_else(|| bad_argument(&text, "a budget is an amount of dollars, as 2.5"))
}

fn parse_limit(text: &str) -> Result<DurationLimit, ToolResult> {
    DurationLimit::parse(text).map_err(|bad| bad_argument(text, &format!("a time limit {bad}")))
}

fn bad_argument(text: &str, what: &str) -> ToolResult {
    ToolResult::Refused(format!("nothing was changed: {text:?} is invalid: {what}"))
}
