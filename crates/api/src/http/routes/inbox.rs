//! What waits for a person, and how it is settled, several at once if need be.

use adjutant_core::Command;
use adjutant_runtime::Request;
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::call::IDEMPOTENCY_KEY;
use super::fields::Wrong;
use super::messages::answer;
use super::{Action, Batch, InboxItem, Outcome};
use crate::http::App;
use crate::http::auth::{Known, Operator};
use crate::http::body::Raw;
use crate::http::idempotency::{Key, ask_all, once};
use crate::http::operation::{ApiOperation, ApiRoute};
use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::office::Office;

/// The most that is settled at once.
const ACTIONS_MAX: usize = 100;

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::get("/v1/inbox", "inbox", "list", list)
            .summary("Lists everything that waits for a person.")
            .returns::<Vec<InboxItem>>(),
        ApiRoute::post("/v1/inbox", "inbox", "settle", settle)
            .summary(
                "Settles several things at once, in one commit. Each is judged for itself: that \
                 one is refused does not keep the others from being done.",
            )
            .parameters([IDEMPOTENCY_KEY])
            .takes::<Batch>()
            .returns::<Vec<Outcome>>(),
    ]
}

async fn list(
    State(app): State<App>,
    _: Operator,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    Params::read(query.as_deref(), &[]).check()?;
    Ok(Json(app.office(Office::inbox).await?))
}

async fn settle(
    State(app): State<App>,
    Operator(by): Operator,
    headers: HeaderMap,
    raw: Raw,
) -> Result<Response, Problem> {
    let Batch { actions } = raw.json(&app)?;
    let actions = actions.unwrap_or_default();
    let who = Known::Operator(by);
    let commands = read(&app, actions).await?;
    let key = Key::read(&headers, &who, "/v1/inbox", &raw.bytes)?;
    let call = async {
        let named: Vec<(String, String)> =
            commands.iter().map(|(action, id, _)| (action.clone(), id.clone())).collect();
        let requests = commands
            .into_iter()
            .map(|(_, _, command)| Request::Command { by: who.caller(), command })
            .collect();
        let done = ask_all(&app, key.as_ref(), requests).await?;
        let outcomes: Vec<Outcome> = named
            .into_iter()
            .zip(&done)
            .map(|((action, task_id), done)| Outcome { action, task_id, answer: answer(done) })
            .collect();
        Ok(Json(outcomes).into_response())
    };
    Ok(once(&app, key.as_ref(), call).await)
}

/// Reads what is to be done, all of it before any of it is done.
async fn read(app: &App, actions: Vec<Action>) -> Result<Vec<(String, String, Command)>, Problem> {
    let mut wrong = Wrong::default();
    if actions.is_empty() || actions.len() > ACTIONS_MAX {
        wrong.push(format!("actions: there must be 1 to {ACTIONS_MAX}"));
    }
    let mut commands = Vec::new();
    for (n, action) in actions.into_iter().take(ACTIONS_MAX).enumerate() {
        match one(app, action).await {
            Ok(command) => commands.push(command),
            Err(errors) => {
                for error in errors {
                    wrong.push(format!("actions[{n}].{error}"));
                }
            }
        }
    }
    wrong.check()?;
    Ok(commands)
}

async fn one(app: &App, action: Action) -> Result<(String, String, Command), Vec<String>> {
    let Action { action, task_id, note, reason, text, name } = action;
    let required = |key: &str| vec![format!("{key}: is required")];
    let named = task_id.ok_or_else(|| required("taskId"))?;
    let shown = named.clone();
    let id = app.office(move |office| office.known(&named)).await;
    let id = id.map_err(|problem| vec![format!("taskId: {}", problem.detail)])?;
    let word = action.ok_or_else(|| required("action"))?;
    let command = match word.as_str() {
        "approve" => Command::Approve { id, note: note.unwrap_or_default() },
        "reject" => Command::Reject { id, reason: reason.ok_or_else(|| required("reason"))? },
        "answer" => Command::Answer { id, text: text.ok_or_else(|| required("text"))? },
        "retry" => Command::Retry { id },
        "cancel" => Command::Cancel { id, reason: reason.unwrap_or_default() },
        "apply" => {
            let name = name.ok_or_else(|| required("name"))?;
            Command::ApplySalvage { id, name, text: None }
        }
        other => {
            let all = "approve, reject, answer, retry, cancel, apply";
            return Err(vec![format!("action: {other:?} must be one of: {all}")]);
        }
    };
    Ok((word, shown, command))
}
