//! Runs the server in its own thread: connections, their number and their timeouts.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::connections::{ConnectionPlace, OpenConnections, served_body};
use super::endpoint::BoundServer;
use super::request_checks::AllowedHosts;
use super::sessions::BrowserSessions;
use super::sign_in_code::RedeemedCodes;
use super::{ServerState, SharedState, routes};
use crate::project_access::ProjectAccess;

/// How long a client may take to send the head of a request, and how long it may stay idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a client may take to read the next piece of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long open calls may take to finish at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The most threads for blocking work.
const BLOCKING_THREADS_MAX: usize = 32;
/// How long an idle thread for blocking work is kept.
const BLOCKING_THREAD_IDLE: Duration = Duration::from_secs(2);
/// The largest request head.
const HEAD_BYTES_MAX: usize = 32 * 1024;
const HEADERS_MAX: usize = 64;

/// A running server; dropping it shuts it down.
pub struct HttpServer {
    closing: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

pub(super) fn start(
    bound_server: BoundServer,
    project: Arc<ProjectAccess>,
) -> io::Result<HttpServer> {
    let (closing, is_closing) = watch::channel(false);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_keep_alive(BLOCKING_THREAD_IDLE)
        .thread_name("http")
        .build()?;
    let thread = thread::Builder::new().name("http".to_owned()).spawn(move || {
        runtime.block_on(run(bound_server, project, is_closing));
        runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    })?;
    Ok(HttpServer { closing, thread: Some(thread) })
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.closing.send(true);
        if let Some(thread) = self.thread.take() {
            // A panic in a handler was already answered as an error.
            let _ = thread.join();
        }
    }
}

async fn run(
    bound_server: BoundServer,
    project: Arc<ProjectAccess>,
    closing: watch::Receiver<bool>,
) {
    let BoundServer {
        listener,
        address,
        hosts,
        token,
        operator,
        daemon,
        tls,
        commits: bell,
        metrics,
        ..
    } = bound_server;
    let root = project.queries.root();
    let sessions = BrowserSessions::open(root, &token, address.port(), tls.is_some());
    let app: SharedState = Arc::new(ServerState {
        event_feed: super::event_feed::EventFeed::new(),
        project,
        operator,
        hosts: AllowedHosts::new(&hosts),
        has_tls: tls.is_some(),
        token,
        sessions,
        codes: RedeemedCodes::new(daemon),
        limits: super::limit::CallLimits::default(),
        refusals: super::refusal_log::RefusalLog::default(),
        idempotency: super::idempotency::IdempotencyCache::default(),
        metrics,
        fetchers: crate::mcp::FetchSessions::default(),
        figures: super::pages::FigureSums::default(),
        inbox_count: super::pages::InboxCount::default(),
        task_events: super::pages::TaskEventIndex::default(),
        closing: closing.clone(),
    });
    let following = tokio::spawn(super::event_feed::follow(Arc::clone(&app), bell.subscribe()));
    if let Ok(listener) = TcpListener::from_std(listener) {
        let protocol = ConnectionProtocol {
            router: routes::router(Arc::clone(&app)),
            tls: tls.map(TlsAcceptor::from),
        };
        accept(&listener, &protocol, closing).await;
    }
    following.abort();
    let rest = tokio::task::spawn_blocking(move || app.flush_refusals());
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, rest).await;
}

/// What every connection is served with.
#[derive(Clone)]
struct ConnectionProtocol {
    router: Router,
    tls: Option<TlsAcceptor>,
}

/// Accepts connections until shutdown. There is always room for a new one, unless the operator
/// uses all of them.
async fn accept(
    listener: &TcpListener,
    protocol: &ConnectionProtocol,
    mut closing: watch::Receiver<bool>,
) {
    let connections = OpenConnections::new();
    let leaving = closing.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = wait_for_shutdown(&mut closing) => break,
        };
        let Ok((stream, peer)) = accepted else {
            // For example, too many open files.
            connections.close_one();
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Some((place, end)) = connections.admit().await else { continue };
        let (protocol, leaving) = (protocol.clone(), leaving.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = protocol.serve(stream, peer, place, leaving) => {}
                _ = end => {}
            }
        });
    }
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, connections.wait_until_closed()).await;
}

/// Waits for shutdown.
pub(super) async fn wait_for_shutdown(closing: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, which is a shutdown, too.
    let _ = closing.wait_for(|closing| *closing).await;
}

impl ConnectionProtocol {
    async fn serve(
        self,
        stream: TcpStream,
        peer: SocketAddr,
        place: Arc<ConnectionPlace>,
        closing: watch::Receiver<bool>,
    ) {
        let _ = stream.set_nodelay(true);
        match self.tls {
            None => serve_connection(stream, peer, self.router, place, closing).await,
            Some(tls) => {
                // A client that does not finish its handshake needs no answer.
                let accepted = tokio::time::timeout(HEAD_TIMEOUT, tls.accept(stream)).await;
                if let Ok(Ok(stream)) = accepted {
                    serve_connection(stream, peer, self.router, place, closing).await;
                }
            }
        }
    }
}

/// Serves one connection, request by request.
async fn serve_connection(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    peer: SocketAddr,
    router: Router,
    place: Arc<ConnectionPlace>,
    mut closing: watch::Receiver<bool>,
) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_TIMEOUT));
    let service = service_fn(move |mut request: Request<Incoming>| {
        let (router, place) = (router.clone(), Arc::clone(&place));
        async move {
            request.extensions_mut().insert(peer);
            // A handler that keeps the request must not keep the place of its connection.
            request.extensions_mut().insert(Arc::downgrade(&place));
            let answered = router.oneshot(request.map(Body::new)).await;
            let answered = answered.map(|response| response.map(|body| served_body(body, place)));
            answered.map_err(|never: Infallible| match never {})
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    let connection = http.serve_connection(TokioIo::new(Box::pin(stream)), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // A client that disconnects needs no answer.
        _ = connection.as_mut() => {}
        () = wait_for_shutdown(&mut closing) => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, connection).await;
        }
    }
}
