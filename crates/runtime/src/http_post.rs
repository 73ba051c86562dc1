//! One HTTP POST and what came back, for whoever calls programs elsewhere.
//!
//! It follows no redirect, reads no more of an answer than it is told to, is over in time, and never
//! prints where it posts to: an address that opens a door is a secret. Why something is posted, and
//! whether to try again, is not known here.

use std::fmt;
use std::io::Read;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use thiserror::Error;
use ureq::http::{HeaderMap, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Timeout};

/// What we call ourselves.
const USER_AGENT: &str = concat!("adjutant/", env!("CARGO_PKG_VERSION"));

/// Where to post to: printed without what leads there.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    uri: Uri,
    shown: String,
}

/// Why a text is no address to post to. Says nothing of the text itself, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadAddress {
    /// It cannot be read as one.
    #[error("is no address; one begins with https:// or http:// and names a host")]
    Unreadable,
    /// It is not one of HTTP.
    #[error("must begin with https:// or http://")]
    NotHttp,
    /// It has a name or a password in it.
    #[error("must not have a name or a password before its host")]
    HasPassword,
}

/// What to post.
#[derive(Debug, Clone)]
pub struct Post<'a> {
    /// Where.
    pub to: &'a Address,
    /// The headers, names first.
    pub headers: Vec<(&'a str, String)>,
    /// What.
    pub body: &'a [u8],
    /// How long all of it may take.
    pub timeout: Duration,
    /// How much of the answer is read.
    pub answer_bytes_max: u64,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status, whatever it is.
    pub status: u16,
    /// How long to wait before the next try, if the answer says so.
    pub retry_after: Option<Duration>,
    /// As much of the body as was asked for.
    pub body: Vec<u8>,
}

impl Reply {
    /// Says whether it was taken.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum Unposted {
    /// Nothing of it got there.
    #[error("cannot reach {to}: {why}")]
    NotSent {
        /// The address, without what leads there.
        to: String,
        /// Why not.
        why: String,
    },
    /// It may have got there, or not.
    #[error("no answer from {to}: {why}")]
    Unanswered {
        /// The address, without what leads there.
        to: String,
        /// Why not.
        why: String,
    },
}

impl Address {
    /// Reads an address.
    pub fn parse(text: &str) -> Result<Self, BadAddress> {
        let uri: Uri = text.trim().parse().map_err(|_| BadAddress::Unreadable)?;
        let scheme = uri.scheme_str().ok_or(BadAddress::Unreadable)?;
        if !matches!(scheme, "http" | "https") {
            return Err(BadAddress::NotHttp);
        }
        let authority = uri.authority().ok_or(BadAddress::Unreadable)?.as_str();
        if authority.contains('@') {
            return Err(BadAddress::HasPassword);
        }
        if uri.host().is_none_or(str::is_empty) {
            return Err(BadAddress::Unreadable);
        }
        let rest =
            if matches!(uri.path(), "" | "/") && uri.query().is_none() { "" } else { "/…" };
        let shown = format!("{scheme}://{authority}{rest}");
        Ok(Self { uri, shown })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// Posts, and waits for the answer. Every status is an answer; to tell a good one is the caller's.
pub fn post(post: &Post<'_>) -> Result<Reply, Unposted> {
    let mut request = agent(post.to).post(&post.to.uri);
    for (name, value) in &post.headers {
        request = request.header(*name, value);
    }
    let sent = request.config().timeout_global(Some(post.timeout)).build().send(post.body);
    let mut answer = sent.map_err(|error| unposted(post.to, &error))?;
    let (status, retry_after) = (answer.status().as_u16(), retry_after(answer.headers()));
    let mut body = Vec::new();
    let mut reader = answer.body_mut().as_reader().take(post.answer_bytes_max);
    // The status is the answer; what explains it may be cut short.
    let _ = reader.read_to_end(&mut body);
    Ok(Reply { status, retry_after, body })
}

/// Returns what posts to an address. Connections are not kept: one that was closed meanwhile would
/// look like an answer that got lost. Certificates are only read where they are needed.
fn agent(to: &Address) -> Agent {
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

/// Returns the certificates this machine trusts. Without any, no address with https can be reached,
/// and that is what is said then.
fn certificates() -> Vec<Certificate<'static>> {
    let found = rustls_native_certs::load_native_certs().certs;
    found.iter().map(|one| Certificate::from_der(one.as_ref()).to_owned()).collect()
}

fn unposted(to: &Address, error: &ureq::Error) -> Unposted {
    let to = to.to_string();
    let (sent, why) = match error {
        ureq::Error::HostNotFound => (false, "there is no host of that name".to_owned()),
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
            (false, "it took too long to get there".to_owned())
        }
        ureq::Error::Timeout(_) => (true, "it took too long".to_owned()),
        ureq::Error::ConnectionFailed => (false, "nobody listens there".to_owned()),
        ureq::Error::Tls(why) => (false, (*why).to_owned()),
        ureq::Error::Rustls(why) => (false, why.to_string()),
        ureq::Error::Io(error) => (!is_before(error), error.to_string()),
        ureq::Error::InvalidProxyUrl => {
            (false, "the proxy of the environment is no address".into())
        }
        ureq::Error::Protocol(_) => (true, "what came back is not HTTP".to_owned()),
        // What is left names the address, or cannot come of what we ask for.
        _ => (true, "the request broke off".to_owned()),
    };
    if sent { Unposted::Unanswered { to, why } } else { Unposted::NotSent { to, why } }
}

/// Says whether an error can only come before anything was sent.
fn is_before(error: &std::io::Error) -> bool {
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

/// Returns how long an answer asks us to wait: in seconds, or until a time.
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
