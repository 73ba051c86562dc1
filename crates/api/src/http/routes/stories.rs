//! Where the stories of the project stand.

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use serde_json::Value;

use super::Story;
use crate::http::App;
use crate::http::auth::Operator;
use crate::http::params::Params;
use crate::http::problem::{Problem, Told};
use crate::office::Office;

/// Lists where every story stands.
#[utoipa::path(get, path = "/v1/stories", tag = "stories",
    responses((status = 200, body = Vec<Story>),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn list(
    State(app): State<App>,
    _: Operator,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    Params::read(query.as_deref(), &[]).check()?;
    Ok(Json(app.office(Office::stories).await?))
}

/// Says where a story stands.
#[utoipa::path(get, path = "/v1/stories/{id}", tag = "stories",
    params(("id" = String, Path, description = "The story, as US-005")),
    responses((status = 200, body = Story),
        (status = "default", body = Told, content_type = "application/problem+json")))]
pub(crate) async fn show(
    State(app): State<App>,
    _: Operator,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(app.office(move |office| office.story(&id)).await?))
}
