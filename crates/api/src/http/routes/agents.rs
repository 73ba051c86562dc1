//! How things stand: the daemon, its runs, and the agents.

use axum::Json;
use axum::extract::{RawQuery, State};
use serde_json::{Map, Value};

use super::{Agents, Status};
use crate::http::App;
use crate::http::auth::Operator;
use crate::http::operation::{ApiBody, ApiOperation, ApiRoute};
use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::office::Office;

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::get("/v1/status", "status", "status", status)
            .summary("Says what runs, and how many tasks stand where.")
            .returns::<Status>(),
        ApiRoute::get("/v1/runs", "runs", "runs", runs)
            .summary("Lists the runs there are.")
            .response(
                "200",
                ApiBody::json::<Vec<Map<String, Value>>>().described("As in the status"),
            ),
        ApiRoute::get("/v1/agents", "status", "agents", agents)
            .summary("Lists who is configured, and who is found on the machine.")
            .returns::<Agents>(),
    ]
}

async fn status(
    State(app): State<App>,
    _: Operator,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    Params::read(query.as_deref(), &[]).check()?;
    Ok(Json(app.office(Office::status).await?))
}

async fn runs(
    State(app): State<App>,
    _: Operator,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    Params::read(query.as_deref(), &[]).check()?;
    let mut status = app.office(Office::status).await?;
    Ok(Json(status["runs"].take()))
}

async fn agents(
    State(app): State<App>,
    _: Operator,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    Params::read(query.as_deref(), &[]).check()?;
    Ok(Json(app.office(Office::agents).await?))
}
