//! What went wrong, as programs are told: `application/problem+json`.

use adjutant_core::answer::Reason;
use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::office::{Kind, Trouble};

/// The type of what says that something went wrong.
pub(super) const MEDIA_TYPE: &str = "application/problem+json";

/// What went wrong. Small, because it is handed from one to the other.
#[derive(Debug, Clone)]
pub(super) struct Problem(Box<Told>);

/// What went wrong: what was tried, why not, what to do.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(super) struct Told {
    /// Names the kind of problem; `code` with a prefix.
    r#type: String,
    /// What kind of problem it is, in words.
    pub(super) title: String,
    /// The status of the answer.
    #[schemars(range(min = 400, max = 599))]
    status: u16,
    /// What was tried, and why that cannot be.
    pub(super) detail: String,
    /// The word for it that programs rely on.
    pub(super) code: String,
    /// Every single thing that is wrong, with its place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(super) errors: Vec<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
    /// The events in the record that tell of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub(super) events: Vec<u64>,
    #[serde(skip)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// Says what went wrong.
    pub(super) fn new(status: StatusCode, code: &str, title: &str) -> Self {
        Self(Box::new(Told {
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

    /// Says that a rule said no.
    pub(super) fn refused(reason: Reason) -> Self {
        Self::new(
            status_of(reason.as_str(), Kind::Refused),
            reason.as_str(),
            reason.meaning().trim(),
        )
    }

    /// Says that what was asked for makes no sense, place by place.
    pub(super) fn invalid(errors: Vec<String>) -> Self {
        let reason = Reason::InvalidArgument;
        let mut problem =
            Self::new(StatusCode::UNPROCESSABLE_ENTITY, reason.as_str(), reason.meaning().trim());
        problem.detail = errors.join("; ");
        problem.errors = errors;
        problem
    }

    /// Says that the call itself is wrong.
    pub(super) fn bad_call(detail: impl Into<String>) -> Self {
        let problem = Self::new(StatusCode::BAD_REQUEST, "bad_request", "The call makes no sense.");
        problem.detail(detail)
    }

    /// Says that there is nothing of this name.
    pub(super) fn not_found(detail: impl Into<String>) -> Self {
        let problem = Self::new(StatusCode::NOT_FOUND, "not_found", "There is no such thing here.");
        problem.detail(detail)
    }

    /// Says that this program has a mistake in it.
    pub(super) fn bug() -> Self {
        let title = "Adjutant has a mistake in it; what was answered as applied is safe.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "bug", title)
    }

    /// Adds what exactly.
    #[must_use]
    pub(super) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// Adds a header.
    #[must_use]
    pub(super) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Returns the status of the answer.
    pub(super) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl std::ops::Deref for Problem {
    type Target = Told;

    fn deref(&self) -> &Told {
        &self.0
    }
}

impl std::ops::DerefMut for Problem {
    fn deref_mut(&mut self) -> &mut Told {
        &mut self.0
    }
}

/// Returns the status that goes with a code.
pub(super) fn status_of(code: &str, kind: Kind) -> StatusCode {
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
        | (_, Kind::Usage) => StatusCode::UNPROCESSABLE_ENTITY,
        ("disk_full", _) => StatusCode::INSUFFICIENT_STORAGE,
        ("stopped" | "newer_format", _) => StatusCode::SERVICE_UNAVAILABLE,
        (_, Kind::Refused) => StatusCode::CONFLICT,
        (_, Kind::Broken) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<Trouble> for Problem {
    fn from(trouble: Trouble) -> Self {
        let Trouble { kind, code, message, causes, hint } = trouble;
        let title = Reason::parse(&code).map_or(message.as_str(), |reason| reason.meaning().trim());
        let mut problem = Self::new(status_of(&code, kind), &code, title);
        let words = std::iter::once(message.clone()).chain(causes.iter().cloned());
        problem.detail = words.collect::<Vec<_>>().join(": ");
        problem.errors = causes;
        problem.hint = hint;
        problem
    }
}

impl IntoResponse for Problem {
    fn into_response(mut self) -> Response {
        let headers = std::mem::take(&mut self.headers);
        let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE))];
        let mut response = (self.status(), kind, Json(&*self.0)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        response.headers_mut().extend(headers);
        response
    }
}
