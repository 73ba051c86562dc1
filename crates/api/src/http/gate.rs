//! The gate every call goes through: where it was made to, by whose page, by whom, and how often.

use std::net::{IpAddr, SocketAddr};

use adjutant_core::answer::Reason;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::auth::Who;
use super::problem::{MEDIA_TYPE, Problem};
use super::refusals::Attempt;
use super::{App, auth};

/// What keeps a page of ours to itself. No script or style that is not a file of ours is run.
const HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // With none at all, a browser would not say either that a form is from a page of ours.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
];

/// The names a server goes by.
pub(super) struct Gate {
    hosts: Vec<String>,
}

impl Gate {
    /// Lets calls in that were made to one of these names, or to an address.
    pub(super) fn new(hosts: &[String]) -> Self {
        Self { hosts: hosts.iter().map(|host| host.to_lowercase()).collect() }
    }

    /// Says whether a call was made to us. A page elsewhere can have its own name stand for our
    /// address, but not make a browser say that it called an address.
    fn is_ours(&self, authority: &str) -> bool {
        if authority.parse::<IpAddr>().is_ok() {
            return true;
        }
        let name = host_of(authority).to_lowercase();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        name == "localhost" || bare.parse::<IpAddr>().is_ok() || self.hosts.contains(&name)
    }
}

/// Returns an authority without its port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Lets a call in, or says why not.
pub(super) async fn pass(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let attempt = Attempt::of(&request);
    request.extensions_mut().insert(attempt.clone());
    let is_mcp = request.uri().path() == super::mcp::PATH;
    let mut response = match enter(&app, &mut request).await {
        Ok(()) => next.run(request).await,
        Err((reason, who, detail)) => {
            app.refuse(reason, who.as_ref(), &attempt, detail).into_response()
        }
    };
    if !is_mcp {
        response = in_our_words(response).await;
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    app.metrics.answered(&attempt.method, response.status());
    response
}

type NotLetIn = (Reason, Option<Who>, String);

async fn enter(app: &App, request: &mut Request) -> Result<(), NotLetIn> {
    let shown = |name: &str| format!("{name} {:?}", header_text(request.headers(), name));
    let authority = authority(request.uri(), request.headers());
    if !authority.as_deref().is_some_and(|authority| app.gate.is_ours(authority)) {
        return Err((Reason::ForeignHost, None, shown("host")));
    }
    if !is_own_page(request.headers(), authority.as_deref().unwrap_or_default()) {
        return Err((Reason::ForeignOrigin, None, shown("origin")));
    }
    let who = auth::find(app, request.uri(), request.headers()).await;
    let who = who.map_err(|reason| (reason, None, String::new()))?;
    if let Who::Run(run) = &who
        && !app.limits.called(&run.token)
    {
        return Err((Reason::TooManyRequests, Some(who), String::new()));
    }
    // A page elsewhere can have a browser send our cookie, but cannot read what we gave our own.
    if let Who::Operator(session) = &who
        && !is_safe(request.method())
        && !session.is_proven(request.headers())
        && !is_form(request.headers())
    {
        return Err((Reason::ForgedRequest, Some(who), String::new()));
    }
    request.extensions_mut().insert(who);
    Ok(())
}

/// Says whether a call was made by a page of ours, or by no page at all.
fn is_own_page(headers: &HeaderMap, authority: &str) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let Some(origin) = origins.next() else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let own = [format!("http://{authority}"), format!("https://{authority}")];
    origins.next().is_none() && own.iter().any(|own| own.eq_ignore_ascii_case(origin))
}

/// Returns the one name a call was made to; none if it says none or several.
fn authority(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().map(|host| host.to_str().unwrap_or_default().to_owned());
    if hosts.next().is_some() {
        return None;
    }
    match (uri.authority(), host) {
        (Some(called), Some(host)) if called.as_str() != host => None,
        (Some(called), _) => Some(called.as_str().to_owned()),
        (None, host) => host,
    }
}

pub(super) fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// A form shows where it comes from in a field of its own, which whoever reads it looks at.
fn is_form(headers: &HeaderMap) -> bool {
    header_text(headers, "content-type").starts_with("application/x-www-form-urlencoded")
}

pub(super) fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Returns where a call came from.
pub(super) fn peer(request: &Request<Body>) -> Option<SocketAddr> {
    request.extensions().get::<SocketAddr>().copied()
}

/// Says what others refused in the way everything is refused here.
async fn in_our_words(response: Response) -> Response {
    let status = response.status();
    let kind = header_text(response.headers(), "content-type").to_owned();
    let plain = kind.is_empty() || kind.starts_with("text/plain");
    if !(status.is_client_error() || status.is_server_error()) || kind == MEDIA_TYPE || !plain {
        return response;
    }
    let (parts, body) = response.into_parts();
    let said = axum::body::to_bytes(body, 4096).await.unwrap_or_default();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    let problem = match status {
        StatusCode::NOT_FOUND => Problem::not_found("there is nothing at this path"),
        StatusCode::METHOD_NOT_ALLOWED => {
            let title = "This cannot be done here.";
            Problem::new(status, "method_not_allowed", title)
        }
        _ => Problem::new(status, "bad_request", "The call makes no sense."),
    };
    let problem = if said.is_empty() { problem } else { problem.detail(said) };
    let mut response = problem.into_response();
    if let Some(allowed) = parts.headers.get(header::ALLOW) {
        response.headers_mut().insert(header::ALLOW, allowed.clone());
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_ours_is_told_from_an_address() {
        let gate = Gate::new(&["Board.Example".to_owned()]);
        for ours in [
            "localhost",
            "LOCALHOST:7474",
            "127.0.0.1:7474",
            "[::1]:80",
            "::1",
            "10.0.0.7",
            "board.example:80",
        ] {
            assert!(gate.is_ours(ours), "{ours}");
        }
        for foreign in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "board.example.evil",
        ] {
            assert!(!gate.is_ours(foreign), "{foreign}");
        }
    }

    #[test]
    fn only_a_page_of_the_same_place_is_ours() {
        let is = |origin: &str, host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).expect("a header"));
            is_own_page(&headers, host)
        };
        assert!(is("http://127.0.0.1:7474", "127.0.0.1:7474"));
        assert!(is("https://board.example", "board.example"));
        assert!(is_own_page(&HeaderMap::new(), "127.0.0.1:7474"));
        for foreign in
            ["null", "http://evil.example", "http://127.0.0.1:8080", "http://localhost:7474", ""]
        {
            assert!(!is(foreign, "127.0.0.1:7474"), "{foreign}");
        }
    }
}
