//! Sends one HTTP POST and returns the reply.
//!
//! It follows no redirect, limits the reply's size, has a timeout, and never prints the full URL,
//! because a webhook URL is a secret. It does not know why something is posted or whether to retry.

pub mod webhook_signature;

use std::fmt;
use std::io::Read;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use thiserror::Error;
use ureq::http::{HeaderMap, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Timeout};

const USER_AGENT: &str = concat!("adjutant/", env!("CARGO_PKG_VERSION"));

/// The URL to post to. Printing it leaves out the path and the query.
#[derive(Clone, PartialEq, Eq)]
pub struct PostUrl {
    uri: Uri,
    shown: String,
}

/// Why a text is not a valid URL to post to. Does not contain the text, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PostUrlError {
    #[error("is not an address; an address begins with https:// or http:// and names a host")]
    Unreadable,
    #[error("must begin with https:// or http://")]
    NotHttp,
    #[error("must not contain a user name or a password")]
    HasPassword,
}

#[derive(Debug, Clone)]
pub struct PostRequest<'a> {
    pub to: &'a PostUrl,
    /// Each as (name, value).
    pub headers: Vec<(&'a str, String)>,
    pub body: &'a [u8],
    /// Limits the whole request.
    pub timeout: Duration,
    /// How much of the reply's body is read.
    pub answer_bytes_max: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostReply {
    pub status: u16,
    /// The delay before a retry, if the server gave one.
    pub retry_after: Option<Duration>,
    /// At most `answer_bytes_max` bytes.
    pub body: Vec<u8>,
}

impl PostReply {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

#[derive(Debug, Error)]
pub enum PostError {
    /// The server received nothing.
    #[error("cannot reach {to}: {why}")]
    NotSent {
        /// The host, without path and query.
        to: String,
        why: String,
    },
    /// The server may have received the request.
    #[error("no answer from {to}: {why}")]
    Unanswered {
        /// The host, without path and query.
        to: String,
        why: String,
    },
}

impl PostUrl {
    pub fn parse(text: &str) -> Result<Self, PostUrlError> {
        let uri: Uri = text.trim().parse().map_err(|_| PostUrlError::Unreadable)?;
        let scheme = uri.scheme_str().ok_or(PostUrlError::Unreadable)?;
        if !matches!(scheme, "http" | "https") {
            return Err(PostUrlError::NotHttp);
        }
        let authority = uri.authority().ok_or(PostUrlError::Unreadable)?.as_str();
        if authority.contains('@') {
            return Err(PostUrlError::HasPassword);
        }
        if uri.host().is_none_or(str::is_empty) {
            return Err(PostUrlError::Unreadable);
        }
        let rest =
            if matches!(uri.path(), "" | "/") && uri.query().is_none() { "" } else { "/…" };
        let shown = format!("{scheme}://{authority}{rest}");
        Ok(Self { uri, shown })
    }
}

impl fmt::Display for PostUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for PostUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// Posts and waits for the reply. Every status is a reply; the caller decides whether it is good.
pub fn post(post: &PostRequest<'_>) -> Result<PostReply, PostError> {
    let mut request = http_client(post.to).post(&post.to.uri);
    for (name, value) in &post.headers {
        request = request.header(*name, value);
    }
    let sent = request.config().timeout_global(Some(post.timeout)).build().send(post.body);
    let mut answer = sent.map_err(|error| to_post_error(post.to, &error))?;
    let (status, retry_after) = (answer.status().as_u16(), retry_after(answer.headers()));
    let mut body = Vec::new();
    let mut reader = answer.body_mut().as_reader().take(post.answer_bytes_max);
    // The status matters; the body that explains it may be cut short.
    let _ = reader.read_to_end(&mut body);
    Ok(PostReply { status, retry_after, body })
}

/// Returns the HTTP client for a URL. Connections are not reused: one that was closed meanwhile
/// would look like a lost reply. Certificates are loaded only for https.
fn http_client(to: &PostUrl) -> Agent {
    static PLAIN: OnceLock<Agent> = OnceLock::new();
    static SECURE: OnceLock<Agent> = OnceLock::new();
    let make = |trusted: Vec<Certificate<'static>>| {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(trusted)))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(0)
            .user_agent(USER_AGENT)
            .tls_config(tls)
            .build();
        Agent::from(config)
    };
    match to.uri.scheme_str() {
        Some("https") => SECURE.get_or_init(|| make(certificates())).clone(),
        _ => PLAIN.get_or_init(|| make(vec![])).clone(),
    }
}

/// Returns the certificates that this machine trusts. Without any, every https URL fails, and the
/// error says so.
fn certificates() -> Vec<Certificate<'static>> {
    let found = rustls_native_certs::load_native_certs().certs;
    found.iter().map(|one| Certificate::from_der(one.as_ref()).to_owned()).collect()
}

fn to_post_error(to: &PostUrl, error: &ureq::Error) -> PostError {
    let to = to.to_string();
    let (sent, why) = match error {
        ureq::Error::HostNotFound => (false, "the host does not exist".to_owned()),
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
            (false, "the connection timed out".to_owned())
        }
        ureq::Error::Timeout(_) => (true, "the request timed out".to_owned()),
        ureq::Error::ConnectionFailed => (false, "the connection failed".to_owned()),
        ureq::Error::Tls(why) => (false, (*why).to_owned()),
        ureq::Error::Rustls(why) => (false, why.to_string()),
        ureq::Error::Io(error) => (!is_before_sending(error), error.to_string()),
        ureq::Error::InvalidProxyUrl => {
            (false, "the proxy in the environment is not an address".into())
        }
        ureq::Error::Protocol(_) => (true, "the reply is not HTTP".to_owned()),
        // The other errors contain the URL, or cannot follow from our requests.
        _ => (true, "the request failed".to_owned()),
    };
    if sent { PostError::Unanswered { to, why } } else { PostError::NotSent { to, why } }
}

/// Returns whether an error can only occur before anything was sent.
fn is_before_sending(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::ConnectionRefused
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::AddrNotAvailable
            | ErrorKind::NetworkDown
    )
}

/// Returns the delay that `Retry-After` asks for, in seconds or until a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("retry-after")?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    Some(Duration::try_from(until.duration_since(Timestamp::now())).unwrap_or_default())
}

#[cfg(test)]
mod tests;
