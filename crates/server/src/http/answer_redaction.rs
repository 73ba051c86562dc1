//! Redacts the secrets of Adjutant in answers: whatever a file or a repository contains, no answer
//! has the operator's token, a sign-in code or a secret of the configuration.
//!
//! Answers that are streamed are left as they are: they have events and output of runs, which were
//! redacted before they were stored.

use adjutant_config::redact::RedactionScope;
use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::SharedState;
use super::problem::ApiProblem;

pub(super) async fn redact_answer(
    State(app): State<SharedState>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    if response.body().size_hint().exact().is_none_or(|length| length == 0) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return ApiProblem::internal_error().into_response();
    };
    // The token of a run may be in the answer to the caller that was given the run.
    match app.project.redactor.redact_bytes(&bytes, RedactionScope::KnownValues) {
        Some((redacted, _)) => {
            parts.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(parts, Body::from(redacted))
        }
        None => Response::from_parts(parts, Body::from(bytes)),
    }
}
