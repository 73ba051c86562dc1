//! What an operator does to tasks: what the commands of the same names do, and answered as they do.

use adjutant_core::command::{Changes, Start};
use adjutant_core::task::{Review, Routing};
use adjutant_core::{AgentId, Command, Priority, Status, TaskId, Time};
use adjutant_core::{answer::Reason, command};
use adjutant_runtime::Request;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::tasks::named;
use super::{AnswerTask, Cancel, Edit, Move, NewTask, Note, Reject, Task};
use crate::http::App;
use crate::http::auth::Known;
use crate::http::body::Raw;
use crate::http::idempotency::{Done, Key, ask, once};
use crate::http::problem::{Problem, Told, status_of};
use crate::office::Kind;

/// Makes a task.
#[utoipa::path(post, path = "/v1/tasks", tag = "tasks",
    params(("Idempotency-Key" = Option<String>, Header, description = "The same key is done once, and answered alike")),
    request_body = NewTask,
    responses((status = 201, body = Task),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn create(
    State(app): State<App>,
    who: Known,
    headers: HeaderMap,
    raw: Raw,
) -> Result<Response, Problem> {
    let new: NewTask = raw.json(&app)?;
    let command = made(&app, new).await?;
    let key = Key::read(&headers, &who, "/v1/tasks", &raw.bytes)?;
    let call = async {
        let done = give(&app, &who, key.as_ref(), command).await?;
        let (id, mut response) = shown(&app, &done).await?;
        *response.status_mut() = StatusCode::CREATED;
        if let Ok(place) = HeaderValue::from_str(&format!("/v1/tasks/{id}")) {
            response.headers_mut().insert(header::LOCATION, place);
        }
        Ok(response)
    };
    Ok(once(&app, key.as_ref(), call).await)
}

/// Changes fields or the body of a task.
#[utoipa::path(patch, path = "/v1/tasks/{id}", tag = "tasks",
    params(("id" = String, Path, description = "Its id, or one that others know it by")),
    request_body = Edit,
    responses((status = 200, body = Task),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn edit(
    State(app): State<App>,
    who: Known,
    Path(id): Path<String>,
    raw: Raw,
) -> Result<Response, Problem> {
    let edit: Edit = raw.json(&app)?;
    let id = named(&app, &who, id, &Method::PATCH).await?;
    let changes = Box::new(changed(&app, edit).await?);
    let done = give(&app, &who, None, Command::Edit { id, changes }).await?;
    Ok(shown(&app, &done).await?.1)
}

/// Moves a task along the table.
#[utoipa::path(post, path = "/v1/tasks/{id}/move", tag = "tasks",
    params(("id" = String, Path, description = "Its id, or one that others know it by"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key is done once, and answered alike")),
    request_body = Move,
    responses((status = 200, body = Task),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn move_to(
    State(app): State<App>,
    who: Known,
    Path(id): Path<String>,
    headers: HeaderMap,
    raw: Raw,
) -> Result<Response, Problem> {
    let Move { to, reason } = raw.json(&app)?;
    let mut wrong = Wrong::default();
    let to = wrong.required("to", to, |text| {
        let all = Status::ALL.map(Status::as_str).join(", ");
        Status::parse(text).ok_or(format!("must be one of: {all}"))
    });
    wrong.check()?;
    let Some(to) = to else { return Err(Problem::bug()) };
    let reason = reason.unwrap_or_default();
    on_task(app, who, id, "move", headers, raw, |id| Command::Move { id, to, reason }).await
}

/// Accepts work that waits for a review.
#[utoipa::path(post, path = "/v1/tasks/{id}/approve", tag = "tasks",
    params(("id" = String, Path, description = "Its id, or one that others know it by"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key is done once, and answered alike")),
    request_body = Note,
    responses((status = 200, body = Task),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn approve(
    State(app): State<App>,
    who: Known,
    Path(id): Path<String>,
    headers: HeaderMap,
    raw: Raw,
) -> Result<Response, Problem> {
    let Note { note } = raw.json(&app)?;
    let note = note.unwrap_or_default();
    on_task(app, who, id, "approve", headers, raw, |id| Command::Approve { id, note }).await
}

/// Sends work in review back to be done again.
#[utoipa::path(post, path = "/v1/tasks/{id}/reject", tag = "tasks",
    params(("id" = String, Path, description = "Its id, or one that others know it by"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key is done once, and answered alike")),
    request_body = Reject,
    responses((status = 200, body = Task),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn reject(
    State(app): State<App>,
    who: Known,
    Path(id): Path<String>,
    headers: HeaderMap,
    raw: Raw,
) -> Result<Response, Problem> {
    let Reject { reason } = raw.json(&app)?;
    let reason = text_of("reason", reason)?;
    on_task(app, who, id, "reject", headers, raw, |id| Command::Reject { id, reason }).await
}

/// Answers the question a task is blocked on.
#[utoipa::path(post, path = "/v1/tasks/{id}/answer", tag = "tasks",
    params(("id" = String, Path, description = "Its id, or one that others know it by"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key is done once, and answered alike")),
    request_body = AnswerTask,
    responses((status = 200, body = Task),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn answer(
    State(app): State<App>,
    who: Known,
    Path(id): Path<String>,
    headers: HeaderMap,
    raw: Raw,
) -> Result<Response, Problem> {
    let AnswerTask { text } = raw.json(&app)?;
    let text = text_of("text", text)?;
    on_task(app, who, id, "answer", headers, raw, |id| Command::Answer { id, text }).await
}

/// Lets a task that is blocked or was given up be tried again.
#[utoipa::path(post, path = "/v1/tasks/{id}/retry", tag = "tasks",
    params(("id" = String, Path, description = "Its id, or one that others know it by"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key is done once, and answered alike")),
    responses((status = 200, body = Task),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn retry(
    State(app): State<App>,
    who: Known,
    Path(id): Path<String>,
    headers: HeaderMap,
    raw: Raw,
) -> Result<Response, Problem> {
    on_task(app, who, id, "retry", headers, raw, |id| Command::Retry { id }).await
}

/// Gives a task up for good.
#[utoipa::path(post, path = "/v1/tasks/{id}/cancel", tag = "tasks",
    params(("id" = String, Path, description = "Its id, or one that others know it by"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key is done once, and answered alike")),
    request_body = Cancel,
    responses((status = 200, body = Task),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn cancel(
    State(app): State<App>,
    who: Known,
    Path(id): Path<String>,
    headers: HeaderMap,
    raw: Raw,
) -> Result<Response, Problem> {
    let Cancel { reason } = raw.json(&app)?;
    let reason = reason.unwrap_or_default();
    on_task(app, who, id, "cancel", headers, raw, |id| Command::Cancel { id, reason }).await
}

/// Lets a report count that came too late.
#[utoipa::path(post, path = "/v1/tasks/{id}/salvage/{name}/apply", tag = "inbox",
    params(("id" = String, Path, description = "Its id, or one that others know it by"),
        ("name" = String, Path, description = "The report, as the inbox names it"),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key is done once, and answered alike")),
    responses((status = 200, body = Task),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn apply_salvage(
    State(app): State<App>,
    who: Known,
    Path((id, name)): Path<(String, String)>,
    headers: HeaderMap,
    raw: Raw,
) -> Result<Response, Problem> {
    let deed = format!("salvage/{name}/apply");
    on_task(app, who, id, &deed, headers, raw, |id| Command::ApplySalvage { id, name, text: None })
        .await
}

/// Gives a command about one task, once, and shows the task as it is afterwards.
async fn on_task(
    app: App,
    who: Known,
    id: String,
    deed: &str,
    headers: HeaderMap,
    raw: Raw,
    command: impl FnOnce(TaskId) -> Command,
) -> Result<Response, Problem> {
    let id = match &who {
        Known::Operator(_) => named(&app, &who, id, &Method::POST).await?,
        // What a run may not ask for is refused and written down by the rule that says so.
        Known::Run(_) => app.office(move |office| office.known(&id)).await?,
    };
    let key = Key::read(&headers, &who, &format!("/v1/tasks/{id}/{deed}"), &raw.bytes)?;
    let command = command(id);
    let call = async {
        let done = give(&app, &who, key.as_ref(), command).await?;
        Ok(shown(&app, &done).await?.1)
    };
    Ok(once(&app, key.as_ref(), call).await)
}

/// Gives a command; a refusal is a problem.
async fn give(
    app: &App,
    who: &Known,
    key: Option<&Key>,
    command: Command,
) -> Result<Done, Problem> {
    let request = Request::Command { by: who.caller(), command };
    accepted(ask(app, key, request).await?)
}

pub(super) fn accepted(done: Done) -> Result<Done, Problem> {
    if !done.is_refused() {
        return Ok(done);
    }
    let reason = done.answer.reason.unwrap_or(Reason::InvalidArgument);
    let mut problem = Problem::new(
        status_of(reason.as_str(), Kind::Refused),
        reason.as_str(),
        reason.meaning().trim(),
    );
    problem.errors = done.answer.problems.iter().map(ToString::to_string).collect();
    if !problem.errors.is_empty() {
        problem.detail = problem.errors.join("; ");
    }
    problem.events = done.events;
    Err(problem)
}

/// Shows the task a command was about.
async fn shown(app: &App, done: &Done) -> Result<(TaskId, Response), Problem> {
    let id = done.answer.task.clone().ok_or_else(Problem::bug)?;
    let wanted = id.clone();
    let row = app.office(move |office| office.row(&wanted)).await?;
    Ok((id, Json(row).into_response()))
}

/// Everything that is wrong with what was sent.
#[derive(Default)]
pub(super) struct Wrong(Vec<String>);

impl Wrong {
    /// Reads a field that must be there.
    pub(super) fn required<T>(
        &mut self,
        key: &str,
        value: Option<String>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        if value.is_none() {
            self.0.push(format!("{key}: is required"));
        }
        self.optional(key, value, parse)
    }

    /// Reads a field that may be there.
    pub(super) fn optional<T>(
        &mut self,
        key: &str,
        value: Option<String>,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        match value.map(|text| parse(&text)) {
            Some(Err(wrong)) => {
                self.0.push(format!("{key}: {wrong}"));
                None
            }
            Some(Ok(value)) => Some(value),
            None => None,
        }
    }

    /// Finds the task a field names.
    async fn task(&mut self, app: &App, key: &str, text: String) -> Option<TaskId> {
        match app.office(move |office| office.known(&text)).await {
            Ok(id) => Some(id),
            Err(problem) => {
                self.0.push(format!("{key}: {}", problem.detail));
                None
            }
        }
    }

    async fn tasks(&mut self, app: &App, key: &str, ids: Vec<String>) -> Vec<TaskId> {
        let mut found = Vec::new();
        for (n, id) in ids.into_iter().enumerate() {
            found.extend(self.task(app, &format!("{key}[{n}]"), id).await);
        }
        found
    }

    pub(super) fn push(&mut self, wrong: String) {
        self.0.push(wrong);
    }

    /// Says everything that is wrong, if anything is.
    pub(super) fn check(self) -> Result<(), Problem> {
        if self.0.is_empty() { Ok(()) } else { Err(Problem::invalid(self.0)) }
    }
}

pub(super) fn text_of(key: &str, value: Option<String>) -> Result<String, Problem> {
    let mut wrong = Wrong::default();
    let text = wrong.required(key, value, |text| Ok(text.to_owned()));
    wrong.check()?;
    Ok(text.unwrap_or_default())
}

fn priority(text: &str) -> Result<Priority, String> {
    let all = Priority::ALL.map(Priority::as_str).join(", ");
    Priority::parse(text).ok_or(format!("must be one of: {all}"))
}

fn agent(text: &str) -> Result<AgentId, String> {
    AgentId::parse(text).map_err(|bad| format!("the name of an agent {bad}"))
}

fn time(text: &str) -> Result<Time, String> {
    Time::parse(text).map_err(|error| error.to_string())
}

fn start(text: &str) -> Result<Start, String> {
    match text {
        "backlog" => Ok(Start::Backlog),
        "ready" => Ok(Start::Ready),
        _ => Err("must be one of: backlog, ready".to_owned()),
    }
}

async fn made(app: &App, new: NewTask) -> Result<Command, Problem> {
    let mut wrong = Wrong::default();
    let title = wrong.required("title", new.title, |text| Ok(text.to_owned()));
    let priority = wrong.optional("priority", new.priority, priority);
    let agent = wrong.optional("agent", new.agent, agent);
    let due_by = wrong.optional("dueBy", new.due_by, time);
    let start = wrong.optional("status", new.status, start);
    let depends_on = wrong.tasks(app, "dependsOn", new.depends_on.unwrap_or_default()).await;
    let parent = match new.parent_id {
        Some(id) => wrong.task(app, "parentId", id).await,
        None => None,
    };
    wrong.check()?;
    let tags = new.tags.unwrap_or_default().into_iter().map(Into::into).collect();
    Ok(Command::Add(Box::new(command::NewTask {
        title: title.unwrap_or_default(),
        body: new.body.unwrap_or_default(),
        priority: priority.unwrap_or_default(),
        routing: Routing { agent, role: None, mode: None, tags },
        parent,
        depends_on,
        resource: new.resource,
        due_by,
        review: review(new.review_required.unwrap_or(true)),
        start: start.unwrap_or_default(),
        checks: new.checks.unwrap_or_default(),
    })))
}

async fn changed(app: &App, edit: Edit) -> Result<Changes, Problem> {
    let mut wrong = Wrong::default();
    let priority = wrong.optional("priority", edit.priority, priority);
    let agent = edit.agent.map(|name| wrong.optional("agent", name, agent));
    let due_by = edit.due_by.map(|text| wrong.optional("dueBy", text, time));
    let depends_on = match edit.depends_on {
        Some(ids) => Some(wrong.tasks(app, "dependsOn", ids).await),
        None => None,
    };
    let parent = match edit.parent_id {
        Some(Some(id)) => Some(wrong.task(app, "parentId", id).await),
        Some(None) => Some(None),
        None => None,
    };
    wrong.check()?;
    Ok(Changes {
        title: edit.title,
        body: edit.body,
        priority,
        agent,
        tags: edit.tags,
        depends_on,
        parent,
        resource: edit.resource,
        due_by,
        review: edit.review_required.map(review),
    })
}

fn review(required: bool) -> Review {
    if required { Review::Required } else { Review::NotNeeded }
}
