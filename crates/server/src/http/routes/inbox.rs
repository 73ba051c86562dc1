//! The inbox: lists what needs a person, and executes several decisions at once.

use adjutant_engine::EngineRequest;
use adjutant_model::Command;
use adjutant_query::inbox::InboxItem;
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};

use super::call::IDEMPOTENCY_KEY;
use super::fields::FieldErrors;
use super::{Action, Batch, Outcome};
use crate::http::SharedState;
use crate::http::auth::{AuthenticatedCaller, OperatorCaller};
use crate::http::body::RequestBody;
use crate::http::idempotency::{execute_once, read_key, send_requests};
use crate::http::operation::{ApiOperation, ApiRoute};
use crate::http::params::QueryParams;
use crate::http::problem::ApiProblem;

const ACTIONS_MAX: usize = 100;

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::get("/v1/inbox", "inbox", "list_inbox", list)
            .summary("Lists everything that needs a person.")
            .with_response_type::<Vec<InboxItem>>("The items of the inbox."),
        ApiRoute::post("/v1/inbox", "inbox", "settle", settle)
            .summary(
                "Performs several actions in one commit. Each is decided separately: if one is \
                 rejected, the others are still performed.",
            )
            .parameters([IDEMPOTENCY_KEY])
            .with_request_type::<Batch>()
            .with_response_type::<Vec<Outcome>>("The result of each action, in order."),
    ]
}

async fn list(
    State(app): State<SharedState>,
    _: OperatorCaller,
    RawQuery(query): RawQuery,
) -> Result<Json<Vec<InboxItem>>, ApiProblem> {
    QueryParams::parse(query.as_deref(), &[]).check()?;
    Ok(Json(app.with_project(|project| project.queries.inbox()).await?))
}

async fn settle(
    State(app): State<SharedState>,
    OperatorCaller(by): OperatorCaller,
    headers: HeaderMap,
    raw: RequestBody,
) -> Result<Response, ApiProblem> {
    let Batch { actions } = raw.json(&app)?;
    let actions = actions.unwrap_or_default();
    let who = AuthenticatedCaller::Operator(by);
    let commands = read_actions(&app, actions).await?;
    let key = read_key(&headers, &who, "/v1/inbox", &raw.bytes)?;
    let call = async {
        let named: Vec<(String, String)> =
            commands.iter().map(|(action, id, _)| (action.clone(), id.clone())).collect();
        let requests = commands
            .into_iter()
            .map(|(_, _, command)| EngineRequest::command(who.to_caller(), command))
            .collect();
        let done = send_requests(&app, key.as_ref(), requests).await?;
        let outcomes: Vec<Outcome> = named
            .into_iter()
            .zip(&done)
            .map(|((action, task_id), done)| Outcome { action, task_id, answer: done.view() })
            .collect();
        Ok(Json(outcomes).into_response())
    };
    Ok(execute_once(&app, key.as_ref(), call).await)
}

/// Validates all actions before any of them is executed.
async fn read_actions(
    app: &SharedState,
    actions: Vec<Action>,
) -> Result<Vec<(String, String, Command)>, ApiProblem> {
    let mut wrong = FieldErrors::default();
    if actions.is_empty() || actions.len() > ACTIONS_MAX {
        wrong.push(format!("actions: must have 1 to {ACTIONS_MAX} entries"));
    }
    let mut commands = Vec::new();
    for (n, action) in actions.into_iter().take(ACTIONS_MAX).enumerate() {
        match read_action(app, action).await {
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

async fn read_action(
    app: &SharedState,
    action: Action,
) -> Result<(String, String, Command), Vec<String>> {
    let Action { action, task_id, note, allow_protected, reason, text, name } = action;
    let required = |key: &str| vec![format!("{key}: is required")];
    let named = task_id.ok_or_else(|| required("taskId"))?;
    let shown = named.clone();
    let id = app.with_project(move |project| project.queries.resolve_task(&named)).await;
    let id = id.map_err(|problem| vec![format!("taskId: {}", problem.detail)])?;
    let word = action.ok_or_else(|| required("action"))?;
    let command = match word.as_str() {
        "approve" if allow_protected => {
            Command::ApproveProtected { id, note: note.unwrap_or_default() }
        }
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
