//! The middleware in front of every call: checks host, origin, caller and rate.

use std::net::{IpAddr, SocketAddr};
use std::sync::Weak;

use adjutant_model::answer::Reason;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::SharedState;
use super::auth::{self, CallerIdentity};
use super::connections::{ConnectionPlace, ConnectionUse};
use super::problem::{ApiProblem, MEDIA_TYPE, ProblemDocument};
use super::refusal_log::CallDescription;
use crate::board::error_page::ErrorPage;

/// Security headers of every response. The policy allows only scripts and styles that are
/// our own files.
const SECURITY_HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // `no-referrer` would also make browsers send `Origin: null` for our own forms.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
];

/// The host names that the server accepts.
pub(super) struct AllowedHosts {
    hosts: Vec<String>,
}

impl AllowedHosts {
    /// Accepts these host names, `localhost` and IP addresses.
    pub(super) fn new(hosts: &[String]) -> Self {
        Self { hosts: hosts.iter().map(|host| host.to_lowercase()).collect() }
    }

    /// Whether the call was meant for this server. This stops DNS rebinding: a foreign page can
    /// point its own name to our address, but cannot make a browser send an IP address as the host.
    fn is_allowed(&self, authority: &str) -> bool {
        if authority.parse::<IpAddr>().is_ok() {
            return true;
        }
        let name = strip_port(authority).to_lowercase();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        name == "localhost" || bare.parse::<IpAddr>().is_ok() || self.hosts.contains(&name)
    }
}

/// Returns the authority without its port.
fn strip_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Lets a call pass, or refuses it.
pub(super) async fn check_request(
    State(app): State<SharedState>,
    mut request: Request,
    next: Next,
) -> Response {
    let attempt = CallDescription::from_request(&request);
    request.extensions_mut().insert(attempt.clone());
    let is_mcp = request.uri().path() == super::mcp::PATH;
    let is_page = accepts_page(&request);
    let mut response = match check_access(&app, &mut request).await {
        Ok(()) => next.run(request).await,
        Err((reason, who, detail)) => {
            app.refuse(reason, who.as_ref(), &attempt, detail).into_response()
        }
    };
    if !is_mcp {
        response = to_problem_response(response).await;
    }
    if is_page {
        response = to_error_page(response);
    }
    let headers = response.headers_mut();
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    app.metrics.count_response(&attempt.method, response.status());
    response
}

type AccessRefusal = (Reason, Option<CallerIdentity>, String);

async fn check_access(app: &SharedState, request: &mut Request) -> Result<(), AccessRefusal> {
    let shown = |name: &str| format!("{name} {:?}", header_text(request.headers(), name));
    let authority = request_host(request.uri(), request.headers());
    if !authority.as_deref().is_some_and(|authority| app.hosts.is_allowed(authority)) {
        return Err((Reason::ForeignHost, None, shown("host")));
    }
    let authority = authority.unwrap_or_default();
    if !is_same_origin(request.headers(), &authority, app.has_tls) {
        return Err((Reason::ForeignOrigin, None, shown("origin")));
    }
    let who = auth::identify_caller(app, request.uri(), request.headers()).await;
    let who = who.map_err(|reason| (reason, None, String::new()))?;
    note_connection_use(request, &who);
    if let CallerIdentity::Run(run) = &who
        && !app.limits.allow_run_call(&run.token)
    {
        return Err((Reason::TooManyRequests, Some(who), String::new()));
    }
    // Cross-site request forgery: a foreign page can make a browser send our cookie, but cannot
    // read the anti-forgery token that only our pages have.
    if let CallerIdentity::Operator(session) = &who
        && !is_safe(request.method())
        && !session.has_csrf_proof(request.headers())
        && !is_form(request.headers())
    {
        return Err((Reason::ForgedRequest, Some(who), String::new()));
    }
    request.extensions_mut().insert(who);
    Ok(())
}

/// Keeps the connection of an operator or a run open when others are closed to make room.
fn note_connection_use(request: &Request, who: &CallerIdentity) {
    let used_for = match who {
        CallerIdentity::Anonymous => ConnectionUse::Unknown,
        CallerIdentity::Run(_) => ConnectionUse::Run,
        CallerIdentity::Operator(_) => ConnectionUse::Operator,
    };
    let place = request.extensions().get::<Weak<ConnectionPlace>>().and_then(Weak::upgrade);
    if let Some(place) = place {
        place.set_use(used_for);
    }
}

