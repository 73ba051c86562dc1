//! Executes the forms of task pages: one command, then a redirect to where the person was.

use adjutant_core::World;
use adjutant_engine::{EngineAnswer, EngineRequest};
use adjutant_model::command::{CommandCaller, InitialStatus, NewTask};
use adjutant_model::task::TaskRouting;
use adjutant_model::{AgentId, Answer, AnswerVerdict, Command, Event, Priority, Status, TaskId};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maud::html;
use serde::Deserialize;

use super::board_user::SignedForm;
use super::done_action::format_approval;
use super::{BoardPage, BoardUser};
use crate::board::form::{self, TaskAct};
use crate::board::page_frame::FlashMessage;
use crate::http::SharedState;
use crate::http::local_path::LocalPath;
use crate::http::problem::ApiProblem;

#[derive(Deserialize)]
pub(super) struct TaskActFields {
    #[serde(default)]
    back: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    report: String,
    /// `yes` if the person allowed the change of protected paths.
    #[serde(default)]
    consent: String,
}

#[derive(Deserialize)]
pub(super) struct NewTaskFields {
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

pub(super) async fn act_on_task(
    State(app): State<SharedState>,
    person: BoardUser,
    Path((id, act)): Path<(String, String)>,
    SignedForm(fields): SignedForm<TaskActFields>,
) -> Result<Response, ApiProblem> {
    let nothing = || ApiProblem::not_found("nothing is served at this path");
    let act = TaskAct::parse(&act).ok_or_else(nothing)?;
    let id = app.with_project(move |project| project.queries.resolve_task(&id)).await?;
    let back = LocalPath::parse_or_home(&fields.back).as_str().to_owned();
    let Some(command) = to_command(act, id, fields) else {
        return render_not_done(
            &app,
            &person,
            &back,
            "Nothing was done: a required field is empty.",
        )
        .await;
    };
    run_command(&app, &person, command, &back, act.as_str()).await
}

/// Approves or rejects every selected task, in one commit.
pub(super) async fn act_on_selected(
    State(app): State<SharedState>,
    person: BoardUser,
    SignedForm(pairs): SignedForm<Vec<(String, String)>>,
) -> Result<Response, ApiProblem> {
    let field =
        |name: &str| pairs.iter().find(|(key, _)| key == name).map(|(_, text)| text.clone());
    let act = field("act").and_then(|act| TaskAct::parse(&act));
    let act = act.filter(|act| matches!(act, TaskAct::Approve | TaskAct::Reject));
    let text = field("text").unwrap_or_default();
    let mut commands = Vec::new();
    for (_, id) in pairs.iter().filter(|(key, _)| key == "task") {
        let id = id.clone();
        let id = app.with_project(move |project| project.queries.resolve_task(&id)).await?;
        let fields = TaskActFields {
            back: String::new(),
            text: text.clone(),
            report: String::new(),
            consent: String::new(),
        };
        commands.extend(act.and_then(|act| to_command(act, id, fields)));
    }
    if commands.is_empty() {
        let text = "Nothing was done: select at least one task, then press Approve, or enter what must \
                    change and press Reject.";
        return render_not_done(&app, &person, "/inbox", text).await;
    }
    let by = CommandCaller::Operator(person.actor.clone());
    let requests = commands.into_iter().map(|command| EngineRequest::command(by.clone(), command));
    let requests: Vec<EngineRequest> = requests.collect();
    let answers = app.with_project(move |project| project.ask_all(requests)).await?;
    let refused: Vec<String> =
        answers.iter().filter_map(|one| describe_refusal(&one.answer)).collect();
    let word = act.map_or("", TaskAct::as_str);
    let of_tasks = answers.iter().filter(|one| describe_refusal(&one.answer).is_none());
    let done = of_tasks.filter_map(|one| Some(format_approval(one.answer.task.as_ref()?, one)));
    let done: Vec<String> = done.collect();
    if refused.is_empty() && act == Some(TaskAct::Approve) {
        return Ok(redirect_back("/inbox", &format!("{word}&about={}", done.join(","))));
    }
    if refused.is_empty() {
        return Ok(redirect_back("/inbox", word));
    }
    let mut lines = refused;
    if !done.is_empty() {
        let ids = done.iter().map(|one| one.split('.').next().unwrap_or(one));
        lines.push(format!("Done: {}.", ids.collect::<Vec<_>>().join(", ")));
    }
    render_not_done(&app, &person, "/inbox", &lines.join("\n")).await
}

pub(super) async fn new_task_page(
    State(app): State<SharedState>,
    person: BoardUser,
) -> Result<Response, ApiProblem> {
    let names = |world: &World| world.policy().agents.keys().map(ToString::to_string).collect();
    let agents: Vec<String> = app.project.queries.with_world(names)?;
    let content = form::render_new_task_form(&agents);
    BoardPage::new("New task", None, content).send(&app, &person).await
}

pub(super) async fn create_task(
    State(app): State<SharedState>,
    person: BoardUser,
    SignedForm(new): SignedForm<NewTaskFields>,
) -> Result<Response, ApiProblem> {
    let Some(priority) = Priority::parse(&new.priority) else {
        return render_not_done(
            &app,
            &person,
            "/tasks/new",
            "Unknown priority: use critical, high, normal or low.",
        )
        .await;
    };
    let agent = Some(new.agent.as_str()).filter(|name| !name.is_empty()).map(AgentId::parse);
    let Ok(agent) = agent.transpose() else {
        return render_not_done(&app, &person, "/tasks/new", "Invalid agent name.").await;
    };
    let start = if new.status == "backlog" { InitialStatus::Backlog } else { InitialStatus::Ready };
    let routing = TaskRouting { agent, ..TaskRouting::default() };
    let (title, body) = (new.title, new.body.replace("\r\n", "\n"));
    let lines = new.checks.lines().map(str::trim).filter(|line| !line.is_empty());
    let checks = lines.map(str::to_owned).collect();
    let new = NewTask { title, body, priority, routing, start, checks, ..NewTask::default() };
    let answer = ask(&app, &person, Command::Add(Box::new(new))).await?.answer;
    match (describe_refusal(&answer), &answer.task) {
        (Some(why), _) => render_not_done(&app, &person, "/", &why).await,
        // The page of the task says what holds it back.
        (None, Some(id)) if !answer.warnings.is_empty() => {
            Ok(redirect_back(&format!("/tasks/{id}"), "add-unroutable"))
        }
        (None, _) => Ok(redirect_back("/", "add")),
    }
}

/// Executes a command, and redirects to where the person was.
async fn run_command(
    app: &SharedState,
    person: &BoardUser,
    command: Command,
    back: &str,
    word: &'static str,
) -> Result<Response, ApiProblem> {
    let answered = ask(app, person, command).await?;
    match (describe_refusal(&answered.answer), &answered.answer.task) {
        (Some(why), _) => render_not_done(app, person, back, &why).await,
        (None, Some(id)) if has_merge_request(&answered) => {
            Ok(redirect_back(back, &format!("{word}&about={}", format_approval(id, &answered))))
        }
        (None, _) => Ok(redirect_back(back, word)),
    }
}

fn has_merge_request(answered: &EngineAnswer) -> bool {
    let mut events = answered.events.iter().map(|event| &event.new_event.event);
    events.any(|event| matches!(event, Event::MergeRequested { .. }))
}

async fn ask(
    app: &SharedState,
    person: &BoardUser,
    command: Command,
) -> Result<EngineAnswer, ApiProblem> {
    let request = EngineRequest::command(CommandCaller::Operator(person.actor.clone()), command);
    app.with_project(move |project| project.ask(request)).await
}

/// Describes why a command was refused; `None` if it was not.
fn describe_refusal(answer: &Answer) -> Option<String> {
    match answer.verdict {
        AnswerVerdict::Applied | AnswerVerdict::Noop | AnswerVerdict::Ignored => None,
        AnswerVerdict::Rejected | AnswerVerdict::Unknown => {
            let task = answer.task.as_ref().map_or_else(String::new, |id| format!("{id}: "));
            let reason = answer.reason.map_or("Refused.", |reason| reason.meaning().trim());
            let problems: Vec<String> = answer.problems.iter().map(ToString::to_string).collect();
            let problems = if problems.is_empty() {
                String::new()
            } else {
                format!(" ({})", problems.join("; "))
            };
            Some(format!("{task}{reason}{problems}"))
        }
    }
}

/// Returns the command for an action, or `None` if its required text is missing.
fn to_command(act: TaskAct, id: TaskId, fields: TaskActFields) -> Option<Command> {
    let text = fields.text.trim().replace("\r\n", "\n");
    let must = (!text.is_empty()).then(|| text.clone());
    Some(match act {
        TaskAct::Approve => {
            let note = if text.is_empty() { "approved".to_owned() } else { text };
            Command::Approve { id, note }
        }
        TaskAct::ApproveProtected if fields.consent != "yes" => return None,
        TaskAct::ApproveProtected => {
            let note = if text.is_empty() { "approved".to_owned() } else { text };
            Command::ApproveProtected { id, note }
        }
        TaskAct::AcceptChecks => {
            Command::AcceptChecks { id, checks: serde_json::from_str(&fields.report).ok()? }
        }
        TaskAct::Reject => Command::Reject { id, reason: must? },
        TaskAct::Answer => Command::Answer { id, text: must? },
        // Names the question, because by now the run may have asked another one.
        TaskAct::Allow => Command::Answer { id, text: format!("{}:allow", fields.report) },
        TaskAct::Deny => Command::Answer { id, text: format!("{}:deny", fields.report) },
        TaskAct::Retry => Command::Retry { id },
        TaskAct::Cancel => Command::Cancel { id, reason: "cancelled on the board".to_owned() },
        TaskAct::Apply => Command::ApplySalvage { id, name: fields.report, text: None },
        TaskAct::Ready => {
            Command::Move { id, to: Status::Ready, reason: "moved on the board".to_owned() }
        }
        TaskAct::Reopen => Command::Reopen { id, reason: "reopened on the board".to_owned() },
    })
}

/// Returns the confirmation for the action word in the URL.
pub(super) fn confirmation(word: &str) -> Option<FlashMessage> {
    let text = match word {
        "approve" | "approve-protected" => "Approved.",
        "accept-checks" => "Accepted.",
        "reject" => "Rejected.",
        "answer" => "Answered.",
        "allow" => "Allowed.",
        "deny" => "Denied.",
        "retry" => "The task will be retried.",
        "cancel" => "Cancelled.",
        "apply" => "Report applied.",
        "ready" => "Moved to ready.",
        "reopen-task" => "Task returned to the backlog.",
        "add" => "Task created.",
        "add-unroutable" => "Task created. No configured agent can run it: see the reasons below.",
        "begin" => "Story started.",
        "auto" => "Agents now perform the steps.",
        "by-hand" => "Steps are now started by hand.",
        "rollback" => "Story rolled back.",
        "reopen" => "Story reopened.",
        _ => return None,
    };
    Some(FlashMessage { succeeded: true, text: text.to_owned() })
}

/// Redirects after a form was processed, so that reloading the page does not repeat the action.
pub(super) fn redirect_back(back: &str, word: &str) -> Response {
    let sign = if back.contains('?') { '&' } else { '?' };
    Redirect::to(&format!("{back}{sign}did={word}")).into_response()
}

/// Renders a page that says why nothing was done.
pub(super) async fn render_not_done(
    app: &SharedState,
    person: &BoardUser,
    back: &str,
    why: &str,
) -> Result<Response, ApiProblem> {
    let content = html! { p { a.button href=(back) { "Back" } } };
    let message = FlashMessage { succeeded: false, text: why.to_owned() };
    let mut page = BoardPage::new("Not done", None, content).with_message(Some(message));
    page.status = StatusCode::CONFLICT;
    page.send(app, person).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_act_has_confirmation() {
        for act in TaskAct::ALL {
            assert!(confirmation(act.as_str()).is_some(), "{act:?}");
        }
        for act in crate::board::stories::StoryAct::ALL {
            assert!(confirmation(act.as_str()).is_some(), "{act:?}");
        }
        assert_eq!(confirmation("<script>"), None);
    }
}
