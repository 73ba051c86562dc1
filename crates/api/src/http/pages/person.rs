//! The person who looks: an operator who signed in. Everybody else is shown how to.

use adjutant_core::answer::Reason;
use adjutant_core::name::Actor;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Redirect, Response};

use crate::http::App;
use crate::http::auth::{Session, Who};
use crate::http::problem::Problem;
use crate::http::refusals::Attempt;

/// A person who signed in.
pub(super) struct Person {
    /// Who it is.
    pub(super) by: Actor,
    /// What the forms of a page carry to prove that they are ours.
    pub(super) proof: String,
    who: Who,
    attempt: Attempt,
}

impl Person {
    /// Says whether a form came from a page of ours.
    pub(super) fn check(&self, app: &App, shown: &str) -> Result<(), Problem> {
        match &self.who {
            Who::Operator(Session::Token) => Ok(()),
            Who::Operator(Session::Cookie(cookie)) if cookie.proves(shown) => Ok(()),
            who => Err(app.refuse(Reason::ForgedRequest, Some(who), &self.attempt, "")),
        }
    }
}

impl FromRequestParts<App> for Person {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        let who = parts.extensions.get::<Who>().cloned().unwrap_or(Who::Nobody);
        let attempt = Attempt::of_parts(parts);
        let proof = match &who {
            Who::Operator(Session::Token) => String::new(),
            Who::Operator(Session::Cookie(cookie)) => cookie.proof.clone(),
            Who::Nobody if crate::http::gate::is_safe(&parts.method) => {
                return Err(Redirect::to("/login").into_response());
            }
            Who::Nobody => {
                let refused = app.refuse(Reason::Unauthenticated, None, &attempt, "");
                return Err(refused.into_response());
            }
            Who::Run(_) => {
                let refused = app.refuse(Reason::OperatorOnly, Some(&who), &attempt, "");
                return Err(refused.into_response());
            }
        };
        Ok(Self { by: app.operator.clone(), proof, who, attempt })
    }
}
