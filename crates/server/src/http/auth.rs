//! Identifies the caller: an operator by token or cookie, a run by its token, or
//! an anonymous caller.

use adjutant_model::TaskId;
use adjutant_model::actor::Actor;
use adjutant_model::answer::Reason;
use adjutant_model::command::CommandCaller;
use adjutant_query::RunCredentials;
use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};

use super::SharedState;
use super::problem::ApiProblem;
use super::refusal_log::CallDescription;
use super::request_checks::header_text;
use super::sessions::BrowserSession;

/// Names the task of a run's token, for tokens of runs that are no longer active.
const TASK_HEADER: &str = "adjutant-task";
/// Carries the anti-forgery token.
const CSRF_HEADER: &str = "x-csrf-token";

#[derive(Debug, Clone)]
pub(super) enum CallerIdentity {
    Anonymous,
    /// A person, or a program acting for one.
    Operator(OperatorSession),
    /// A run; it may act for no other run.
    Run(RunCredentials),
}

/// How an operator was authenticated.
#[derive(Debug, Clone)]
pub(super) enum OperatorSession {
    /// By the token, which a browser never sends on its own.
    Token,
    /// By a cookie, which a browser also sends for requests from foreign pages.
    Cookie(BrowserSession),
}

impl OperatorSession {
    /// Whether a call that changes something is protected against cross-site request forgery.
    pub(super) fn has_csrf_proof(&self, headers: &HeaderMap) -> bool {
        match self {
            Self::Token => true,
            Self::Cookie(session) => session.is_csrf_token(header_text(headers, CSRF_HEADER)),
        }
    }
}

/// Identifies the caller. An unknown token is an error; it does not make the caller anonymous.
pub(super) async fn identify_caller(
    app: &SharedState,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<CallerIdentity, Reason> {
    let mut all = headers.get_all("authorization").iter();
    let shown = all.next().map(|value| value.to_str().unwrap_or_default());
    if all.next().is_some() {
        return Err(Reason::Unauthenticated);
    }
    if let Some(shown) = shown {
        return identify_by_token(app, shown, uri, headers).await;
    }
    let session = app.sessions.find(&app.token, headers, app.project.queries.now());
    Ok(session.map_or(CallerIdentity::Anonymous, |session| {
        CallerIdentity::Operator(OperatorSession::Cookie(session))
    }))
}

async fn identify_by_token(
    app: &SharedState,
    shown: &str,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<CallerIdentity, Reason> {
    let (scheme, token) = shown.split_once(' ').unwrap_or_default();
    let token = token.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() || token.len() > 4096 {
        return count_failure(app);
    }
    if app.token.matches(token) {
        return Ok(CallerIdentity::Operator(OperatorSession::Token));
    }
    let hint = TaskId::parse(header_text(headers, TASK_HEADER)).ok().or_else(|| task_in_path(uri));
    let token = token.to_owned();
    let found =
        app.with_project(move |project| project.queries.run_by_token(&token, hint.as_ref())).await;
    match found.ok().flatten() {
        Some(run) => Ok(CallerIdentity::Run(run)),
        None => count_failure(app),
    }
}

/// Counts the failed attempt, which limits how fast tokens can be guessed.
fn count_failure(app: &SharedState) -> Result<CallerIdentity, Reason> {
    let reason = Reason::Unauthenticated;
    Err(if app.limits.allow_failure() { reason } else { Reason::TooManyRequests })
}

/// Returns the task in the path, if there is one.
fn task_in_path(uri: &Uri) -> Option<TaskId> {
    let rest = uri.path().strip_prefix("/v1/tasks/")?;
    TaskId::parse(rest.split('/').next()?).ok()
}

/// Extracts a caller with the rights of an operator.
pub(super) struct OperatorCaller(pub(super) Actor);

/// Extracts an authenticated caller.
#[derive(Clone)]
pub(super) enum AuthenticatedCaller {
    Operator(Actor),
    Run(RunCredentials),
}

impl AuthenticatedCaller {
    pub(super) fn to_caller(&self) -> CommandCaller {
        match self {
            Self::Operator(by) => CommandCaller::Operator(by.clone()),
            Self::Run(run) => CommandCaller::InsideRun(Actor::Agent(run.agent.clone())),
        }
    }

    /// Returns a name that keeps the idempotency keys of different callers apart.
    pub(super) fn key_owner(&self) -> String {
        match self {
            Self::Operator(_) => "operator".to_owned(),
            Self::Run(run) => run.token.clone(),
        }
    }

    /// Returns the only task the caller may see, or `None` if it may see all.
    pub(super) fn visible_task(&self) -> Option<&TaskId> {
        match self {
            Self::Operator(_) => None,
            Self::Run(run) => Some(&run.task),
        }
    }
}

fn caller_identity(parts: &Parts) -> CallerIdentity {
    parts.extensions.get::<CallerIdentity>().cloned().unwrap_or(CallerIdentity::Anonymous)
}

impl FromRequestParts<SharedState> for AuthenticatedCaller {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, app: &SharedState) -> Result<Self, ApiProblem> {
        let who = caller_identity(parts);
        match &who {
            CallerIdentity::Operator(session) => {
                let safe = super::request_checks::is_safe(&parts.method);
                if !safe && !session.has_csrf_proof(&parts.headers) {
                    let attempt = CallDescription::from_parts(parts);
                    return Err(app.refuse(Reason::ForgedRequest, Some(&who), &attempt, ""));
                }
                Ok(Self::Operator(app.operator.clone()))
            }
            CallerIdentity::Run(run) => Ok(Self::Run(run.clone())),
            CallerIdentity::Anonymous => {
                let attempt = CallDescription::from_parts(parts);
                Err(app.refuse(Reason::Unauthenticated, None, &attempt, ""))
            }
        }
    }
}

impl FromRequestParts<SharedState> for OperatorCaller {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, app: &SharedState) -> Result<Self, ApiProblem> {
        match <AuthenticatedCaller as FromRequestParts<SharedState>>::from_request_parts(parts, app)
            .await?
        {
            AuthenticatedCaller::Operator(by) => Ok(Self(by)),
            AuthenticatedCaller::Run(run) => {
                let attempt = CallDescription::from_parts(parts);
                Err(app.refuse(Reason::OperatorOnly, Some(&CallerIdentity::Run(run)), &attempt, ""))
            }
        }
    }
}

impl OptionalFromRequestParts<SharedState> for OperatorCaller {
    type Rejection = ApiProblem;

    async fn from_request_parts(
        parts: &mut Parts,
        app: &SharedState,
    ) -> Result<Option<Self>, ApiProblem> {
        Ok(match caller_identity(parts) {
            CallerIdentity::Operator(_) => Some(Self(app.operator.clone())),
            CallerIdentity::Run(_) | CallerIdentity::Anonymous => None,
        })
    }
}
