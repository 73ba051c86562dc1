//! The tools of an operator: what the commands of the same names do.

use adjutant_core::command::{Caller, NewTask, Start};
use adjutant_core::task::{Review, Routing};
use adjutant_core::{Actor, AgentId, Command, Priority, TaskId, Time};
use adjutant_runtime::Request;
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Session;
use super::report::accepted;
use super::tool::{Does, Nothing, Said, read, tool};
use crate::office::Wanted;

/// How to use the tools.
pub(super) const INSTRUCTIONS: &str = "\
Tasks for a crew of coding agents. `inbox` is what waits for a person, `list` and `show` are the \
tasks there are, `why` says what holds one back. `create` makes a task; `approve`, `reject`, \
`answer`, `retry` and `cancel` settle what waits.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Only tasks with one of these statuses: backlog, ready, in-progress, blocked, review, done,
    /// cancelled, deadletter.
    #[serde(default)]
    status: Vec<String>,
    /// Only tasks this agent works on, or that are for it.
    #[serde(default)]
    agent: Option<String>,
    /// At most so many; 50 if nothing is said.
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OfTask {
    /// The id of the task: its own, or one that others know it by.
    id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Approve {
    /// The id of the task: its own, or one that others know it by.
    id: String,
    /// Anything to say about the work.
    #[serde(default)]
    note: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Because {
    /// The id of the task: its own, or one that others know it by.
    id: String,
    /// Why. Whoever works on it next is told.
    reason: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// The id of the task: its own, or one that others know it by.
    id: String,
    /// The answer. It is in the next work order.
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Create {
    /// One line that says what is to be done.
    title: String,
    /// Everything else about it, in Markdown.
    #[serde(default)]
    body: String,
    /// critical, high, normal or low.
    #[serde(default)]
    priority: Option<String>,
    /// The agent it is for; any agent if nothing is said.
    #[serde(default)]
    agent: Option<String>,
    /// What whoever works on it must be good at.
    #[serde(default)]
    tags: Vec<String>,
    /// The tasks that must be done before.
    #[serde(default)]
    depends_on: Vec<String>,
    /// The task it is a part of.
    #[serde(default)]
    parent: Option<String>,
    /// What only one task may use at a time.
    #[serde(default)]
    resource: Option<String>,
    /// When it should be done, as 2026-02-09T21:00:00Z.
    #[serde(default)]
    due: Option<String>,
    /// Whether somebody must look at the work before it is done.
    #[serde(default = "yes")]
    review: bool,
    /// Whether it may be given out at once; else it waits in the backlog.
    #[serde(default)]
    ready: bool,
    /// The commands, each of one line, that must pass before the work counts as done, in place of
    /// those of the agent and the project.
    #[serde(default)]
    checks: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Send {
    /// A message or document of any dialect, as text.
    message: String,
}

fn yes() -> bool {
    true
}

/// Returns the tools of an operator.
pub(super) fn tools() -> Vec<Tool> {
    use Does::{Changes, Looks};
    vec![
        tool::<List>("list", Looks, "The tasks there are, without their bodies."),
        tool::<OfTask>("show", Looks, "One task: its fields and its body."),
        tool::<OfTask>("why", Looks, "What holds a task back, a sentence each."),
        tool::<Nothing>("inbox", Looks, "Everything that waits for a person."),
        tool::<Create>("create", Changes, "Make a task."),
        tool::<Approve>("approve", Changes, "Accept work that waits for a review."),
        tool::<Because>("reject", Changes, "Send work in review back to be done again."),
        tool::<Answer>("answer", Changes, "Answer the question a task is blocked on."),
        tool::<OfTask>(
            "retry",
            Changes,
            "Let a task that is blocked or was given up be tried again.",
        ),
        tool::<Because>("cancel", Changes, "Give a task up for good."),
        tool::<Send>("send", Changes, "Hand in a message or document of any dialect."),
    ]
}

/// Calls a tool of an operator; none if there is no such tool.
pub(super) fn call(session: &Session, by: &Actor, name: &str, arguments: Value) -> Option<Said> {
    let said = match name {
        "list" => list(session, arguments),
        "show" => show(session, arguments),
        "why" => why(session, arguments),
        "inbox" => inbox(session, arguments),
        "create" => command(session, by, create(session, arguments)),
        "approve" => command(session, by, approve(session, arguments)),
        "reject" => command(session, by, reject(session, arguments)),
        "answer" => command(session, by, answer(session, arguments)),
        "retry" => command(session, by, retry(session, arguments)),
        "cancel" => command(session, by, cancel(session, arguments)),
        "send" => send(session, arguments),
        _ => return None,
    };
    Some(said.into())
}

fn list(session: &Session, arguments: Value) -> Result<Said, Said> {
    let List { status, agent, limit } = read(arguments)?;
    let wanted =
        Wanted { statuses: status, agent, limit: Some(limit.unwrap_or(50)), ..Wanted::default() };
    Ok(Said::Data(json!({ "tasks": session.office.list(&wanted)? })))
}

fn show(session: &Session, arguments: Value) -> Result<Said, Said> {
    Ok(Said::Data(session.office.show(&named(session, arguments)?)?))
}

fn why(session: &Session, arguments: Value) -> Result<Said, Said> {
    Ok(Said::Data(session.office.why(&named(session, arguments)?)?))
}

fn inbox(session: &Session, arguments: Value) -> Result<Said, Said> {
    let Nothing {} = read(arguments)?;
    Ok(Said::Data(json!({ "items": session.office.inbox()? })))
}

fn named(session: &Session, arguments: Value) -> Result<TaskId, Said> {
    let OfTask { id } = read(arguments)?;
    Ok(session.office.known(&id)?)
}

fn approve(session: &Session, arguments: Value) -> Result<Command, Said> {
    let Approve { id, note } = read(arguments)?;
    Ok(Command::Approve { id: session.office.known(&id)?, note })
}

fn reject(session: &Session, arguments: Value) -> Result<Command, Said> {
    let Because { id, reason } = read(arguments)?;
    Ok(Command::Reject { id: session.office.known(&id)?, reason })
}

fn answer(session: &Session, arguments: Value) -> Result<Command, Said> {
    let Answer { id, text } = read(arguments)?;
    Ok(Command::Answer { id: session.office.known(&id)?, text })
}

fn retry(session: &Session, arguments: Value) -> Result<Command, Said> {
    Ok(Command::Retry { id: named(session, arguments)? })
}

fn cancel(session: &Session, arguments: Value) -> Result<Command, Said> {
    let Because { id, reason } = read(arguments)?;
    Ok(Command::Cancel { id: session.office.known(&id)?, reason })
}

fn create(session: &Session, arguments: Value) -> Result<Command, Said> {
    let new: Create = read(arguments)?;
    let task = |id: &String| session.office.known(id);
    let depends_on: Result<Vec<TaskId>, _> = new.depends_on.iter().map(task).collect();
    let routing = Routing {
        agent: new.agent.as_deref().map(agent).transpose()?,
        role: None,
        mode: None,
        tags: new.tags.into_iter().map(Into::into).collect(),
    };
    Ok(Command::Add(Box::new(NewTask {
        title: new.title,
        body: new.body,
        priority: new.priority.as_deref().map(priority).transpose()?.unwrap_or_default(),
        routing,
        parent: new.parent.as_ref().map(task).transpose()?,
        depends_on: depends_on?,
        resource: new.resource,
        due_by: new.due.as_deref().map(time).transpose()?,
        review: if new.review { Review::Required } else { Review::NotNeeded },
        start: if new.ready { Start::Ready } else { Start::Backlog },
        checks: new.checks,
    })))
}

/// Does what a command of the same name does, and answers as it answers.
fn command(session: &Session, by: &Actor, command: Result<Command, Said>) -> Result<Said, Said> {
    let by = Caller::Operator(by.clone());
    let request = Request::Command { by, command: command? };
    let answered = accepted(session.office.ask(request)?)?;
    Ok(Said::Data(session.office.answer(&answered)))
}

fn send(session: &Session, arguments: Value) -> Result<Said, Said> {
    let Send { message } = read(arguments)?;
    let answered = accepted(session.office.ask(Request::Message(message.into_bytes()))?)?;
    Ok(Said::Data(session.office.answer(&answered)))
}

fn agent(text: &str) -> Result<AgentId, Said> {
    AgentId::parse(text).map_err(|bad| wrong(text, &format!("the name of an agent {bad}")))
}

fn priority(text: &str) -> Result<Priority, Said> {
    Priority::parse(text).ok_or_else(|| wrong(text, "a priority is critical, high, normal or low"))
}

fn time(text: &str) -> Result<Time, Said> {
    Time::parse(text).map_err(|_| wrong(text, "a time is written as 2026-02-09T21:00:00Z"))
}

fn wrong(text: &str, what: &str) -> Said {
    Said::Refused(format!("nothing was done: {text:?} does not fit: {what}"))
}
