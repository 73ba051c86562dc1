//! Where the server listens, and what it needs before anybody may come.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use adjutant_core::Actor;
use adjutant_runtime::Pulse;
use thiserror::Error;
use tokio::sync::watch;

use super::login::Login;
use super::metrics::Metrics;
use super::serve::{self, Server};
use super::token::{BadToken, Token};
use crate::office::Office;

/// What a server is started with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen.
    pub address: Address,
    /// The names it goes by, beside `localhost` and addresses.
    pub hosts: Vec<String>,
    /// The file with the operator's token.
    pub token_file: PathBuf,
    /// In whose name an operator's token speaks.
    pub operator: Actor,
}

/// Where to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// There and nowhere else: somebody asked for it.
    Asked(SocketAddr),
    /// There, or at another port of the machine if that is taken: nobody said anything.
    Usual(SocketAddr),
}

/// Why a server cannot be started.
#[derive(Debug, Error)]
pub enum NotOpen {
    /// The address cannot be had.
    #[error("cannot listen at {0}")]
    Address(SocketAddr, #[source] io::Error),
    /// The operator's token cannot be had.
    #[error("cannot let anybody in without a token")]
    Token(#[from] BadToken),
    /// Others could come, and there is no token that somebody set up for them.
    #[error("{0} can be reached from elsewhere, and nobody has set up a token")]
    Unguarded(SocketAddr, #[source] BadToken),
    /// Something about the system went wrong.
    #[error("cannot start the server")]
    Io(#[from] io::Error),
}

/// A door that is there, and not open yet.
pub struct Door {
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    pub(super) hosts: Vec<String>,
    pub(super) token: Token,
    pub(super) operator: Actor,
    pub(super) login: Login,
    pub(super) bell: watch::Sender<u64>,
    pub(super) metrics: Arc<Metrics>,
    /// The usual address, if somebody else has it.
    taken: Option<SocketAddr>,
}

impl Door {
    /// Takes the address, and sees to the token. From now on callers wait to be let in.
    pub fn find(settings: Settings) -> Result<Self, NotOpen> {
        let Settings { address, hosts, token_file, operator } = settings;
        let token = guard(address, &token_file)?;
        let (listener, elsewhere) = listen(address)?;
        let address = listener.local_addr()?;
        let login = Login::new(&token)?;
        let (bell, _) = watch::channel(0);
        let metrics = Arc::default();
        Ok(Self {
            listener,
            address,
            hosts,
            token,
            operator,
            login,
            bell,
            metrics,
            taken: elsewhere,
        })
    }

    /// Returns where it is, as one writes it into a browser.
    pub fn url(&self) -> String {
        let ip = match self.address.ip() {
            ip if ip.is_unspecified() && ip.is_ipv6() => "[::1]".to_owned(),
            ip if ip.is_unspecified() => "127.0.0.1".to_owned(),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        format!("http://{ip}:{}", self.address.port())
    }

    /// Returns the link that signs a browser in, once.
    pub fn login(&self) -> String {
        format!("{}/login?code={}", self.url(), self.login.code().unwrap_or_default())
    }

    /// Returns the usual address, if somebody else has it.
    pub fn taken(&self) -> Option<SocketAddr> {
        self.taken
    }

    /// Returns what must be called whenever something was committed.
    pub fn bell(&self) -> impl Fn() + Send + Sync + 'static {
        let bell = self.bell.clone();
        move || bell.send_modify(|rung| *rung = rung.wrapping_add(1))
    }

    /// Returns what must be called whenever the engine did something that is counted.
    pub fn meter(&self) -> impl Fn(Pulse) + Send + 'static {
        let metrics = Arc::clone(&self.metrics);
        move |pulse| metrics.count(pulse)
    }

    /// Lets callers in, until what is returned is dropped.
    pub fn open(self, office: Arc<dyn Office>) -> io::Result<Server> {
        serve::start(self, office)
    }
}

/// Finds the token. Where others can come, somebody must have thought of one.
fn guard(address: Address, file: &std::path::Path) -> Result<Token, NotOpen> {
    let (Address::Asked(at) | Address::Usual(at)) = address;
    if at.ip().is_loopback() {
        return Ok(Token::open(file)?);
    }
    match Token::read(file) {
        Err(missing @ BadToken::Missing(_)) => Err(NotOpen::Unguarded(at, missing)),
        read => Ok(read?),
    }
}

fn listen(address: Address) -> Result<(TcpListener, Option<SocketAddr>), NotOpen> {
    let bind = |at| TcpListener::bind(at).map_err(|error| NotOpen::Address(at, error));
    let (listener, taken) = match address {
        Address::Asked(at) => (bind(at)?, None),
        Address::Usual(at) => match bind(at) {
            Err(NotOpen::Address(_, error)) if error.kind() == io::ErrorKind::AddrInUse => {
                (bind(SocketAddr::new(at.ip(), 0))?, Some(at))
            }
            bound => (bound?, None),
        },
    };
    listener.set_nonblocking(true)?;
    Ok((listener, taken))
}
