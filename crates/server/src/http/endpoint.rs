//! Binds the server's address and prepares its token.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use adjutant_engine::EngineActivity;
use adjutant_model::Actor;
use adjutant_process::clock::{Clock, SystemClock};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::watch;

use super::metrics::ServerMetrics;
use super::server::{self, HttpServer};
use super::sign_in_code::new_sign_in_code;
use super::tls::{self, TlsFileError};
use super::token::{OperatorToken, TokenFileError};
use crate::project_access::ProjectAccess;

#[derive(Debug, Clone)]
pub struct ServerSettings {
    pub address: ListenAddress,
    /// Host names to accept, besides `localhost` and IP addresses.
    pub hosts: Vec<String>,
    pub token_file: PathBuf,
    pub transport: TransportSecurity,
    /// Identifies the daemon, so that sign-in links of another one are refused.
    pub daemon: String,
    /// The actor recorded for calls with the operator's token.
    pub operator: Actor,
}

/// How connections are protected on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransportSecurity {
    /// Not at all: only for connections from this machine.
    Loopback,
    /// Not at all, because the operator says that something else does.
    Insecure,
    Tls {
        cert: PathBuf,
        key: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenAddress {
    /// Exactly this address: the operator configured it.
    Exact(SocketAddr),
    /// The default address; if its port is taken, any free port.
    Preferred(SocketAddr),
}

impl ListenAddress {
    fn address(self) -> SocketAddr {
        let (Self::Exact(address) | Self::Preferred(address)) = self;
        address
    }
}

#[derive(Debug, Error)]
pub enum ServerStartError {
    #[error("cannot listen on {0}")]
    Address(SocketAddr, #[source] io::Error),
    #[error("cannot read the operator's token")]
    Token(#[from] TokenFileError),
    /// The address is reachable from other machines, but no token was set up.
    #[error("other machines can reach {0}, and no token file was created for it")]
    TokenNotSetUp(SocketAddr, #[source] TokenFileError),
    /// The address is reachable from other machines, and nothing encrypts the connections.
    #[error("other machines can reach {0}, and connections to it are not encrypted")]
    NotEncrypted(SocketAddr),
    #[error("cannot use TLS")]
    Tls(#[from] TlsFileError),
    #[error("cannot start the server")]
    Io(#[from] io::Error),
}

/// A server that is bound to its address and does not accept calls yet.
pub struct BoundServer {
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    pub(super) hosts: Vec<String>,
    pub(super) token: OperatorToken,
    pub(super) operator: Actor,
    pub(super) daemon: String,
    pub(super) tls: Option<Arc<rustls::ServerConfig>>,
    pub(super) commits: watch::Sender<u64>,
    pub(super) metrics: Arc<ServerMetrics>,
    /// The codes of the sign-in links that this process made, to be redacted by value.
    sign_in_codes: Mutex<Vec<String>>,
    /// The default address, if another process has it.
    busy_default: Option<SocketAddr>,
}

impl BoundServer {
    /// Reads the token and binds the address. From now on callers can connect, and
    /// wait for [`BoundServer::serve`].
    pub fn bind(settings: ServerSettings) -> Result<Self, ServerStartError> {
        let ServerSettings { address, hosts, token_file, transport, daemon, operator } = settings;
        let tls = prepare_transport(address, &transport)?;
        let token = load_token(address, &token_file)?;
        let (listener, elsewhere) = bind_listener(address)?;
        let address = listener.local_addr()?;
        let (bell, _) = watch::channel(0);
        let metrics = Arc::default();
        Ok(Self {
            listener,
            address,
            hosts,
            token,
            operator,
            daemon,
            tls,
            commits: bell,
            metrics,
            sign_in_codes: Mutex::default(),
            busy_default: elsewhere,
        })
    }

    /// Returns the URL for a browser on this machine. With TLS it has the first of the configured
    /// host names, because certificates are made for names.
    pub fn url(&self) -> String {
        let port = self.address.port();
        if let (Some(_), Some(host)) = (&self.tls, self.hosts.first()) {
            return format!("https://{host}:{port}");
        }
        let ip = match self.address.ip() {
            ip if ip.is_unspecified() && ip.is_ipv6() => "[::1]".to_owned(),
            ip if ip.is_unspecified() => "127.0.0.1".to_owned(),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{ip}:{port}")
    }

    /// Returns a new URL that signs a browser in, once.
    pub fn login_url(&self) -> io::Result<String> {
        let code = new_sign_in_code(&self.token, &self.daemon, SystemClock.now())?;
        let url = login_url(&self.url(), &code);
        self.sign_in_codes.lock().push(code);
        Ok(url)
    }

    /// Returns the default address, if another process has it.
    pub fn busy_default(&self) -> Option<SocketAddr> {
        self.busy_default
    }

    /// Returns a callback that must be called after every commit.
    pub fn commit_notifier(&self) -> impl Fn() + Send + Sync + 'static {
        let bell = self.commits.clone();
        move || bell.send_modify(|rung| *rung = rung.wrapping_add(1))
    }

    /// Returns a callback for engine activity, which is counted in the metrics.
    pub fn activity_counter(&self) -> impl Fn(EngineActivity) + Send + 'static {
        let metrics = Arc::clone(&self.metrics);
        move |pulse| metrics.count_activity(pulse)
    }

    /// Serves calls until the returned server is dropped.
    pub fn serve(self, project: Arc<ProjectAccess>) -> io::Result<HttpServer> {
        for code in self.sign_in_codes.lock().drain(..) {
            project.redactor.add(&code);
        }
        server::start(self, project)
    }
}

/// Returns the URL of a server that signs a browser in with a code.
pub fn login_url(url: &str, code: &str) -> String {
    format!("{url}/login?code={code}")
}

/// Reads the certificate, if there is one. An address that other machines can reach needs one,
/// unless the operator says that something else protects the connections.
fn prepare_transport(
    address: ListenAddress,
    transport: &TransportSecurity,
) -> Result<Option<Arc<rustls::ServerConfig>>, ServerStartError> {
    let at = address.address();
    match transport {
        TransportSecurity::Tls { cert, key } => Ok(Some(tls::load(cert, key)?)),
        TransportSecurity::Loopback if !at.ip().is_loopback() => {
            Err(ServerStartError::NotEncrypted(at))
        }
        TransportSecurity::Loopback | TransportSecurity::Insecure => Ok(None),
    }
}

/// Reads the token. Creates one only for a loopback address: other addresses need a token that a
/// person set up.
fn load_token(
    address: ListenAddress,
    file: &std::path::Path,
) -> Result<OperatorToken, ServerStartError> {
    let at = address.address();
    if at.ip().is_loopback() {
        return Ok(OperatorToken::read_or_create(file)?);
    }
    match OperatorToken::read(file) {
        Err(missing @ TokenFileError::Missing(_)) => {
            Err(ServerStartError::TokenNotSetUp(at, missing))
        }
        read => Ok(read?),
    }
}

fn bind_listener(
    address: ListenAddress,
) -> Result<(TcpListener, Option<SocketAddr>), ServerStartError> {
    let bind = |at| TcpListener::bind(at).map_err(|error| ServerStartError::Address(at, error));
    let (listener, taken) = match address {
        ListenAddress::Exact(at) => (bind(at)?, None),
        ListenAddress::Preferred(at) => match bind(at) {
            Err(ServerStartError::Address(_, error))
                if error.kind() == io::ErrorKind::AddrInUse =>
            {
                (bind(SocketAddr::new(at.ip(), 0))?, Some(at))
            }
            bound => (bound?, None),
        },
    };
    listener.set_nonblocking(true)?;
    Ok((listener, taken))
}
