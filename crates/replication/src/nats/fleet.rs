//! A connection to the NATS servers of a fleet.

use std::error::Error as _;
use std::future::Future;
use std::sync::{Arc, LazyLock, mpsc};
use std::time::Duration;

use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectError, ConnectErrorKind, ConnectOptions};
use tokio::runtime::{Builder, Runtime};

use crate::nats::error::{ErrorCause, FleetError};
use crate::nats::node_signer::NodeSigner;
use crate::nats::options::{FleetOptions, LoginSeed, OptionsError, ServerLogin};
use crate::nats::roster::NodeRoster;
use crate::nats::run_logs::LogPositions;
use crate::nats::server_check;
use crate::nats::signing::MessageSession;

/// Runs everything that waits for the network on threads of its own, so that callers can block.
static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    Builder::new_multi_thread().worker_threads(2).thread_name("fleet").enable_all().build()
});

/// The timeout of one request to the servers; a lost answer is requested again.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

/// How often an idle connection is pinged.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// A connection to the servers of a fleet. Clones share it.
#[derive(Clone)]
pub struct FleetConnection {
    inner: Arc<ConnectionState>,
}

struct ConnectionState {
    options: FleetOptions,
    client: Client,
    jetstream_context: Context,
    roster: NodeRoster,
    log_positions: LogPositions,
    session: MessageSession,
}

impl FleetConnection {
    /// Connects, and checks that the servers are durable enough.
    pub fn connect(options: &FleetOptions) -> Result<Self, FleetError> {
        options.check()?;
        let options = options.clone();
        let fleet = spawn_work(async move { Self::open(options).await }).wait()?;
        fleet.wait(server_check::check_servers)?;
        Ok(fleet)
    }

    async fn open(options: FleetOptions) -> Result<Self, FleetError> {
        let signer = options.signer.clone().ok_or_else(no_key_error)?;
        let client = connect_client(&options, &signer).await?;
        let session = MessageSession::new(signer, client.new_inbox(), client.new_inbox());
        let stream = jetstream::context::ContextBuilder::new()
            .timeout(REQUEST_TIMEOUT)
            .build(client.clone());
        let (roster, log_places) = (NodeRoster::default(), LogPositions::default());
        Ok(Self {
            inner: Arc::new(ConnectionState {
                options,
                client,
                jetstream_context: stream,
                roster,
                log_positions: log_places,
                session,
            }),
        })
    }

    pub fn options(&self) -> &FleetOptions {
        &self.inner.options
    }

    pub(crate) fn connect_client(&self) -> &Client {
        &self.inner.client
    }

    pub(crate) fn jetstream(&self) -> &Context {
        &self.inner.jetstream_context
    }

    pub(crate) fn roster(&self) -> &NodeRoster {
        &self.inner.roster
    }

    pub(crate) fn log_positions(&self) -> &LogPositions {
        &self.inner.log_positions
    }

    pub(crate) fn session(&self) -> &MessageSession {
        &self.inner.session
    }

    /// Returns the name of a stream or bucket of this project.
    pub(crate) fn name(&self, of: &str) -> String {
        format!("{}_{of}", self.options().prefix)
    }

    /// Returns the subject of a message of this project.
    pub(crate) fn subject(&self, of: &str) -> String {
        format!("{}.{of}", self.options().prefix)
    }

    /// Returns a function that wraps a cause in an error about `attempt`.
    pub(crate) fn unreachable(
        &self,
        attempt: &'static str,
    ) -> impl FnOnce(ErrorCause) -> FleetError + use<> {
        let servers = self.options().display_addresses();
        move |source| FleetError::Unreachable { attempt, servers, source }
    }

    /// Runs network work and blocks until it is done.
    pub(crate) fn wait<T, F>(&self, work: impl FnOnce(Self) -> F) -> T
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        self.spawn(work).wait()
    }

    /// Starts network work without waiting for it.
    pub(crate) fn spawn<T, F>(&self, work: impl FnOnce(Self) -> F) -> NetworkTask<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        spawn_work(work(self.clone()))
    }
}

/// Network work that was started.
pub(crate) struct NetworkTask<T>(mpsc::Receiver<T>);

impl<T> NetworkTask<T> {
    /// Blocks until the work is done.
    pub(crate) fn wait(self) -> T {
        self.0.recv().expect("work that waits for the network does not panic")
    }
}

/// Starts work on this module's runtime. The caller may itself be inside a runtime, which must not
/// be entered twice, so it only waits on a channel.
fn spawn_work<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> NetworkTask<T> {
    let (tell, result) = mpsc::sync_channel(1);
    let runtime = RUNTIME.as_ref().expect("a process that has no threads left is at its end");
    runtime.spawn(async move { drop(tell.send(work.await)) });
    NetworkTask(result)
}

fn no_key_error() -> FleetError {
    FleetError::Options(OptionsError(vec!["this node has no key".to_owned()]))
}

async fn connect_client(options: &FleetOptions, signer: &NodeSigner) -> Result<Client, FleetError> {
    let addresses = options.addresses()?;
    // Each node has inboxes of its own, so that the servers can keep other users out of them.
    let base = base_options().custom_inbox_prefix(format!("_INBOX.{}", signer.node()));
    let connect = with_login(with_tls(base, options), options);
    let connect = with_credentials(connect, options).await?;
    connect.connect(addresses).await.map_err(|error| connect_error(options, error))
}

/// Tells a refusal from an unreachable server. A server that refuses does so again; a server that
/// does not answer may not be up yet.
fn connect_error(options: &FleetOptions, error: ConnectError) -> FleetError {
    let servers = options.display_addresses();
    let is_refusal = match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => true,
        _ => is_tls_error(&error),
    };
    let source: ErrorCause = error.into();
    if is_refusal {
        return FleetError::Refused { servers, source };
    }
    FleetError::Unreachable { attempt: "connect", servers, source }
}

/// Returns whether TLS failed: the client reports that as invalid data.
fn is_tls_error(error: &ConnectError) -> bool {
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

/// Reconnects for as long as the process lives. A connection that has gone silent, for example
/// because the machine changed its network, counts as lost after three pings.
fn base_options() -> ConnectOptions {
    ConnectOptions::new()
        .name("adjutant")
        .connection_timeout(Duration::from_secs(5))
        .request_timeout(Some(REQUEST_TIMEOUT))
        .ping_interval(PING_INTERVAL)
        .max_reconnects(None)
        .reconnect_delay_callback(|tries| {
            Duration::from_millis(u64::try_from(tries).unwrap_or(20).min(20) * 25)
        })
}

fn with_tls(connect: ConnectOptions, options: &FleetOptions) -> ConnectOptions {
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

/// Passes the login separately: the client gets addresses without it, so it cannot log it.
fn with_login(connect: ConnectOptions, options: &FleetOptions) -> ConnectOptions {
    match options.login() {
        Some(ServerLogin::Password(user, password)) => connect.user_and_password(user, password),
        Some(ServerLogin::Token(token)) => connect.token(token),
        None => match &options.login_seed {
            Some(LoginSeed(seed)) => connect.nkey(seed.clone()),
            None => connect,
        },
    }
}

async fn with_credentials(
    connect: ConnectOptions,
    options: &FleetOptions,
) -> Result<ConnectOptions, FleetError> {
    let Some(path) = &options.credentials else { return Ok(connect) };
    let file = |source| FleetError::File { path: path.clone(), source };
    connect.credentials_file(path).await.map_err(file)
}