/// Whether the call comes from one of our pages, or from no page at all. Without TLS our pages may
/// still be at an `https` address, that of a proxy.
fn is_same_origin(headers: &HeaderMap, authority: &str, has_tls: bool) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let Some(origin) = origins.next() else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let is_own = |scheme: &str| format!("{scheme}://{authority}").eq_ignore_ascii_case(origin);
    origins.next().is_none() && (is_own("https") || !has_tls && is_own("http"))
}

/// Returns the host the call was made to; `None` if the call names none, or several that differ.
fn request_host(uri: &Uri, headers: &HeaderMap) -> Option<String> {
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

/// A form carries the anti-forgery token in a field, which its handler checks.
fn is_form(headers: &HeaderMap) -> bool {
    header_text(headers, "content-type").starts_with("application/x-www-form-urlencoded")
}

pub(super) fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Returns the address of the client.
pub(super) fn client_address(request: &Request<Body>) -> Option<SocketAddr> {
    request.extensions().get::<SocketAddr>().copied()
}

/// Whether the caller is a browser that shows a page of the board.
fn accepts_page(request: &Request) -> bool {
    let is_api = request.uri().path().starts_with("/v1/");
    !is_api && header_text(request.headers(), "accept").contains("text/html")
}

/// Replaces a problem document by a page for people, with the same status and headers.
fn to_error_page(mut response: Response) -> Response {
    let Some(problem) = response.extensions_mut().remove::<ProblemDocument>() else {
        return response;
    };
    let (title, detail, hint) = (&*problem.title, &*problem.detail, problem.hint.as_deref());
    let page = ErrorPage { title, detail, hint }.render().into_string();
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    parts.headers.insert(header::CONTENT_TYPE, html);
    Response::from_parts(parts, Body::from(page))
}

/// Rewrites plain-text errors of the framework as our problem documents.
async fn to_problem_response(response: Response) -> Response {
    let status = response.status();
    let kind = header_text(response.headers(), "content-type").to_owned();
    let plain = kind.is_empty() || kind.starts_with("text/plain");
    if !(status.is_client_error() || status.is_server_error()) || kind == MEDIA_TYPE || !plain {
        return response;
    }
    let (parts, body) = response.into_parts();
    let detail = axum::body::to_bytes(body, 4096).await.unwrap_or_default();
    let detail = String::from_utf8_lossy(&detail).trim().to_owned();
    let problem = match status {
        StatusCode::NOT_FOUND => ApiProblem::not_found("nothing is served at this path"),
        StatusCode::METHOD_NOT_ALLOWED => {
            ApiProblem::new(status, "method_not_allowed", "Method not allowed.")
        }
        _ => ApiProblem::new(status, "bad_request", "Bad request."),
    };
    let problem = if detail.is_empty() { problem } else { problem.with_detail(detail) };
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
    fn gate_accepts_only_own_host_names_and_addresses() {
        let gate = AllowedHosts::new(&["Board.Example".to_owned()]);
        for ours in [
            "localhost",
            "LOCALHOST:7474",
            "127.0.0.1:7474",
            "[::1]:80",
            "::1",
            "10.0.0.7",
            "board.example:80",
        ] {
            assert!(gate.is_allowed(ours), "{ours}");
        }
        for foreign in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "board.example.evil",
        ] {
            assert!(!gate.is_allowed(foreign), "{foreign}");
        }
    }

    #[test]
    fn gate_accepts_only_same_origin_pages() {
        let is = |origin: &str, host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).expect("a header"));
            is_same_origin(&headers, host, false)
        };
        assert!(is("http://127.0.0.1:7474", "127.0.0.1:7474"));
        assert!(is("https://board.example", "board.example"));
        assert!(is_same_origin(&HeaderMap::new(), "127.0.0.1:7474", true));
        let plain = HeaderValue::from_static("http://127.0.0.1:7474");
        let plain = HeaderMap::from_iter([(header::ORIGIN, plain)]);
        assert!(!is_same_origin(&plain, "127.0.0.1:7474", true), "with TLS");
        for foreign in
            ["null", "http://evil.example", "http://127.0.0.1:8080", "http://localhost:7474", ""]
        {
            assert!(!is(foreign, "127.0.0.1:7474"), "{foreign}");
        }
    }
}
