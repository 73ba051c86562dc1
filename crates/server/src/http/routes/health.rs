//! Health checks: whether the server runs, and whether the engine can commit.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::http::SharedState;
use crate::http::operation::{ApiOperation, ApiResponse, ApiRoute};
use crate::http::problem::ApiProblem;
use crate::project_access::ProjectAccess;

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::get("/healthz", "health", "alive", alive)
            .summary("Checks that the server is running.")
            .response("200", ApiResponse::any("The server is running."))
            .with_public_access(),
        ApiRoute::get("/readyz", "health", "ready", ready)
            .summary("Checks that the engine can commit.")
            .response("200", ApiResponse::any("The engine can commit."))
            .response("default", ApiResponse::problem("The engine cannot commit now."))
            .with_public_access(),
    ]
}

async fn alive() -> Json<serde_json::Value> {
    Json(json!({ "ok": true }))
}

async fn ready(State(app): State<SharedState>) -> Response {
    match app.with_project(ProjectAccess::check_ready).await {
        Ok(()) => Json(json!({ "ready": true })).into_response(),
        Err(problem) => {
            let title = "The engine cannot commit now.";
            let not = ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", title);
            not.with_detail(problem.detail.clone()).into_response()
        }
    }
}
