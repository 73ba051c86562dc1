//! How things stand: the daemon, its runs, and the agents.

use axum::Json;
use axum::extract::{RawQuery, State};
use serde_json::Value;

use super::{Agents, Status};
use crate::http::App;
use crate::http::auth::Operator;
use crate::http::params::Params;
use crate::http::problem::{Problem, Told};
use crate::office::Office;

/// Says what runs, and how many tasks stand where.
#[utoipa::path(get, path = "/v1/status", tag = "status",
    responses((status = 200, body = Status),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn status(
    State(app): State<App>,
    _: Operator,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    Params::read(query.as_deref(), &[]).check()?;
    Ok(Json(app.office(Office::status).await?))
}

/// Lists the runs there are.
#[utoipa::path(get, path = "/v1/runs", tag = "runs",
    responses((status = 200, body = Vec<Object>, description = "As in the status"),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn runs(
    State(app): State<App>,
    _: Operator,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    Params::read(query.as_deref(), &[]).check()?;
    let mut status = app.office(Office::status).await?;
    Ok(Json(status["runs"].take()))
}

/// Lists who is configured, and who is found on the machine.
#[utoipa::path(get, path = "/v1/agents", tag = "status",
    responses((status = 200, body = Agents),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn agents(
    State(app): State<App>,
    _: Operator,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    Params::read(query.as_deref(), &[]).check()?;
    Ok(Json(app.office(Office::agents).await?))
}
