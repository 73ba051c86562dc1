//! Who calls: an operator by a token or by a browser that signed in, a run by its token, or nobody.

use adjutant_core::TaskId;
use adjutant_core::answer::Reason;
use adjutant_core::command::Caller;
use adjutant_core::name::Actor;
use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};

use super::App;
use super::gate::header_text;
use super::login::{self, Cookie};
use super::problem::Problem;
use super::refusals::Attempt;
use crate::mcp::Bound;

/// Where a run says which task it is of, for a token that is of no run at work.
const TASK: &str = "adjutant-task";
/// What a form or a script shows to prove that it is ours.
const PROOF: &str = "x-csrf-token";

/// Who calls.
#[derive(Debug, Clone)]
pub(super) enum Who {
    /// Somebody who has shown nothing.
    Nobody,
    /// A person, or a program in a person's name.
    Operator(Session),
    /// A run, and no other.
    Run(Bound),
}

/// How an operator is known.
#[derive(Debug, Clone)]
pub(super) enum Session {
    /// By the token, which no browser sends by itself.
    Token,
    /// By a cookie, which a browser sends whoever asks it to.
    Cookie(Cookie),
}

impl Session {
    /// Says whether a call that changes something is known to be the operator's own.
    pub(super) fn is_proven(&self, headers: &HeaderMap) -> bool {
        match self {
            Self::Token => true,
            Self::Cookie(cookie) => cookie.proves(header_text(headers, PROOF)),
        }
    }
}

/// Finds out who calls. A token that was never given out is refused, and not taken for none.
pub(super) async fn find(app: &App, uri: &Uri, headers: &HeaderMap) -> Result<Who, Reason> {
    let mut all = headers.get_all("authorization").iter();
    let shown = all.next().map(|value| value.to_str().unwrap_or_default());
    if all.next().is_some() {
        return Err(Reason::Unauthenticated);
    }
    match shown {
        Some(shown) => by_token(app, shown, uri, headers).await,
        None => Ok(login::cookie(app, headers)
            .map_or(Who::Nobody, |cookie| Who::Operator(Session::Cookie(cookie)))),
    }
}

async fn by_token(app: &App, shown: &str, uri: &Uri, headers: &HeaderMap) -> Result<Who, Reason> {
    let (scheme, token) = shown.split_once(' ').unwrap_or_default();
    let token = token.trim();
    if !scheme.eq_ignore_ascii_case("bearer") || token.is_empty() || token.len() > 4096 {
        return failed(app);
    }
    if app.token.is(token) {
        return Ok(Who::Operator(Session::Token));
    }
    let hint = TaskId::parse(header_text(headers, TASK)).ok().or_else(|| named(uri));
    let token = token.to_owned();
    let found = app.office(move |office| office.run_of(&token, hint.as_ref())).await;
    match found.ok().flatten() {
        Some(run) => Ok(Who::Run(run)),
        None => failed(app),
    }
}

/// Counts a wrong token, so that nobody tries them all.
fn failed(app: &App) -> Result<Who, Reason> {
    let reason = Reason::Unauthenticated;
    Err(if app.limits.failed() { reason } else { Reason::TooManyRequests })
}

/// Returns the task that a path names.
fn named(uri: &Uri) -> Option<TaskId> {
    let rest = uri.path().strip_prefix("/v1/tasks/")?;
    TaskId::parse(rest.split('/').next()?).ok()
}

/// Somebody who may do what an operator may.
pub(super) struct Operator(pub(super) Actor);

/// Somebody who has shown a token of one kind or the other.
#[derive(Clone)]
pub(super) enum Known {
    /// An operator.
    Operator(Actor),
    /// A run.
    Run(Bound),
}

impl Known {
    /// Says in whose name a command is given.
    pub(super) fn caller(&self) -> Caller {
        match self {
            Self::Operator(by) => Caller::Operator(by.clone()),
            Self::Run(run) => Caller::InsideRun(Actor::Agent(run.agent.clone())),
        }
    }

    /// Returns whom to keep apart from others: who an idempotency key belongs to.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Operator(_) => "operator".to_owned(),
            Self::Run(run) => run.token.clone(),
        }
    }

    /// Returns the one task it may see; none if it may see all.
    pub(super) fn only(&self) -> Option<&TaskId> {
        match self {
            Self::Operator(_) => None,
            Self::Run(run) => Some(&run.task),
        }
    }
}

fn who(parts: &Parts) -> Who {
    parts.extensions.get::<Who>().cloned().unwrap_or(Who::Nobody)
}

impl FromRequestParts<App> for Known {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let who = who(parts);
        match &who {
            Who::Operator(session) => {
                let safe = super::gate::is_safe(&parts.method);
                if !safe && !session.is_proven(&parts.headers) {
                    let attempt = Attempt::of_parts(parts);
                    return Err(app.refuse(Reason::ForgedRequest, Some(&who), &attempt, ""));
                }
                Ok(Self::Operator(app.operator.clone()))
            }
            Who::Run(run) => Ok(Self::Run(run.clone())),
            Who::Nobody => {
                let attempt = Attempt::of_parts(parts);
                Err(app.refuse(Reason::Unauthenticated, None, &attempt, ""))
            }
        }
    }
}

impl FromRequestParts<App> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        match <Known as FromRequestParts<App>>::from_request_parts(parts, app).await? {
            Known::Operator(by) => Ok(Self(by)),
            Known::Run(run) => {
                let attempt = Attempt::of_parts(parts);
                Err(app.refuse(Reason::OperatorOnly, Some(&Who::Run(run)), &attempt, ""))
            }
        }
    }
}

impl OptionalFromRequestParts<App> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Option<Self>, Problem> {
        Ok(match who(parts) {
            Who::Operator(_) => Some(Self(app.operator.clone())),
            Who::Run(_) | Who::Nobody => None,
        })
    }
}
