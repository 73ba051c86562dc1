//! A connection to the servers of a fleet.

use std::error::Error as _;
use std::future::Future;
use std::sync::{Arc, LazyLock, mpsc};
use std::time::Duration;

use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions};
use tokio::runtime::{Builder, Runtime};

use crate::check;
use crate::error::{Cause, FleetError};
use crate::logs::LogPlaces;
use crate::options::{Login, Options};
use crate::roster::Roster;

/// Everything that waits for the network, on threads of its own: whoever asks just waits.
static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    Builder::new_multi_thread().worker_threads(2).thread_name("fleet").enable_all().build()
});

/// How long one question to the servers may take; a lost answer is asked for again.
const ANSWER: Duration = Duration::from_secs(3);

/// How often the connection is tried that says nothing.
const PING: Duration = Duration::from_secs(5);

/// A connection to the servers of a fleet, shared by whoever needs it.
#[derive(Clone)]
pub struct Fleet {
    inner: Arc<Inner>,
}

struct Inner {
    options: Options,
    client: Client,
    stream: Context,
    roster: Roster,
    log_places: LogPlaces,
}

impl Fleet {
    /// Connects, and checks that the servers can keep what is promised.
    pub fn connect(options: &Options) -> Result<Self, FleetError> {
        options.check()?;
        let options = options.clone();
        let fleet = begin(async move { Self::reach(options).await }).wait()?;
        fleet.wait(check::servers)?;
        Ok(fleet)
    }

    async fn reach(options: Options) -> Result<Self, FleetError> {
        let client = client(&options).await?;
        let stream =
            jetstream::context::ContextBuilder::new().timeout(ANSWER).build(client.clone());
        let (roster, log_places) = (Roster::default(), LogPlaces::default());
        Ok(Self { inner: Arc::new(Inner { options, client, stream, roster, log_places }) })
    }

    /// Returns how the fleet is reached.
    pub fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Returns the connection.
    pub(crate) fn client(&self) -> &Client {
        &self.inner.client
    }

    /// Returns the way to streams.
    pub(crate) fn streams(&self) -> &Context {
        &self.inner.stream
    }

    /// Returns who is there.
    pub(crate) fn roster(&self) -> &Roster {
        &self.inner.roster
    }

    /// Returns how far logs were read.
    pub(crate) fn log_places(&self) -> &LogPlaces {
        &self.inner.log_places
    }

    /// Returns what a stream or a bucket of this project is called.
    pub(crate) fn name(&self, of: &str) -> String {
        format!("{}_{of}", self.options().prefix)
    }

    /// Returns the subject of a message of this project.
    pub(crate) fn subject(&self, of: &str) -> String {
        format!("{}.{of}", self.options().prefix)
    }

    /// Says that something could not be done.
    pub(crate) fn unreachable(
        &self,
        attempt: &'static str,
    ) -> impl FnOnce(Cause) -> FleetError + use<> {
        let servers = self.options().shown();
        move |source| FleetError::Unreachable { attempt, servers, source }
    }

    /// Does something that waits for the network, and waits for it here.
    pub(crate) fn wait<T, F>(&self, work: impl FnOnce(Self) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.begin(work).wait()
    }

    /// Begins to do something that waits for the network.
    pub(crate) fn begin<T, F>(&self, work: impl FnOnce(Self) -> F) -> Begun<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        begin(work(self.clone()))
    }
}

/// Something that waits for the network.
pub(crate) struct Begun<T>(mpsc::Receiver<T>);

impl<T> Begun<T> {
    /// Waits until it is done.
    pub(crate) fn wait(self) -> T {
        self.0.recv().expect("work that waits for the network does not panic")
    }
}

/// The caller may itself be in a runtime, which must not be entered twice: so the work is done on
/// a thread of ours, and only its end is waited for.
fn begin<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Begun<T> {
    let (tell, told) = mpsc::sync_channel(1);
    let runtime = RUNTIME.as_ref().expect("a process that has no threads left is at its end");
    runtime.spawn(async move { drop(tell.send(work.await)) });
    Begun(told)
}

async fn client(options: &Options) -> Result<Client, FleetError> {
    let addresses = options.addresses()?;
    let connect = with_login(with_tls(basic(), options), options);
    let connect = with_credentials(connect, options).await?;
    connect.connect(addresses).await.map_err(|error| not_connected(options, error))
}

/// Servers that answer and say no will say so again; others may not be up yet.
fn not_connected(options: &Options, error: ConnectError) -> FleetError {
    let servers = options.shown();
    let is_refusal = match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => true,
        _ => is_about_certificates(&error),
    };
    let source: Cause = error.into();
    if is_refusal {
        return FleetError::Refused { servers, source };
    }
    FleetError::Unreachable { attempt: "connect", servers, source }
}

/// What TLS has to say comes as data that makes no sense.
fn is_about_certificates(error: &ConnectError) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        let io = error.downcast_ref::<std::io::Error>();
        if io.is_some_and(|io| io.kind() == std::io::ErrorKind::InvalidData) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// A connection that is lost is sought again for as long as the process lives. One that has gone
/// silent, as when a machine has changed its network, is known for lost after three pings.
fn basic() -> ConnectOptions {
    ConnectOptions::new()
        .name("adjutant")
        .connection_timeout(Duration::from_secs(5))
        .request_timeout(Some(ANSWER))
        .ping_interval(PING)
        .max_reconnects(None)
        .reconnect_delay_callback(|tries| {
            Duration::from_millis(u64::try_from(tries).unwrap_or(20).min(20) * 25)
        })
}

fn with_tls(connect: ConnectOptions, options: &Options) -> ConnectOptions {
    let connect = match &options.tls.ca {
        Some(ca) => connect.add_root_certificates(ca.clone()).require_tls(true),
        None => connect,
    };
    match &options.tls.client {
        Some((cert, key)) => {
            connect.add_client_certificate(cert.clone(), key.clone()).require_tls(true)
        }
        None => connect,
    }
}

/// The client is told the addresses without it, so that it cannot write it into a log.
fn with_login(connect: ConnectOptions, options: &Options) -> ConnectOptions {
    match options.login() {
        Some(Login::Password(user, password)) => connect.user_and_password(user, password),
        Some(Login::Token(token)) => connect.token(token),
        None => connect,
    }
}

async fn with_credentials(
    connect: ConnectOptions,
    options: &Options,
) -> Result<ConnectOptions, FleetError> {
    let Some(path) = &options.credentials else { return Ok(connect) };
    let file = |source| FleetError::File { path: path.clone(), source };
    connect.credentials_file(path).await.map_err(file)
}
