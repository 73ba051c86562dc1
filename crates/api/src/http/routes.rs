//! Every path there is, and who attends to it.

mod agents;
mod call;
mod commands;
mod events;
mod fields;
mod health;
mod inbox;
mod messages;
pub(super) mod stories;
mod tasks;
mod wire;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{any, get, post};

use super::operation::ApiOperation;
use super::problem::Problem;
use super::{App, gate, login, mcp, metrics, openapi, pages};

use wire::{
    Action, Agents, AnswerTask, AutoStory, Batch, BrokenStep, Cancel, Edit, Move, NewStory,
    NewTask, Note, Outcome, Reject, RejectStory, ToStep,
};
use wire::{Answer, Event, InboxItem, Run, Status, StatusWord, Story, Task, Why};

/// Returns the operations of the HTTP interface.
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
pub(super) fn router(app: App) -> Router {
    operations()
        .fold(Router::new(), |router, operation| operation.add_route(router))
        .route("/v1/openapi.json", get(openapi::show))
        .merge(pages::router())
        .route("/metrics", get(metrics::show))
        .route("/login", get(login::link).post(login::token))
        .route("/logout", post(login::out))
        .route(mcp::PATH, any(mcp::call))
        .fallback(nowhere)
        .method_not_allowed_fallback(not_so)
        .layer(from_fn_with_state(app.clone(), gate::pass))
        .with_state(app)
}

async fn nowhere() -> Problem {
    Problem::not_found("there is nothing at this path")
}

async fn not_so() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "This cannot be done here.")
}
