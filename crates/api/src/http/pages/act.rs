//! What a person does by a form: the command of the same name, once, and back to where they were.

use adjutant_core::command::{Caller, NewTask, Start};
use adjutant_core::task::Routing;
use adjutant_core::{AgentId, Answer, Command, Priority, Status, TaskId, Verdict};
use adjutant_runtime::Request;
use axum::Form;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use serde::Deserialize;

use super::{Page, Person};
use crate::board::form::{self, Act};
use crate::board::shell::Said;
use crate::http::App;
use crate::http::problem::Problem;

/// What the form of a deed carries.
#[derive(Deserialize)]
pub(super) struct Fields {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    back: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    report: String,
}

/// What the form for a new task carries.
#[derive(Deserialize)]
pub(super) struct New {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    priority: String,
    #[serde(default)]
    agent: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    checks: String,
}

/// Does one thing to one task.
pub(super) async fn one(
    State(app): State<App>,
    person: Person,
    Path((id, act)): Path<(String, String)>,
    Form(fields): Form<Fields>,
) -> Result<Response, Problem> {
    person.check(&app, &fields.csrf)?;
    let nothing = || Problem::not_found("there is nothing at this path");
    let act = Act::parse(&act).ok_or_else(nothing)?;
    let id = app.office(move |office| office.known(&id)).await?;
    let back = back(&fields.back);
    let Some(command) = command(act, id, fields) else {
        return not_done(&app, &person, &back, "Nothing was said, so nothing was done.").await;
    };
    give(&app, &person, command, &back, act.as_str()).await
}

/// Does one thing to every task that was ticked, in one commit.
pub(super) async fn batch(
    State(app): State<App>,
    person: Person,
    Form(pairs): Form<Vec<(String, String)>>,
) -> Result<Response, Problem> {
    let field =
        |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, text)| text.clone());
    person.check(&app, &field("csrf").unwrap_or_default())?;
    let act = field("act").and_then(|act| Act::parse(&act));
    let act = act.filter(|act| matches!(act, Act::Approve | Act::Reject));
    let text = field("text").unwrap_or_default();
    let mut commands = Vec::new();
    for (_, id) in pairs.iter().filter(|(key, _)| key == "task") {
        let id = id.clone();
        let id = app.office(move |office| office.known(&id)).await?;
        let fields = Fields {
            csrf: String::new(),
            back: String::new(),
            text: text.clone(),
            report: String::new(),
        };
        commands.extend(act.and_then(|act| command(act, id, fields)));
    }
    if commands.is_empty() {
        let said = "Nothing was ticked, or nothing was said, so nothing was done.";
        return not_done(&app, &person, "/inbox", said).await;
    }
    let by = Caller::Operator(person.by.clone());
    let requests = commands.into_iter().map(|command| Request::Command { by: by.clone(), command });
    let requests: Vec<Request> = requests.collect();
    let answers = app.office(move |office| office.ask_all(requests)).await?;
    let refused: Vec<String> = answers.iter().filter_map(|one| refusal(&one.answer)).collect();
    if refused.is_empty() {
        return Ok(went("/inbox", act.map_or("", Act::as_str)));
    }
    not_done(&app, &person, "/inbox", &refused.join(" ")).await
}

/// The page with the form for a new task.
pub(super) async fn new(State(app): State<App>, person: Person) -> Result<Response, Problem> {
    let mut agents = Vec::new();
    app.office.look(&mut |world| {
        agents = world.policy().agents.keys().map(ToString::to_string).collect();
    })?;
    let content = form::new_task(&person.proof, &agents);
    Page::new("New task", None, content).send(&app, &person).await
}

/// Makes a task.
pub(super) async fn create(
    State(app): State<App>,
    person: Person,
    Form(new): Form<New>,
) -> Result<Response, Problem> {
    person.check(&app, &new.csrf)?;
    let Some(priority) = Priority::parse(&new.priority) else {
        return not_done(&app, &person, "/tasks/new", "There is no such priority.").await;
    };
    let agent = Some(new.agent.as_str()).filter(|name| !name.is_empty()).map(AgentId::parse);
    let Ok(agent) = agent.transpose() else {
        return not_done(&app, &person, "/tasks/new", "This is no name of an agent.").await;
    };
    let start = if new.status == "backlog" { Start::Backlog } else { Start::Ready };
    let routing = Routing { agent, ..Routing::default() };
    let (title, body) = (new.title, new.body.replace("\r\n", "\n"));
    let lines = new.checks.lines().map(str::trim).filter(|line| !line.is_empty());
    let checks = lines.map(str::to_owned).collect();
    let new = NewTask { title, body, priority, routing, start, checks, ..NewTask::default() };
    give(&app, &person, Command::Add(Box::new(new)), "/", "add").await
}

