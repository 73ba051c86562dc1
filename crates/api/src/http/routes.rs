//! Every path there is, and who attends to it.

pub(super) mod agents;
mod call;
pub(super) mod commands;
pub(super) mod events;
mod fields;
pub(super) mod health;
pub(super) mod inbox;
pub(super) mod messages;
pub(super) mod stories;
pub(super) mod tasks;
mod wire;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{any, get, post};

use super::problem::Problem;
use super::{App, gate, login, mcp, metrics, openapi, pages};

pub(super) use wire::{
    Action, Agents, AnswerTask, AutoStory, Batch, BrokenStep, Cancel, Edit, Move, NewStory,
    NewTask, Note, Outcome, Reject, RejectStory, ToStep,
};
pub(super) use wire::{Answer, Event, InboxItem, Run, Status, Story, Task, Why};

/// Returns what attends to every path.
pub(super) fn router(app: App) -> Router {
    let v1 = Router::new()
        .route("/openapi.json", get(openapi::show))
        .route("/status", get(agents::status))
        .route("/agents", get(agents::agents))
        .route("/runs", get(agents::runs))
        .route("/stories", get(stories::list).post(stories::start))
        .route("/stories/{id}", get(stories::show))
        .route("/stories/{id}/prompt", get(stories::prompt))
        .route("/stories/{id}/next", post(stories::next))
        .route("/stories/{id}/approve", post(stories::approve))
        .route("/stories/{id}/reject", post(stories::reject))
        .route("/stories/{id}/rollback", post(stories::rollback))
        .route("/stories/{id}/reopen", post(stories::reopen))
        .route("/stories/{id}/auto", post(stories::auto))
        .route("/stories/{id}/hook", post(stories::hook))
        .route("/stories/{id}/report-error", post(stories::report_error))
        .route("/inbox", get(inbox::list).post(inbox::settle))
        .route("/events", get(events::list))
        .route("/events/stream", get(events::stream))
        .route("/messages", post(messages::send))
        .route("/tasks", get(tasks::list).post(commands::create))
        .route("/tasks/{id}", get(tasks::show).patch(commands::edit))
        .route("/tasks/{id}/why", get(tasks::why))
        .route("/tasks/{id}/runs", get(tasks::runs))
        .route("/tasks/{id}/log", get(tasks::log))
        .route("/tasks/{id}/events", get(events::of_task))
        .route("/tasks/{id}/move", post(commands::move_to))
        .route("/tasks/{id}/approve", post(commands::approve))
        .route("/tasks/{id}/reject", post(commands::reject))
        .route("/tasks/{id}/answer", post(commands::answer))
        .route("/tasks/{id}/retry", post(commands::retry))
        .route("/tasks/{id}/cancel", post(commands::cancel))
        .route("/tasks/{id}/beat", post(messages::beat))
        .route("/tasks/{id}/salvage/{name}/apply", post(commands::apply_salvage));
    Router::new()
        .nest("/v1", v1)
        .merge(pages::router())
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
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
