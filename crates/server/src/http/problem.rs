//! Error responses: `application/problem+json`.

use adjutant_model::answer::Reason;
use adjutant_query::failure::{CommandFailure, FailureKind};
use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

pub(super) const MEDIA_TYPE: &str = "application/problem+json";

/// An error response. Boxed to keep `Result` small.
#[derive(Debug, Clone)]
pub(super) struct ApiProblem(Box<ProblemDocument>);

/// An error: what was refused, why, and what to do next.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(super) struct ProblemDocument {
    /// The problem type as a URN: `urn:adjutant:problem:` followed by `code`.
    r#type: String,
    /// A short description of the problem type.
    pub(super) title: String,
    /// The HTTP status code.
    #[schemars(range(min = 400, max = 599))]
    status: u16,
    /// What was refused or failed, and why.
    pub(super) detail: String,
    /// The machine-readable code of the problem type.
    pub(super) code: String,
    /// Every error in the request, each with the field it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) errors: Vec<String>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
    /// The ids of the events that record it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) events: Vec<u64>,
    #[serde(skip)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiProblem {
    pub(super) fn new(status: StatusCode, code: &str, title: &str) -> Self {
        Self(Box::new(ProblemDocument {
            r#type: format!("urn:adjutant:problem:{code}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: title.to_owned(),
            code: code.to_owned(),
            errors: vec![],
            hint: None,
            events: vec![],
            headers: vec![],
        }))
    }

    /// A rule refused the request.
    pub(super) fn refused(reason: Reason) -> Self {
        Self::new(
            status_of(reason.as_str(), FailureKind::Refused),
            reason.as_str(),
            reason.meaning().trim(),
        )
    }

    /// The request has invalid fields; `errors` names each of them.
    pub(super) fn invalid(errors: Vec<String>) -> Self {
        let reason = Reason::InvalidArgument;
        let mut problem =
            Self::new(StatusCode::UNPROCESSABLE_ENTITY, reason.as_str(), reason.meaning().trim());
        problem.detail = errors.join("; ");
        problem.errors = errors;
        problem
    }

    /// The request is malformed.
    pub(super) fn bad_request(detail: impl Into<String>) -> Self {
        let problem = Self::new(StatusCode::BAD_REQUEST, "bad_request", "Bad request.");
        problem.with_detail(detail)
    }

    pub(super) fn not_found(detail: impl Into<String>) -> Self {
        let problem = Self::new(StatusCode::NOT_FOUND, "not_found", "Not found.");
        problem.with_detail(detail)
    }

    /// An internal error.
    pub(super) fn internal_error() -> Self {
        let title = "Internal error (this is a bug). Changes that were already confirmed are safe.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "bug", title)
    }

    #[must_use]
    pub(super) fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    #[must_use]
    pub(super) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl std::ops::Deref for ApiProblem {
    type Target = ProblemDocument;

    fn deref(&self) -> &ProblemDocument {
        &self.0
    }
}

impl std::ops::DerefMut for ApiProblem {
    fn deref_mut(&mut self) -> &mut ProblemDocument {
        &mut self.0
    }
}

/// Returns the HTTP status for an error code.
pub(super) fn status_of(code: &str, kind: FailureKind) -> StatusCode {
    match (code, kind) {
        ("task_not_found" | "no_log" | "salvage_not_found" | "story_not_found", _) => {
            StatusCode::NOT_FOUND
        }
        ("unauthenticated", _) => StatusCode::UNAUTHORIZED,
        (
            "foreign_host" | "foreign_origin" | "forged_request" | "not_your_task"
            | "operator_only",
            _,
        ) => StatusCode::FORBIDDEN,
        ("too_many_requests", _) => StatusCode::TOO_MANY_REQUESTS,
        ("too_slow", _) => StatusCode::REQUEST_TIMEOUT,
        ("payload_too_large", _) => StatusCode::PAYLOAD_TOO_LARGE,
        (
            "invalid_argument" | "parent_not_found" | "dependency_not_found" | "dependency_cycle",
            _,
        )
        | (_, FailureKind::Usage) => StatusCode::UNPROCESSABLE_ENTITY,
        ("disk_full", _) => StatusCode::INSUFFICIENT_STORAGE,
        ("stopped" | "newer_format", _) => StatusCode::SERVICE_UNAVAILABLE,
        (_, FailureKind::Refused | FailureKind::OutputClosed) => StatusCode::CONFLICT,
        (_, FailureKind::Broken) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<CommandFailure> for ApiProblem {
    fn from(failure: CommandFailure) -> Self {
        let CommandFailure { kind, code, message, causes, hint } = failure;
        let title = Reason::parse(code).map_or(message.as_str(), |reason| reason.meaning().trim());
        let mut problem = Self::new(status_of(code, kind), code, title);
        let words = std::iter::once(message.clone()).chain(causes.iter().cloned());
        problem.detail = words.collect::<Vec<_>>().join(": ");
        problem.errors = causes;
        problem.hint = hint;
        problem
    }
}

impl IntoResponse for ApiProblem {
    fn into_response(mut self) -> Response {
        let headers = std::mem::take(&mut self.headers);
        let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE))];
        let mut response = (self.status(), kind, Json(&*self.0)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        response.headers_mut().extend(headers);
        // A browser gets a page made from it (see `request_checks::to_error_page`).
        response.extensions_mut().insert(*self.0);
        response
    }
}
