//! How a browser signs in: once by a link that the daemon prints, or by the token; then by a cookie.
//!
//! A cookie is a code that only who knows the token can make, so that it outlives the daemon, and
//! a new token ends every session there is.

use std::sync::{Mutex, PoisonError};

use adjutant_core::answer::Reason;
use axum::Form;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{DOCTYPE, html};
use serde::Deserialize;

use super::App;
use super::auth::{Session, Who};
use super::problem::Problem;
use super::refusals::Attempt;
use super::token::{Token, random};
use crate::board::asset;

/// How long a browser stays signed in.
const COOKIE_SECS: i64 = 30 * 24 * 3600;

/// What of sign-ins must be remembered: the code of the link, until it was used.
pub(super) struct Login {
    code: Mutex<Option<String>>,
    /// What the cookie is called: browsers keep the cookies of all ports of a machine together.
    cookie: String,
}

/// A browser that signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cookie {
    /// What its pages show to prove that they are ours.
    pub(super) proof: String,
}

impl Cookie {
    /// Says whether this is what our own pages show.
    pub(super) fn proves(&self, shown: &str) -> bool {
        // Of the same length always, and made anew for every session.
        !shown.is_empty() && self.proof == shown
    }
}

impl Login {
    /// Makes the code of a link.
    pub(super) fn new(token: &Token) -> std::io::Result<Self> {
        let name = token.code("cookie name");
        let code = Mutex::new(Some(random()?[..32].to_owned()));
        Ok(Self { code, cookie: format!("adjutant-{}", &name[..8]) })
    }

    /// Returns the code that has not been used.
    pub(super) fn code(&self) -> Option<String> {
        self.code.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the code back, if this is it: it is good for once.
    fn redeem(&self, token: &Token, shown: &str) -> bool {
        let mut code = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        let is = code.as_ref().is_some_and(|code| token.code(code) == token.code(shown));
        if is {
            *code = None;
        }
        is
    }
}

/// Reads the cookie of a call; none if it has none, or one that is not good any more.
pub(super) fn cookie(app: &App, headers: &HeaderMap) -> Option<Cookie> {
    let all = headers.get_all(header::COOKIE).iter();
    let pairs = all.filter_map(|one| one.to_str().ok()).flat_map(|one| one.split(';'));
    let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
    let (_, value) = named.find(|(name, _)| *name == app.login.cookie)?;
    let (said, code) = value.rsplit_once('.')?;
    let (until, _) = said.split_once('.')?;
    let now = app.office.now().as_millis() / 1000;
    let good = app.token.made(code, &format!("cookie\n{said}"));
    let lasts = until.parse::<i64>().is_ok_and(|until| until > now);
    (good && lasts).then(|| Cookie { proof: app.token.code(&format!("proof\n{said}")) })
}

fn signed_in(app: &App) -> Result<HeaderValue, Problem> {
    let until = app.office.now().as_millis() / 1000 + COOKIE_SECS;
    let said = format!("{until}.{}", &random().map_err(|_| Problem::bug())?[..32]);
    let (name, code) = (&app.login.cookie, app.token.code(&format!("cookie\n{said}")));
    let cookie =
        format!("{name}={said}.{code}; Path=/; HttpOnly; SameSite=Strict; Max-Age={COOKIE_SECS}");
    HeaderValue::from_str(&cookie).map_err(|_| Problem::bug())
}

#[derive(Deserialize)]
pub(super) struct Link {
    code: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Shown {
    token: String,
}

#[derive(Deserialize)]
pub(super) struct Proof {
    csrf: String,
}

/// Signs a browser in that shows the code of the link, or asks it for the token.
pub(super) async fn link(
    State(app): State<App>,
    Query(link): Query<Link>,
    request: Request,
) -> Result<Response, Problem> {
    let Some(code) = link.code else { return Ok(page("").into_response()) };
    if app.login.redeem(&app.token, &code) {
        return welcome(&app);
    }
    let attempt = Attempt::of(&request);
    let problem = not_let_in(&app, &attempt, "the code of a link");
    let said = "This link was used before, or is from an earlier start. ";
    Ok((problem.status(), page(said)).into_response())
}

/// Signs a browser in that shows the token.
pub(super) async fn token(
    State(app): State<App>,
    Form(shown): Form<Shown>,
) -> Result<Response, Problem> {
    if app.token.is(shown.token.trim()) {
        return welcome(&app);
    }
    let attempt = Attempt::named("POST", "/login");
    let problem = not_let_in(&app, &attempt, "a token");
    Ok((problem.status(), page("This is not the token. ")).into_response())
}

/// Signs a browser out.
pub(super) async fn out(
    State(app): State<App>,
    axum::Extension(who): axum::Extension<Who>,
    Form(proof): Form<Proof>,
) -> Result<Response, Problem> {
    let own = matches!(&who, Who::Operator(Session::Cookie(cookie)) if cookie.proves(&proof.csrf));
    if !own {
        let attempt = Attempt::named("POST", "/logout");
        return Err(app.refuse(Reason::ForgedRequest, Some(&who), &attempt, ""));
    }
    let gone = format!("{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0", app.login.cookie);
    let gone = HeaderValue::from_str(&gone).map_err(|_| Problem::bug())?;
    let mut response = Redirect::to("/login").into_response();
    response.headers_mut().insert(header::SET_COOKIE, gone);
    Ok(response)
}

fn not_let_in(app: &App, attempt: &Attempt, with: &str) -> Problem {
    let often = !app.limits.failed();
    let reason = if often { Reason::TooManyRequests } else { Reason::Unauthenticated };
    app.refuse(reason, None, attempt, with)
}

fn welcome(app: &App) -> Result<Response, Problem> {
    let mut response = Redirect::to("/").into_response();
    response.headers_mut().insert(header::SET_COOKIE, signed_in(app)?);
    Ok(response)
}

/// The page that asks for the token. It needs no script, and shows nothing that was sent.
fn page(said: &'static str) -> Html<String> {
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
                            (said) "Show the token of this project: it is the line in the file "
                            code { "operator-token" } " of the data folder, or the one that "
                            code { "[server] token_file" } " names."
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
