//! Whether the server is there, and whether it can do anything.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::http::App;
use crate::http::operation::{ApiBody, ApiOperation, ApiRoute};
use crate::http::problem::Problem;
use crate::office::Office;

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::get("/healthz", "health", "alive", alive)
            .summary("Says that the server is there.")
            .response("200", ApiBody::any("It is there"))
            .public(),
        ApiRoute::get("/readyz", "health", "ready", ready)
            .summary("Says whether the engine answers.")
            .response("200", ApiBody::any("It can work"))
            .response("default", ApiBody::problem().described("It cannot work now"))
            .public(),
    ]
}

async fn alive() -> Json<serde_json::Value> {
    Json(json!({ "ok": true }))
}

async fn ready(State(app): State<App>) -> Response {
    match app.office(Office::ready).await {
        Ok(()) => Json(json!({ "ready": true })).into_response(),
        Err(problem) => {
            let title = "The engine cannot commit anything now.";
            let not = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", title);
            not.detail(problem.detail.clone()).into_response()
        }
    }
}
