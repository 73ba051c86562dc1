//! The signed-in operator who uses the board. Anonymous visitors are redirected to
//! the sign-in page.

use adjutant_model::actor::Actor;
use adjutant_model::answer::Reason;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};

use crate::http::SharedState;
use crate::http::auth::{CallerIdentity, OperatorSession};
use crate::http::problem::ApiProblem;
use crate::http::refusal_log::CallDescription;

pub(super) struct BoardUser {
    pub(super) actor: Actor,
    /// The anti-forgery token that forms carry.
    pub(super) csrf_token: String,
    who: CallerIdentity,
    attempt: CallDescription,
}

impl BoardUser {
    /// Refuses a form that does not carry the anti-forgery token of this session.
    pub(super) fn check_csrf(&self, app: &SharedState, shown: &str) -> Result<(), ApiProblem> {
        match &self.who {
            CallerIdentity::Operator(OperatorSession::Token) => Ok(()),
            CallerIdentity::Operator(OperatorSession::Cookie(cookie))
                if cookie.is_csrf_token(shown) =>
            {
                Ok(())
            }
            who => Err(app.refuse(Reason::ForgedRequest, Some(who), &self.attempt, "")),
        }
    }
}

impl FromRequestParts<SharedState> for BoardUser {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &SharedState) -> Result<Self, Response> {
        let who =
            parts.extensions.get::<CallerIdentity>().cloned().unwrap_or(CallerIdentity::Anonymous);
        let attempt = CallDescription::from_parts(parts);
        let proof = match &who {
            CallerIdentity::Operator(OperatorSession::Token) => String::new(),
            CallerIdentity::Operator(OperatorSession::Cookie(cookie)) => cookie.csrf_token.clone(),
            CallerIdentity::Anonymous if crate::http::request_checks::is_safe(&parts.method) => {
                return Err(Redirect::to("/login").into_response());
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
        Ok(Self { actor: app.operator.clone(), csrf_token: proof, who, attempt })
    }
}
