//! Task operations of an operator; each executes the command of the same name.

use adjutant_engine::EngineRequest;
use adjutant_model::answer::Reason;
use adjutant_model::request::IdempotencyKey;
use adjutant_model::{Command, Status, TaskId};
use adjutant_query::failure::FailureKind;
use axum::Json;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::call::{ApiCall, IDEMPOTENCY_KEY, TASK_ID};
use super::fields::{FieldErrors, required_text, start, to_add_command, to_task_changes};
use super::tasks::resolve_task;
use super::{
    AcceptChecks, AnswerTask, ApproveTask, Cancel, CopyTask, Edit, Move, NewTask, Reject,
    ReopenTask, Task,
};
use crate::http::SharedState;
use crate::http::auth::AuthenticatedCaller;
use crate::http::idempotency::{ExecutedRequest, send_request};
use crate::http::operation::{ApiOperation, ApiParameter, ApiResponse, ApiRoute};
use crate::http::problem::{ApiProblem, status_of};

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::post("/v1/tasks", "tasks", "create", create)
            .summary("Creates a task.")
            .parameters([IDEMPOTENCY_KEY])
            .with_request_type::<NewTask>()
            .response("201", ApiResponse::json::<Task>("The new task.")),
        ApiRoute::patch("/v1/tasks/{id}", "tasks", "edit", edit)
            .summary("Changes fields or the body of a task.")
            .parameters([TASK_ID])
            .with_request_type::<Edit>()
            .with_response_type::<Task>("The task after the change."),
        ApiRoute::post("/v1/tasks/{id}/move", "tasks", "move_to", move_to)
            .summary("Moves a task to another status.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .with_request_type::<Move>()
            .with_response_type::<Task>("The task after the change."),
        ApiRoute::post("/v1/tasks/{id}/approve", "tasks", "approve", approve)
            .summary("Approves a task in review.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .with_request_type::<ApproveTask>()
            .with_response_type::<Task>("The task after the change."),
        ApiRoute::post("/v1/tasks/{id}/checks/accept", "tasks", "accept_checks", accept_checks)
            .summary("Accepts the checks in the file of a task, which no command wrote.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .with_request_type::<AcceptChecks>()
            .with_response_type::<Task>("The task after the change."),
        ApiRoute::post("/v1/tasks/{id}/reject", "tasks", "reject", reject)
            .summary("Rejects a task in review: an agent works on it again.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .with_request_type::<Reject>()
            .with_response_type::<Task>("The task after the change."),
        ApiRoute::post("/v1/tasks/{id}/answer", "tasks", "answer", answer)
            .summary("Answers the question that a task is blocked on.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .with_request_type::<AnswerTask>()
            .with_response_type::<Task>("The task after the change."),
        ApiRoute::post("/v1/tasks/{id}/retry", "tasks", "retry", retry)
            .summary("Retries a task that is blocked or in the dead-letter queue.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .with_response_type::<Task>("The task after the change."),
        ApiRoute::post("/v1/tasks/{id}/cancel", "tasks", "cancel", cancel)
            .summary("Cancels a task.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .with_request_type::<Cancel>()
            .with_response_type::<Task>("The task after the change."),
        ApiRoute::post("/v1/tasks/{id}/reopen", "tasks", "reopen_task", reopen)
            .summary("Returns a cancelled task to the backlog.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .with_request_type::<ReopenTask>()
            .with_response_type::<Task>("The task after the change."),
        ApiRoute::post("/v1/tasks/{id}/copy", "tasks", "copy_task", copy)
            .summary("Creates a task with the content of this one, without its history.")
            .parameters([TASK_ID, IDEMPOTENCY_KEY])
            .with_request_type::<CopyTask>()
            .with_response_type::<Task>("The new task."),
        ApiRoute::post(
            "/v1/tasks/{id}/salvage/{name}/apply",
            "inbox",
            "apply_salvage",
            apply_salvage,
        )
        .summary("Applies a report that arrived too late.")
        .parameters([
            TASK_ID,
            ApiParameter::path("name", "The name of the report, as in the inbox"),
            IDEMPOTENCY_KEY,
        ])
        .with_response_type::<Task>("The task after the change."),
    ]
}

async fn create(call: ApiCall) -> Result<Response, ApiProblem> {
    let command = to_add_command(&call.app, call.json()?).await?;
    let key = call.key("/v1/tasks")?;
    let work = async {
        let done = send_command(&call.app, &call.who, key.as_ref(), command).await?;
        let (id, mut response) = task_response(&call.app, &done).await?;
        *response.status_mut() = StatusCode::CREATED;
        if let Ok(place) = HeaderValue::from_str(&format!("/v1/tasks/{id}")) {
            response.headers_mut().insert(header::LOCATION, place);
        }
        Ok(response)
    };
    call.execute_once(key.as_ref(), work).await
}

async fn edit(call: ApiCall) -> Result<Response, ApiProblem> {
    let edit: Edit = call.json()?;
    let id = resolve_task(&call.app, &call.who, call.path_param("id"), &Method::PATCH).await?;
    let changes = Box::new(to_task_changes(&call.app, edit).await?);
    let done = send_command(&call.app, &call.who, None, Command::Edit { id, changes }).await?;
    Ok(task_response(&call.app, &done).await?.1)
}

async fn move_to(call: ApiCall) -> Result<Response, ApiProblem> {
    let Move { to, reason } = call.json()?;
    let mut wrong = FieldErrors::default();
    let to = wrong.required("to", to, |text| {
        let all = Status::ALL.map(Status::as_str).join(", ");
        Status::parse(text).ok_or(format!("must be one of: {all}"))
    });
    wrong.check()?;
    let Some(to) = to else { return Err(ApiProblem::internal_error()) };
    let reason = reason.unwrap_or_default();
    call.send_command("move", |id| Command::Move { id, to, reason }).await
}

async fn approve(call: ApiCall) -> Result<Response, ApiProblem> {
    let ApproveTask { note, allow_protected } = call.json()?;
    let note = note.unwrap_or_default();
    let command = |id| {
        if allow_protected {
            Command::ApproveProtected { id, note }
        } else {
            Command::Approve { id, note }
        }
    };
    call.send_command("approve", command).await
}

async fn accept_checks(call: ApiCall) -> Result<Response, ApiProblem> {
    let AcceptChecks { checks } = call.json()?;
    call.send_command("checks/accept", |id| Command::AcceptChecks { id, checks }).await
}

async fn reject(call: ApiCall) -> Result<Response, ApiProblem> {
    let Reject { reason } = call.json()?;
    let reason = required_text("reason", reason)?;
    call.send_command("reject", |id| Command::Reject { id, reason }).await
}

async fn answer(call: ApiCall) -> Result<Response, ApiProblem> {
    let AnswerTask { text } = call.json()?;
    let text = required_text("text", text)?;
    call.send_command("answer", |id| Command::Answer { id, text }).await
}

async fn retry(call: ApiCall) -> Result<Response, ApiProblem> {
    call.send_command("retry", |id| Command::Retry { id }).await
}

async fn cancel(call: ApiCall) -> Result<Response, ApiProblem> {
    let Cancel { reason } = call.json()?;
    let reason = reason.unwrap_or_default();
    call.send_command("cancel", |id| Command::Cancel { id, reason }).await
}

async fn reopen(call: ApiCall) -> Result<Response, ApiProblem> {
    let ReopenTask { reason } = call.json()?;
    let reason = reason.unwrap_or_default();
    call.send_command("reopen", |id| Command::Reopen { id, reason }).await
}

async fn copy(call: ApiCall) -> Result<Response, ApiProblem> {
    let CopyTask { status } = call.json()?;
    let mut wrong = FieldErrors::default();
    let start = wrong.optional("status", status, start).unwrap_or_default();
    wrong.check()?;
    call.send_command("copy", |id| Command::Copy { id, start, content: None }).await
}

async fn apply_salvage(call: ApiCall) -> Result<Response, ApiProblem> {
    let name = call.path_param("name");
    let operation = format!("salvage/{name}/apply");
    call.send_command(&operation, |id| Command::ApplySalvage { id, name, text: None }).await
}

impl ApiCall {
    /// Executes a command on the task in the path, once, and returns the task as it is afterwards.
    async fn send_command(
        &self,
        operation: &str,
        command: impl FnOnce(TaskId) -> Command,
    ) -> Result<Response, ApiProblem> {
        let text = self.path_param("id");
        let id = match &self.who {
            AuthenticatedCaller::Operator(_) => {
                resolve_task(&self.app, &self.who, text, &Method::POST).await?
            }
            // The engine's rules refuse what a run may not do, and log that.
            AuthenticatedCaller::Run(_) => {
                self.app.with_project(move |project| project.queries.resolve_task(&text)).await?
            }
        };
        let key = self.key(&format!("/v1/tasks/{id}/{operation}"))?;
        let work = async {
            let done = send_command(&self.app, &self.who, key.as_ref(), command(id)).await?;
            Ok(task_response(&self.app, &done).await?.1)
        };
        self.execute_once(key.as_ref(), work).await
    }
}

/// Executes a command; a refusal becomes a problem.
async fn send_command(
    app: &SharedState,
    who: &AuthenticatedCaller,
    key: Option<&IdempotencyKey>,
    command: Command,
) -> Result<ExecutedRequest, ApiProblem> {
    let request = EngineRequest::command(who.to_caller(), command);
    require_accepted(send_request(app, key, request).await?)
}

fn require_accepted(done: ExecutedRequest) -> Result<ExecutedRequest, ApiProblem> {
    if !done.is_refused() {
        return Ok(done);
    }
    let reason = done.answer.reason.unwrap_or(Reason::InvalidArgument);
    let mut problem = ApiProblem::new(
        status_of(reason.as_str(), FailureKind::Refused),
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

/// Returns the task that a command was about.
async fn task_response(
    app: &SharedState,
    done: &ExecutedRequest,
) -> Result<(TaskId, Response), ApiProblem> {
    let id = done.answer.task.clone().ok_or_else(ApiProblem::internal_error)?;
    let own = id.clone();
    let task = app.with_project(move |project| project.queries.task(&own)).await?;
    Ok((id, Json(task.with_warnings(&done.answer.warnings)).into_response()))
}
