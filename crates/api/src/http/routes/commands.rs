//! What an operator does to tasks: what the commands of the same names do, and answered as they do.

use adjutant_core::answer::Reason;
use adjutant_core::{Command, Status, TaskId};
use adjutant_runtime::Request;
use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::call::{Call, IDEMPOTENCY_KEY, TASK_ID};
use super::fields::{Wrong, changed, made, text_of};
use super::tasks::named;
use super::{AnswerTask, Cancel, Edit, Move, NewTask, Note, Reject, Task};
use crate::http::App;
use crate::http::auth::Known;
use crate::http::idempotency::{Done, Key, ask};
use crate::http::operation::{ApiBody, ApiOperation, ApiParameter, ApiRoute};
use crate::http::problem::{Problem, status_of};
use crate::office::Kind;

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::post("/v1/tasks", "tasks", "create", create)
            .summary("Makes a task.")
            .parameters([IDEMPOTENCY_KEY])
            .takes::<NewTask>()
            .response("201", ApiBody::json::<Task>()),
        ApiRoute::patch("/v1/tasks/{id}", "tasks", "edit", edit)
            .summary("Changes fields or the body of a task.")
            .parameters([TASK_ID])
            .takes::<Edit>()
            .returns::<Task>(),
        ApiRoute::post("/v1/tasks/{id}/move", "tasks", "move_to", move_to)
            .summary("Moves a task along the table.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .takes::<Move>()
            .returns::<Task>(),
        ApiRoute::post("/v1/tasks/{id}/approve", "tasks", "approve", approve)
            .summary("Accepts work that waits for a review.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .takes::<Note>()
            .returns::<Task>(),
        ApiRoute::post("/v1/tasks/{id}/reject", "tasks", "reject", reject)
            .summary("Sends work in review back to be done again.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .takes::<Reject>()
            .returns::<Task>(),
        ApiRoute::post("/v1/tasks/{id}/answer", "tasks", "answer", answer)
            .summary("Answers the question a task is blocked on.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .takes::<AnswerTask>()
            .returns::<Task>(),
        ApiRoute::post("/v1/tasks/{id}/retry", "tasks", "retry", retry)
            .summary("Lets a task that is blocked or was given up be tried again.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .returns::<Task>(),
        ApiRoute::post("/v1/tasks/{id}/cancel", "tasks", "cancel", cancel)
            .summary("Gives a task up for good.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .takes::<Cancel>()
            .returns::<Task>(),
        ApiRoute::post(
            "/v1/tasks/{id}/salvage/{name}/apply",
            "inbox",
            "apply_salvage",
            apply_salvage,
        )
        .summary("Lets a report count that came too late.")
        .parameters([
            TASK_ID,
            ApiParameter::path("name", "The report, as the inbox names it"),
            IDEMPOTENCY_KEY,
        ])
        .returns::<Task>(),
    ]
}

async fn create(call: Call) -> Result<Response, Problem> {
    let command = made(&call.app, call.json()?).await?;
    let key = call.key("/v1/tasks")?;
    let work = async {
        let done = give(&call.app, &call.who, key.as_ref(), command).await?;
        let (id, mut response) = shown(&call.app, &done).await?;
        *response.status_mut() = StatusCode::CREATED;
        if let Ok(place) = HeaderValue::from_str(&format!("/v1/tasks/{id}")) {
            response.headers_mut().insert(header::LOCATION, place);
        }
        Ok(response)
    };
    call.once(key.as_ref(), work).await
}

async fn edit(call: Call) -> Result<Response, Problem> {
    let edit: Edit = call.json()?;
    let id = named(&call.app, &call.who, call.named("id"), &Method::PATCH).await?;
    let changes = Box::new(changed(&call.app, edit).await?);
    let done = give(&call.app, &call.who, None, Command::Edit { id, changes }).await?;
    Ok(shown(&call.app, &done).await?.1)
}

async fn move_to(call: Call) -> Result<Response, Problem> {
    let Move { to, reason } = call.json()?;
    let mut wrong = Wrong::default();
    let to = wrong.required("to", to, |text| {
        let all = Status::ALL.map(Status::as_str).join(", ");
        Status::parse(text).ok_or(format!("must be one of: {all}"))
    });
    wrong.check()?;
    let Some(to) = to else { return Err(Problem::bug()) };
    let reason = reason.unwrap_or_default();
    call.give("move", |id| Command::Move { id, to, reason }).await
}

async fn approve(call: Call) -> Result<Response, Problem> {
    let Note { note } = call.json()?;
    let note = note.unwrap_or_default();
    call.give("approve", |id| Command::Approve { id, note }).await
}

async fn reject(call: Call) -> Result<Response, Problem> {
    let Reject { reason } = call.json()?;
    let reason = text_of("reason", reason)?;
    call.give("reject", |id| Command::Reject { id, reason }).await
}

async fn answer(call: Call) -> Result<Response, Problem> {
    let AnswerTask { text } = call.json()?;
    let text = text_of("text", text)?;
    call.give("answer", |id| Command::Answer { id, text }).await
}

async fn retry(call: Call) -> Result<Response, Problem> {
    call.give("retry", |id| Command::Retry { id }).await
}

async fn cancel(call: Call) -> Result<Response, Problem> {
    let Cancel { reason } = call.json()?;
    let reason = reason.unwrap_or_default();
    call.give("cancel", |id| Command::Cancel { id, reason }).await
}

async fn apply_salvage(call: Call) -> Result<Response, Problem> {
    let name = call.named("name");
    let deed = format!("salvage/{name}/apply");
    call.give(&deed, |id| Command::ApplySalvage { id, name, text: None }).await
}

impl Call {
    /// Gives a command about the task it names, once, and shows that as it is afterwards.
    async fn give(
        &self,
        deed: &str,
        command: impl FnOnce(TaskId) -> Command,
    ) -> Result<Response, Problem> {
        let text = self.named("id");
        let id = match &self.who {
            Known::Operator(_) => named(&self.app, &self.who, text, &Method::POST).await?,
            // What a run may not ask for is refused and written down by the rule that says so.
            Known::Run(_) => self.app.office(move |office| office.known(&text)).await?,
        };
        let key = self.key(&format!("/v1/tasks/{id}/{deed}"))?;
        let work = async {
            let done = give(&self.app, &self.who, key.as_ref(), command(id)).await?;
            Ok(shown(&self.app, &done).await?.1)
        };
        self.once(key.as_ref(), work).await
    }
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

fn accepted(done: Done) -> Result<Done, Problem> {
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
