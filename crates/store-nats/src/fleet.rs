//! A connection to the servers of a fleet.

use std::future::Future;
use std::sync::{Arc, LazyLock, mpsc};
use std::time::Duration;

use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions, ServerAddr};
use tokio::runtime::{Builder, Runtime};

use crate::check;
use crate::error::{Cause, FleetError};
use crate::logs::LogPlaces;
use crate::options::Options;
use crate::roster::Roster;

/// Everything that waits for the network, on threads of its own: whoever asks just waits.
static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    Builder::new_multi_thread().worker_threads(2).thread_name("fleet").enable_all().build()
});

/// How long one question to the servers may take; a lost answer is asked for again.
const ANSWER: Duration = Duration::from_secs(3);

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
        let fleet = wait(async move { Self::reach(options).await })?;
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
        wait(work(self.clone()))
    }
}

/// The caller may itself be in a runtime, which must not be entered twice: so the work is done on
/// a thread of ours, and only its end is waited for.
fn wait<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let (tell, told) = mpsc::sync_channel(1);
    let runtime = RUNTIME.as_ref().expect("a process that has no threads left is at its end");
    runtime.spawn(async move { drop(tell.send(work.await)) });
    told.recv().expect("work that waits for the network does not panic")
}

async fn client(options: &Options) -> Result<Client, FleetError> {
    let servers: Result<Vec<ServerAddr>, _> =
        options.servers.iter().map(|server| server.parse()).collect();
    let unreachable = |source: Cause| FleetError::Unreachable {
        attempt: "connect",
        servers: options.shown(),
        source,
    };
    let servers = servers.map_err(|error| unreachable(error.into()))?;
    let connect = with_password(with_tls(basic(), options), &servers);
    let connect = with_credentials(connect, options).await?;
    connect.connect(servers).await.map_err(|error| unreachable(error.into()))
}

/// A connection that is lost is sought again for as long as the process lives.
fn basic() -> ConnectOptions {
    ConnectOptions::new()
        .name("adjutant")
        .connection_timeout(Duration::from_secs(5))
        .request_timeout(Some(ANSWER))
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

/// The client does not look for a name and a password in the addresses itself.
fn with_password(connect: ConnectOptions, servers: &[ServerAddr]) -> ConnectOptions {
    let named = servers.iter().find_map(|server| Some((server.username()?, server.password()?)));
    match named {
        Some((user, password)) => connect.user_and_password(user.to_owned(), password.to_owned()),
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