/// Gives a command, and goes back to where the person was.
async fn give(
    app: &App,
    person: &Person,
    command: Command,
    back: &str,
    word: &'static str,
) -> Result<Response, Problem> {
    let request = Request::Command { by: Caller::Operator(person.by.clone()), command };
    let answered = app.office(move |office| office.ask(request)).await?;
    match refusal(&answered.answer) {
        None => Ok(went(back, word)),
        Some(why) => not_done(app, person, back, &why).await,
    }
}

/// Says why a command was refused, if it was.
fn refusal(answer: &Answer) -> Option<String> {
    match answer.verdict {
        Verdict::Applied | Verdict::Noop | Verdict::Ignored => None,
        Verdict::Rejected | Verdict::Unknown => {
            let task = answer.task.as_ref().map_or_else(String::new, |id| format!("{id}: "));
            let reason = answer.reason.map_or("refused", |reason| reason.as_str());
            let problems: Vec<String> = answer.problems.iter().map(ToString::to_string).collect();
            let problems = if problems.is_empty() {
                String::new()
            } else {
                format!(" ({})", problems.join("; "))
            };
            Some(format!("{task}{reason}{problems}."))
        }
    }
}

/// Returns the command that an act stands for; none if what has to be said with it was not said.
fn command(act: Act, id: TaskId, fields: Fields) -> Option<Command> {
    let said = fields.text.trim().replace("\r\n", "\n");
    let must = (!said.is_empty()).then(|| said.clone());
    Some(match act {
        Act::Approve => {
            let note = if said.is_empty() { "approved".to_owned() } else { said };
            Command::Approve { id, note }
        }
        Act::Reject => Command::Reject { id, reason: must? },
        Act::Answer => Command::Answer { id, text: must? },
        // That question and no other: what is asked by now may be another.
        Act::Allow => Command::Answer { id, text: format!("{}:allow", fields.report) },
        Act::Deny => Command::Answer { id, text: format!("{}:deny", fields.report) },
        Act::Retry => Command::Retry { id },
        Act::Cancel => Command::Cancel { id, reason: "cancelled on the board".to_owned() },
        Act::Apply => Command::ApplySalvage { id, name: fields.report, text: None },
        Act::Ready => {
            Command::Move { id, to: Status::Ready, reason: "moved on the board".to_owned() }
        }
    })
}

/// Says what was done, by the word an address has for it.
pub(super) fn did(word: &str) -> Option<Said> {
    let text = match word {
        "approve" => "Approved.",
        "reject" => "Sent back.",
        "answer" => "Answered.",
        "allow" => "Allowed.",
        "deny" => "Denied.",
        "retry" => "It is tried again.",
        "cancel" => "Cancelled.",
        "apply" => "The report counts.",
        "ready" => "It is ready.",
        "add" => "The task is there.",
        "begin" => "The story has begun.",
        "auto" => "Agents do its steps.",
        "by-hand" => "Its steps are started by hand.",
        "rollback" => "The story was put back.",
        "reopen" => "The story was taken up again.",
        _ => return None,
    };
    Some(Said { done: true, text: text.to_owned() })
}

/// Goes back, so that to ask for the page again does nothing again.
pub(super) fn went(back: &str, word: &str) -> Response {
    let sign = if back.contains('?') { '&' } else { '?' };
    Redirect::to(&format!("{back}{sign}did={word}")).into_response()
}

/// Says that nothing was done, and why.
pub(super) async fn not_done(
    app: &App,
    person: &Person,
    back: &str,
    why: &str,
) -> Result<Response, Problem> {
    let content = html! { p { a.button href=(back) { "Back" } } };
    let said = Said { done: false, text: why.to_owned() };
    let mut page = Page::new("Not done", None, content).saying(Some(said));
    page.status = StatusCode::CONFLICT;
    page.send(app, person).await
}

/// Returns where to go back to: a path of ours, and nowhere else.
fn back(text: &str) -> String {
    let own =
        text.starts_with('/') && !text.starts_with("//") && !text.contains(['\\', '\n', '\r']);
    if own { text.to_owned() } else { "/".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for path in ["//evil.example", "https://evil.example", "/\\evil.example", "", "/\r\nx"] {
            assert_eq!(back(path), "/", "{path:?}");
        }
        assert_eq!(back("/tasks/T?run=1"), "/tasks/T?run=1");
    }

    #[test]
    fn every_act_says_what_was_done() {
        for act in Act::ALL {
            assert!(did(act.as_str()).is_some(), "{act:?}");
        }
        for act in crate::board::stories::Act::ALL {
            assert!(did(act.as_str()).is_some(), "{act:?}");
        }
        assert_eq!(did("<script>"), None);
    }
}
