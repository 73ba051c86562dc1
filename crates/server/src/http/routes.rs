//! The router: all paths and their handlers.

mod agents;
mod bodies;
mod call;
mod commands;
mod events;
mod fields;
mod health;
mod inbox;
mod messages;
pub(super) mod stories;
mod tasks;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{any, get, post};
use bodies::{
    AcceptChecks, Action, AnswerTask, ApproveTask, AutoStory, Batch, BrokenStep, Cancel, CopyTask,
    Edit, Event, Move, NewStory, NewTask, Note, Outcome, Reject, RejectStory, ReopenTask, Story,
    Task, ToStep,
};

use super::operation::ApiOperation;
use super::problem::ApiProblem;
use super::{SharedState, answer_redaction, login, mcp, metrics, openapi, pages, request_checks};

pub(super) fn operations() -> impl Iterator<Item = ApiOperation> {
    [
        health::operations(),
        agents::operations(),
        stories::operations(),
        inbox::operations(),
        events::operations(),
        messages::operations(),
        tasks::operations(),
        commands::operations(),
    ]
    .into_iter()
    .flatten()
}

/// Returns the router: the operations, and the paths that the `OpenAPI` document does not describe
/// (the board, login, metrics, MCP and the document itself).
pub(super) fn router(app: SharedState) -> Router {
    operations()
        .fold(Router::new(), |router, operation| operation.add_route(router))
        .route("/v1/openapi.json", get(openapi::show))
        .merge(pages::router())
        .route("/metrics", get(metrics::show))
        .route("/login", get(login::sign_in_by_link).post(login::sign_in_by_token))
        .route("/logout", post(login::sign_out))
        .route(mcp::PATH, any(mcp::call))
        .fallback(path_not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(app.clone(), request_checks::check_request))
        .layer(from_fn_with_state(app.clone(), answer_redaction::redact_answer))
        .with_state(app)
}

async fn path_not_found() -> ApiProblem {
    ApiProblem::not_found("nothing is served at this path")
}

async fn method_not_allowed() -> ApiProblem {
    ApiProblem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "Method not allowed.")
}
