//! Signs browsers in: by a one-time link that the daemon prints, or by the token; then by a cookie.
//!
//! A cookie is authenticated with the operator's token, so that it stays valid when the daemon
//! restarts, and a new token ends every session.

use adjutant_model::answer::Reason;
use axum::Form;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{DOCTYPE, html};
use parking_lot::Mutex;
use serde::Deserialize;

use super::SharedState;
use super::auth::{CallerIdentity, OperatorSession};
use super::problem::ApiProblem;
use super::refusal_log::CallDescription;
use super::token::{OperatorToken, random_hex};
use crate::board::asset;

const COOKIE_SECS: i64 = 30 * 24 * 3600;

/// The one-time code of the link, until it is used.
pub(super) struct BrowserLogin {
    code: Mutex<Option<String>>,
    /// The cookie's name. It differs per project: browsers share cookies among all ports of a host.
    cookie_name: String,
}

/// The session of a browser that signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BrowserSession {
    /// The anti-forgery token of the session's pages.
    pub(super) csrf_token: String,
}

impl BrowserSession {
    /// Whether this is the session's anti-forgery token.
    pub(super) fn is_csrf_token(&self, shown: &str) -> bool {
        // A plain comparison is enough: the token has a fixed length and is new for every session.
        !shown.is_empty() && self.csrf_token == shown
    }
}

impl BrowserLogin {
    pub(super) fn new(token: &OperatorToken) -> std::io::Result<Self> {
        let name = token.authentication_code("cookie name");
        let code = Mutex::new(Some(random_hex()?[..32].to_owned()));
        Ok(Self { code, cookie_name: format!("adjutant-{}", &name[..8]) })
    }

    /// Returns the code, unless it was used.
    pub(super) fn code(&self) -> Option<String> {
        self.code.lock().clone()
    }

    /// Checks the code and, if it is right, invalidates it.
    fn redeem(&self, token: &OperatorToken, shown: &str) -> bool {
        let mut code = self.code.lock();
        let is = code.as_ref().is_some_and(|code| {
            token.authentication_code(code) == token.authentication_code(shown)
        });
        if is {
            *code = None;
        }
        is
    }
}

/// Reads the cookie of a call. Returns `None` if it is missing, forged or expired.
pub(super) fn read_session(app: &SharedState, headers: &HeaderMap) -> Option<BrowserSession> {
    let all = headers.get_all(header::COOKIE).iter();
    let pairs = all.filter_map(|one| one.to_str().ok()).flat_map(|one| one.split(';'));
    let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = named.find(|(name, _)| *name == app.login.cookie_name)?;
    let (text, code) = value.rsplit_once('.')?;
    let (until, _) = text.split_once('.')?;
    let now = app.project.queries.now().as_millis() / 1000;
    let good = app.token.verify_code(code, &format!("cookie\n{text}"));
    let lasts = until.parse::<i64>().is_ok_and(|until| until > now);
    (good && lasts).then(|| BrowserSession {
        csrf_token: app.token.authentication_code(&format!("proof\n{text}")),
    })
}

fn session_cookie(app: &SharedState) -> Result<HeaderValue, ApiProblem> {
    let until = app.project.queries.now().as_millis() / 1000 + COOKIE_SECS;
    let text =
        format!("{until}.{}", &random_hex().map_err(|_| ApiProblem::internal_error())?[..32]);
    let (name, code) =
        (&app.login.cookie_name, app.token.authentication_code(&format!("cookie\n{text}")));
    let cookie =
        format!("{name}={text}.{code}; Path=/; HttpOnly; SameSite=Strict; Max-Age={COOKIE_SECS}");
    HeaderValue::from_str(&cookie).map_err(|_| ApiProblem::internal_error())
}

#[derive(Deserialize)]
pub(super) struct LoginQuery {
    code: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct LoginForm {
    token: String,
}

#[derive(Deserialize)]
pub(super) struct LogoutForm {
    csrf: String,
}

/// Signs a browser in with the code of the link, or shows the form for the token.
pub(super) async fn sign_in_by_link(
    State(app): State<SharedState>,
    Query(link): Query<LoginQuery>,
    request: Request,
) -> Result<Response, ApiProblem> {
    let Some(code) = link.code else { return Ok(render_login("").into_response()) };
    if app.login.redeem(&app.token, &code) {
        return redirect_signed_in(&app);
    }
    let attempt = CallDescription::from_request(&request);
    let problem = refuse_login(&app, &attempt, "the code of a link");
    let text = "This sign-in link has been used, or the daemon was restarted since. ";
    Ok((problem.status(), render_login(text)).into_response())
}

/// Signs a browser in with the token.
pub(super) async fn sign_in_by_token(
    State(app): State<SharedState>,
    Form(shown): Form<LoginForm>,
) -> Result<Response, ApiProblem> {
    if app.token.matches(shown.token.trim()) {
        return redirect_signed_in(&app);
    }
    let attempt = CallDescription::new("POST", "/login");
    let problem = refuse_login(&app, &attempt, "a token");
    Ok((problem.status(), render_login("Wrong token. ")).into_response())
}

pub(super) async fn sign_out(
    State(app): State<SharedState>,
    axum::Extension(who): axum::Extension<CallerIdentity>,
    Form(proof): Form<LogoutForm>,
) -> Result<Response, ApiProblem> {
    let own = matches!(&who, CallerIdentity::Operator(OperatorSession::Cookie(cookie)) if cookie.is_csrf_token(&proof.csrf));
    if !own {
        let attempt = CallDescription::new("POST", "/logout");
        return Err(app.refuse(Reason::ForgedRequest, Some(&who), &attempt, ""));
    }
    let gone = format!("{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0", app.login.cookie_name);
    let gone = HeaderValue::from_str(&gone).map_err(|_| ApiProblem::internal_error())?;
    let mut response = Redirect::to("/login").into_response();
    response.headers_mut().insert(header::SET_COOKIE, gone);
    Ok(response)
}

fn refuse_login(app: &SharedState, attempt: &CallDescription, with: &str) -> ApiProblem {
    let often = !app.limits.allow_failure();
    let reason = if often { Reason::TooManyRequests } else { Reason::Unauthenticated };
    app.refuse(reason, None, attempt, with)
}

fn redirect_signed_in(app: &SharedState) -> Result<Response, ApiProblem> {
    let mut response = Redirect::to("/").into_response();
    response.headers_mut().insert(header::SET_COOKIE, session_cookie(app)?);
    Ok(response)
}

/// The sign-in page. It needs no script and does not repeat anything that was sent.
fn render_login(text: &'static str) -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Adjutant: sign in" }
                link rel="stylesheet" href=(asset::STYLE.path());
                link rel="icon" href=(asset::ICON.path()) type="image/svg+xml";
            }
            body {
                main {
                    section.sheet.entry {
                        h1 { "Adjutant" }
                        p role="status" {
                            (text) "Enter the operator's token. It is in the file "
                            code { "operator-token" } " of the data folder (usually " code { ".adjutant" }
                            "), or in the file that " code { "[server] token_file" } " names."
                        }
                        form method="post" action="/login" {
                            label for="token" { "Token" }
                            input #token type="password" name="token" autocomplete="current-password" required;
                            button.do { "Sign in" }
                        }
                    }
                }
            }
        }
    };
    Html(page.into_string())
}
