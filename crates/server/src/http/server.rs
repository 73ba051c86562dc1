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
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_io_timeout::TimeoutStream;
use tower::ServiceExt;

use super::endpoint::BoundServer;
use super::request_checks::AllowedHosts;
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
    let BoundServer { listener, hosts, token, operator, login, commits: bell, metrics, .. } =
        bound_server;
    let app: SharedState = Arc::new(ServerState {
        event_feed: super::event_feed::EventFeed::new(),
        project,
        operator,
        hosts: AllowedHosts::new(&hosts),
        token,
        login,
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
        accept(&listener, &routes::router(Arc::clone(&app)), closing).await;
    }
    following.abort();
    let rest = tokio::task::spawn_blocking(move || app.flush_refusals());
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, rest).await;
}

/// Accepts connections, up to [`CONNECTIONS_MAX`](super::limit::CONNECTIONS_MAX) at
/// once, until shutdown.
async fn accept(listener: &TcpListener, router: &Router, mut closing: watch::Receiver<bool>) {
    let room = Arc::new(Semaphore::new(super::limit::CONNECTIONS_MAX));
    let leaving = closing.clone();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = wait_for_shutdown(&mut closing) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (router, leaving) = (router.clone(), leaving.clone());
                tokio::spawn(async move {
                    serve_connection(stream, peer, router, leaving).await;
                    drop(place);
                });
            }
            // For example, too many open files: other connections will close.
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
    let all = u32::try_from(super::limit::CONNECTIONS_MAX).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, room.acquire_many(all)).await;
}

/// Waits for shutdown.
pub(super) async fn wait_for_shutdown(closing: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, which is a shutdown, too.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Serves one connection, request by request.
async fn serve_connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    mut closing: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_TIMEOUT));
    let service = service_fn(move |mut request: Request<Incoming>| {
        let router = router.clone();
        async move {
            request.extensions_mut().insert(peer);
            let answered = router.oneshot(request.map(Body::new)).await;
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
