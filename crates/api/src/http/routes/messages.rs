//! Messages of any dialect, and signs of life.

use adjutant_core::answer::Reason;
use adjutant_core::{Actor, EventId};
use adjutant_runtime::shim::files::Folder;
use adjutant_runtime::{Request, supervisor};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Answer;
use super::call::IDEMPOTENCY_KEY;
use super::tasks::named;
use crate::http::App;
use crate::http::auth::Known;
use crate::http::body::Raw;
use crate::http::idempotency::{Done, Key, ask, once};
use crate::http::operation::{ApiBody, ApiOperation, ApiParameter, ApiRoute};
use crate::http::problem::Problem;
use crate::mcp::Bound;

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::post("/v1/messages", "messages", "send", send)
            .summary(
                "Takes in a message or document of any dialect, and says what became of it once \
                 that is durable. A message that is refused was judged all the same: the answer \
                 says so, with the status 200.",
            )
            .parameters([IDEMPOTENCY_KEY])
            .request(ApiBody::text("text/plain").described(
                "An envelope of AOF/1 or a line `AOF/1 {…}`, a mission or result in YAML or JSON, \
                 a `new_task` or an `attempt_completion`; of any content type",
            ))
            .returns::<Answer>(),
        ApiRoute::post("/v1/tasks/{id}/beat", "runs", "beat", beat)
            .summary("Gives a sign of life for the run that calls, which renews its lease.")
            .parameters([ApiParameter::path("id", "The task of the run")])
            .returns::<Answer>(),
    ]
}

async fn send(
    State(app): State<App>,
    who: Known,
    headers: HeaderMap,
    raw: Raw,
) -> Result<Response, Problem> {
    let key = Key::read(&headers, &who, "/v1/messages", &raw.bytes)?;
    let too_large = raw.is_too_large();
    let request = match &who {
        Known::Run(run) => {
            Request::FromRun { task: run.task.clone(), token: run.token.clone(), raw: raw.bytes }
        }
        Known::Operator(_) => Request::Message(raw.bytes),
    };
    if let Known::Run(run) = &who {
        touch(&app, run);
    }
    let call = async {
        let done = ask(&app, key.as_ref(), request).await?;
        if too_large {
            let mut problem = Problem::refused(Reason::PayloadTooLarge);
            problem.events = done.events;
            return Err(problem);
        }
        Ok(Json(answer(&done)).into_response())
    };
    Ok(once(&app, key.as_ref(), call).await)
}

/// Lets whoever looks after a run know that its agent is not idle, wherever it works.
fn touch(app: &App, run: &Bound) {
    let runs = app.office.root().join("runs").join(run.task.as_str());
    let _ = supervisor::touch(&Folder::at(&runs.join(format!("attempts/{}", run.attempt))));
}

/// Returns an answer as every channel gives it.
pub(super) fn answer(done: &Done) -> Value {
    let answer = &done.answer;
    let errors: Vec<String> = answer.problems.iter().map(ToString::to_string).collect();
    json!({
        "result": answer.verdict.as_str(),
        "reason": answer.reason.map(Reason::as_str),
        "taskId": answer.task.as_ref().map(adjutant_core::TaskId::as_str),
        "events": done.events,
        "status": answer.status.map(adjutant_core::Status::as_str),
        "errors": errors,
    })
}

async fn beat(
    State(app): State<App>,
    who: Known,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let task = named(&app, &who, id, &Method::POST).await?;
    let Known::Run(run) = who else {
        let title = "Only a run gives a sign of life; call it with the token of the run.";
        return Err(Problem::new(StatusCode::FORBIDDEN, "run_only", title));
    };
    touch(&app, &run);
    let request =
        Request::LifeSign { task, by: Actor::Agent(run.agent.clone()), token: run.token.clone() };
    let answered = app.office(move |office| office.ask(request)).await?;
    let events = answered.event_ids().map(|EventId(id)| id).collect();
    Ok(Json(answer(&Done { answer: answered.answer, events })).into_response())
}
