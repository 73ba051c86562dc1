//! Signs browsers in, by a link with a one-time code or by the token, and signs them out.

use std::sync::Arc;

use adjutant_model::answer::Reason;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::SharedState;
use super::auth::{CallerIdentity, OperatorSession};
use super::body::RequestBody;
use super::local_path::LocalPath;
use super::problem::ApiProblem;
use super::refusal_log::CallDescription;
use crate::board::sign_in::{LoginPage, SignedInPage};

#[derive(Deserialize)]
pub(super) struct LoginQuery {
    code: Option<String>,
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
struct LoginFields {
    token: String,
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
struct LogoutFields {
    #[serde(default)]
    csrf: String,
}

/// Signs a browser in with the code of the link, or shows the form for the token.
pub(super) async fn sign_in_by_link(
    State(app): State<SharedState>,
    Query(link): Query<LoginQuery>,
    request: Request,
) -> Result<Response, ApiProblem> {
    let next = LocalPath::parse_or_home(&link.next);
    let Some(code) = link.code else { return Ok(render_login(&app, "", &next).into_response()) };
    if app.codes.redeem(&app.token, &code, app.project.queries.now()) {
        return start_session(&app, &next).await;
    }
    let attempt = CallDescription::from_request(&request);
    let problem = refuse_login(&app, &attempt, "the code of a link");
    let text = "This sign-in link was used, has expired, or belongs to another daemon. ";
    Ok((problem.status(), render_login(&app, text, &next)).into_response())
}

/// Signs a browser in with the token.
pub(super) async fn sign_in_by_token(
    State(app): State<SharedState>,
    body: RequestBody,
) -> Result<Response, ApiProblem> {
    let shown: LoginFields = body.form(&app).await?;
    let next = LocalPath::parse_or_home(&shown.next);
    if app.token.matches(shown.token.trim()) {
        return start_session(&app, &next).await;
    }
    let attempt = CallDescription::new("POST", "/login");
    let problem = refuse_login(&app, &attempt, "a token");
    Ok((problem.status(), render_login(&app, "Wrong token. ", &next)).into_response())
}

/// Ends the session of the browser, also for a copy of its cookie and for the next daemon.
pub(super) async fn sign_out(
    State(app): State<SharedState>,
    axum::Extension(who): axum::Extension<CallerIdentity>,
    body: RequestBody,
) -> Result<Response, ApiProblem> {
    let shown: LogoutFields = body.form(&app).await?;
    let session = match &who {
        CallerIdentity::Operator(OperatorSession::Cookie(session))
            if session.is_csrf_token(&shown.csrf) =>
        {
            session.clone()
        }
        who => {
            let attempt = CallDescription::new("POST", "/logout");
            return Err(app.refuse(Reason::ForgedRequest, Some(who), &attempt, ""));
        }
    };
    let own = Arc::clone(&app);
    let revoked = tokio::task::spawn_blocking(move || own.sessions.revoke(&session)).await;
    let cookie = revoked.map_err(|_| ApiProblem::internal_error())?.map_err(|error| {
        let text = format!(
            "you are signed out until the daemon restarts: the end of the session cannot be \
             written to the data folder: {error}"
        );
        ApiProblem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", "Not ready.")
            .with_detail(text)
    })?;
    with_cookie(Redirect::to("/login").into_response(), &cookie)
}

fn refuse_login(app: &SharedState, attempt: &CallDescription, with: &str) -> ApiProblem {
    let often = !app.limits.allow_failure();
    let reason = if often { Reason::TooManyRequests } else { Reason::Unauthenticated };
    app.refuse(reason, None, attempt, with)
}

/// Answers with the cookie, and with a page that keeps the anti-forgery token in the storage of its
/// origin and then opens the page that was asked for.
async fn start_session(app: &SharedState, next: &LocalPath) -> Result<Response, ApiProblem> {
    let (own, now) = (Arc::clone(app), app.project.queries.now());
    let created = tokio::task::spawn_blocking(move || own.sessions.create(&own.token, now)).await;
    let new = created.ok().and_then(Result::ok).ok_or_else(ApiProblem::internal_error)?;
    let page = SignedInPage {
        storage_key: app.sessions.storage_key(),
        csrf_token: &new.csrf_token,
        next: next.as_str(),
    };
    with_cookie(Html(page.render().into_string()).into_response(), &new.cookie)
}

fn with_cookie(mut response: Response, cookie: &str) -> Result<Response, ApiProblem> {
    let cookie = HeaderValue::from_str(cookie).map_err(|_| ApiProblem::internal_error())?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

fn render_login(app: &SharedState, message: &str, next: &LocalPath) -> Html<String> {
    let page = LoginPage { message, storage_key: app.sessions.storage_key(), next: next.as_str() };
    Html(page.render().into_string())
}
