//! Status of the daemon, its runs and its agents.

use adjutant_query::agents::AgentsView;
use adjutant_query::status::{LeasedTask, StatusView};
use axum::Json;
use axum::extract::{RawQuery, State};

use crate::http::SharedState;
use crate::http::auth::OperatorCaller;
use crate::http::operation::{ApiOperation, ApiRoute};
use crate::http::params::QueryParams;
use crate::http::problem::ApiProblem;

pub(super) fn operations() -> Vec<ApiOperation> {
    vec![
        ApiRoute::get("/v1/status", "status", "status", status)
            .summary(
                "Returns the state of the daemon, its runs, and the number of tasks by status.",
            )
            .with_response_type::<StatusView>("The state."),
        ApiRoute::get("/v1/runs", "runs", "list_runs", runs)
            .summary("Lists the tasks that have a lease, as in the status.")
            .with_response_type::<Vec<LeasedTask>>("The tasks."),
        ApiRoute::get("/v1/agents", "status", "agents", agents)
            .summary(
                "Lists the configured agents, and those that are installed but not configured.",
            )
            .with_response_type::<AgentsView>("The agents."),
    ]
}

async fn status(
    State(app): State<SharedState>,
    _: OperatorCaller,
    RawQuery(query): RawQuery,
) -> Result<Json<StatusView>, ApiProblem> {
    QueryParams::parse(query.as_deref(), &[]).check()?;
    Ok(Json(app.with_project(|project| project.queries.status()).await?))
}

async fn runs(
    State(app): State<SharedState>,
    _: OperatorCaller,
    RawQuery(query): RawQuery,
) -> Result<Json<Vec<LeasedTask>>, ApiProblem> {
    QueryParams::parse(query.as_deref(), &[]).check()?;
    let status = app.with_project(|project| project.queries.status()).await?;
    Ok(Json(status.runs))
}

async fn agents(
    State(app): State<SharedState>,
    _: OperatorCaller,
    RawQuery(query): RawQuery,
) -> Result<Json<AgentsView>, ApiProblem> {
    QueryParams::parse(query.as_deref(), &[]).check()?;
    Ok(Json(app.with_project(|project| project.queries.agents()).await?))
}
