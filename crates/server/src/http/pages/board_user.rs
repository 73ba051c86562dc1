//! The signed-in operator who uses the board, and the forms that it submits. Anonymous visitors are
//! sent to the sign-in page, and from there to the page they asked for.

use adjutant_model::actor::Actor;
use adjutant_model::answer::Reason;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::http::SharedState;
use crate::http::auth::{CallerIdentity, OperatorSession};
use crate::http::body::RequestBody;
use crate::http::local_path::LocalPath;
use crate::http::problem::ApiProblem;
use crate::http::refusal_log::CallDescription;

pub(super) struct BoardUser {
    pub(super) actor: Actor,
    /// Whether a cookie identifies the user, and not the token.
    pub(super) has_session: bool,
}

impl FromRequestParts<SharedState> for BoardUser {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &SharedState) -> Result<Self, Response> {
        let who =
            parts.extensions.get::<CallerIdentity>().cloned().unwrap_or(CallerIdentity::Anonymous);
        let attempt = CallDescription::from_parts(parts);
        let has_session = match &who {
            CallerIdentity::Operator(OperatorSession::Token) => false,
            CallerIdentity::Operator(OperatorSession::Cookie(_)) => true,
            CallerIdentity::Anonymous if crate::http::request_checks::is_safe(&parts.method) => {
                let login = LocalPath::from_uri(&parts.uri).login_path();
                return Err(Redirect::to(&login).into_response());
            }
            CallerIdentity::Anonymous => {
                let refused = app.refuse(Reason::Unauthenticated, None, &attempt, "");
                return Err(refused.into_response());
            }
            CallerIdentity::Run(_) => {
                let refused = app.refuse(Reason::OperatorOnly, Some(&who), &attempt, "");
                return Err(refused.into_response());
            }
        };
        Ok(Self { actor: app.operator.clone(), has_session })
    }
}

/// Extracts the fields of a form that a page of this origin submitted: it carries the anti-forgery
/// token of the session, unless the caller has the operator's token.
pub(super) struct SignedForm<T>(pub(super) T);

#[derive(Deserialize)]
struct ProofField {
    #[serde(default)]
    csrf: String,
}

impl<T: DeserializeOwned> FromRequest<SharedState> for SignedForm<T> {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, app: &SharedState) -> Result<Self, ApiProblem> {
        let who = request.extensions().get::<CallerIdentity>().cloned();
        let attempt = CallDescription::from_request(&request);
        let body = RequestBody::from_request(request, app).await?;
        let proof: ProofField = body.form(app).await?;
        match &who {
            Some(CallerIdentity::Operator(OperatorSession::Token)) => {}
            Some(CallerIdentity::Operator(OperatorSession::Cookie(session)))
                if session.is_csrf_token(&proof.csrf) => {}
            who => return Err(app.refuse(Reason::ForgedRequest, who.as_ref(), &attempt, "")),
        }
        Ok(Self(body.form(app).await?))
    }
}
