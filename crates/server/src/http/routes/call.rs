//! A call that changes something: caller, path, headers and body.

use adjutant_model::request::IdempotencyKey;
use std::collections::HashMap;

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::de::DeserializeOwned;

use crate::http::SharedState;
use crate::http::auth::AuthenticatedCaller;
use crate::http::body::RequestBody;
use crate::http::idempotency::{execute_once, read_key};
use crate::http::operation::ApiParameter;
use crate::http::problem::ApiProblem;

pub(super) const TASK_ID: ApiParameter =
    ApiParameter::path("id", "The task id, or an alias of it such as a foreign id");

pub(super) const STORY_ID: ApiParameter = ApiParameter::path("id", "The story id, such as US-005");

pub(super) const IDEMPOTENCY_KEY: ApiParameter = ApiParameter::header::<String>(
    "Idempotency-Key",
    "A repeated request with the same key is performed once and gets the same response",
);

pub(in crate::http) struct ApiCall {
    pub(super) app: SharedState,
    pub(super) who: AuthenticatedCaller,
    path_params: HashMap<String, String>,
    headers: HeaderMap,
    body: RequestBody,
}

impl FromRequest<SharedState> for ApiCall {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, app: &SharedState) -> Result<Self, ApiProblem> {
        let (mut parts, body) = request.into_parts();
        let who = <AuthenticatedCaller as FromRequestParts<SharedState>>::from_request_parts(
            &mut parts, app,
        )
        .await?;
        let named = Path::from_request_parts(&mut parts, app).await;
        let Path(named) = named.map_err(|bad| ApiProblem::bad_request(bad.body_text()))?;
        let headers = parts.headers.clone();
        let raw = RequestBody::from_request(Request::from_parts(parts, body), app).await?;
        Ok(Self { app: app.clone(), who, path_params: named, headers, body: raw })
    }
}

impl ApiCall {
    /// Parses the body as JSON; an empty body counts as `{}`.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, ApiProblem> {
        self.body.json(&self.app)
    }

    /// Returns a path parameter.
    pub(super) fn path_param(&self, what: &str) -> String {
        self.path_params.get(what).cloned().unwrap_or_default()
    }

    /// Returns the idempotency key of a call to `path`, if it has one.
    pub(super) fn key(&self, path: &str) -> Result<Option<IdempotencyKey>, ApiProblem> {
        read_key(&self.headers, &self.who, path, &self.body.bytes)
    }

    /// Executes `work` once, even if the call is repeated under its key.
    pub(super) async fn execute_once<F: Future<Output = Result<Response, ApiProblem>>>(
        &self,
        key: Option<&IdempotencyKey>,
        work: F,
    ) -> Result<Response, ApiProblem> {
        Ok(execute_once(&self.app, key, work).await)
    }
}
