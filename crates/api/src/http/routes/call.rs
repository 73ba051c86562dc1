//! A call that does something: who makes it, what its path names, and what it brings along.

use std::collections::HashMap;

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::de::DeserializeOwned;

use crate::http::App;
use crate::http::auth::Known;
use crate::http::body::Raw;
use crate::http::idempotency::{Key, once};
use crate::http::operation::ApiParameter;
use crate::http::problem::Problem;

pub(super) const TASK_ID: ApiParameter =
    ApiParameter::path("id", "Its id, or one that others know it by");

pub(super) const STORY_ID: ApiParameter = ApiParameter::path("id", "The story, as US-005");

pub(super) const IDEMPOTENCY_KEY: ApiParameter = ApiParameter::header::<String>(
    "Idempotency-Key",
    "The same key is done once, and answered alike",
);

/// A call that does something.
pub(in crate::http) struct Call {
    pub(super) app: App,
    pub(super) who: Known,
    named: HashMap<String, String>,
    headers: HeaderMap,
    raw: Raw,
}

impl FromRequest<App> for Call {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let who = <Known as FromRequestParts<App>>::from_request_parts(&mut parts, app).await?;
        let named = Path::from_request_parts(&mut parts, app).await;
        let Path(named) = named.map_err(|bad| Problem::bad_call(bad.body_text()))?;
        let headers = parts.headers.clone();
        let raw = Raw::from_request(Request::from_parts(parts, body), app).await?;
        Ok(Self { app: app.clone(), who, named, headers, raw })
    }
}

impl Call {
    /// Reads the document it brings along; nothing at all is an empty one.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        self.raw.json(&self.app)
    }

    /// Returns what its path names.
    pub(super) fn named(&self, what: &str) -> String {
        self.named.get(what).cloned().unwrap_or_default()
    }

    /// Returns its key, as one to this path.
    pub(super) fn key(&self, path: &str) -> Result<Option<Key>, Problem> {
        Key::read(&self.headers, &self.who, path, &self.raw.bytes)
    }

    /// Does something once, however often the call is made under its key.
    pub(super) async fn once<F: Future<Output = Result<Response, Problem>>>(
        &self,
        key: Option<&Key>,
        work: F,
    ) -> Result<Response, Problem> {
        Ok(once(&self.app, key, work).await)
    }
}
