//! Messages of every dialect, and heartbeats.

use adjutant_engine::{EngineRequest, Request};
use adjutant_model::Actor;
use adjutant_model::answer::{AnswerDocument, Reason};
use adjutant_model::request::MessageOrigin;
use adjutant_query::RunCredentials;
use adjutant_query::answer::answer_document;
use adjutant_run_files::attempt_files::AttemptFolder;
use adjutant_runs::supervisor;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};

use super::call::IDEMPOTENCY_KEY;
use super::tasks::resolve_task;
use crate::http::SharedState;
use crate::http::auth::AuthenticatedCaller;
use crate::http::body::RequestBody;
use crate::http::idempotency::{execute_once, read_key, send_request};
use crate::http::operation::{ApiOperation, ApiParameter, ApiRoute};
use crate::http::problem::ApiProblem;

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::post("/v1/messages", "messages", "send", send)
            .summary(
                "Submits a message or document of any dialect. The response is sent when the \
                 result is durable. A rejected message also has the status 200: see `result`.",
            )
            .parameters([IDEMPOTENCY_KEY])
            .with_request_bytes(
                "An AOF/1 envelope or a line `AOF/1 {…}`, a mission or result in YAML or JSON, a \
                 `new_task` or an `attempt_completion`. Any content type is accepted.",
            )
            .with_response_type::<AnswerDocument>("The result of the message."),
        ApiRoute::post("/v1/tasks/{id}/beat", "runs", "beat", beat)
            .summary("Sends a heartbeat for the calling run, which extends its lease.")
            .parameters([ApiParameter::path("id", "The task of the run")])
            .with_response_type::<AnswerDocument>("The result of the heartbeat."),
    ]
}

async fn send(
    State(app): State<SharedState>,
    who: AuthenticatedCaller,
    headers: HeaderMap,
    raw: RequestBody,
) -> Result<Response, ApiProblem> {
    let key = read_key(&headers, &who, "/v1/messages", &raw.bytes)?;
    let too_large = raw.is_too_large();
    let request = match &who {
        AuthenticatedCaller::Run(run) => {
            let (task, token) = (run.task.clone(), run.token.clone());
            let origin = MessageOrigin::RunConnection { task, token };
            Request::Message { origin, text: raw.bytes }.into()
        }
        AuthenticatedCaller::Operator(_) => EngineRequest::message(raw.bytes),
    };
    if let AuthenticatedCaller::Run(run) = &who {
        mark_active(&app, run);
    }
    let call = async {
        let done = send_request(&app, key.as_ref(), request).await?;
        if too_large {
            let mut problem = ApiProblem::refused(Reason::PayloadTooLarge);
            problem.events = done.events;
            return Err(problem);
        }
        Ok(Json(done.view()).into_response())
    };
    Ok(execute_once(&app, key.as_ref(), call).await)
}

/// Tells the run's shim that its agent is not idle, whichever channel the agent uses.
fn mark_active(app: &SharedState, run: &RunCredentials) {
    let runs = app.project.queries.root().join("runs").join(run.task.as_str());
    let _ = supervisor::report_heartbeat(&AttemptFolder::new(
        &runs.join(format!("attempts/{}", run.attempt)),
    ));
}

async fn beat(
    State(app): State<SharedState>,
    who: AuthenticatedCaller,
    Path(id): Path<String>,
) -> Result<Response, ApiProblem> {
    let task = resolve_task(&app, &who, id, &Method::POST).await?;
    let AuthenticatedCaller::Run(run) = who else {
        let title = "Only a run can send a heartbeat: use the token of the run.";
        return Err(ApiProblem::new(StatusCode::FORBIDDEN, "run_only", title));
    };
    mark_active(&app, &run);
    let request =
        Request::LifeSign { task, by: Actor::Agent(run.agent.clone()), token: run.token.clone() };
    let answered = app.with_project(move |project| project.ask(request.into())).await?;
    Ok(Json(answer_document(&answered)).into_response())
}
