//! Whether the server is there, and whether it can do anything.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::http::App;
use crate::http::problem::{Problem, Told};
use crate::office::Office;

/// Says that the server is there.
#[utoipa::path(get, path = "/healthz", tag = "health", security(()),
    responses((status = 200, description = "It is there")))]
pub(crate) async fn alive() -> Json<serde_json::Value> {
    Json(json!({ "ok": true }))
}

/// Says whether the engine answers.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()),
    responses((status = 200, description = "It can work"),
        (status = "default", description = "It cannot work now", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn ready(State(app): State<App>) -> Response {
    match app.office(Office::ready).await {
        Ok(()) => Json(json!({ "ready": true })).into_response(),
        Err(problem) => {
            let title = "The engine cannot commit anything now.";
            let not = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", title);
            not.detail(problem.detail.clone()).into_response()
        }
    }
}
