//! The server in a thread of its own: connections, how many and how slow they may be.

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

use super::door::Door;
use super::gate::Gate;
use super::{App, Shared, routes};
use crate::office::Office;

/// How long a caller may take to say what it wants, and how long it may say nothing.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// How long a caller may take to read the next piece of what it is told.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// How long calls there are may take when the server ends.
const LEAVING_TIME: Duration = Duration::from_secs(2);
/// How long to wait when no connection can be had for now.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The most threads that wait for a disk.
const BLOCKING_MAX: usize = 32;
/// How long a thread that has nothing to do stays.
const BLOCKING_KEEP: Duration = Duration::from_secs(2);
/// The most bytes of a head.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// The most headers of a call.
const HEADERS_MAX: usize = 64;

/// A server that lets callers in until it is dropped.
pub struct Server {
    closing: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// Starts the server.
pub(super) fn start(door: Door, office: Arc<dyn Office>) -> io::Result<Server> {
    let (closing, is_closing) = watch::channel(false);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_MAX)
        .thread_keep_alive(BLOCKING_KEEP)
        .thread_name("http")
        .build()?;
    let thread = thread::Builder::new().name("http".to_owned()).spawn(move || {
        runtime.block_on(run(door, office, is_closing));
        runtime.shutdown_timeout(LEAVING_TIME);
    })?;
    Ok(Server { closing, thread: Some(thread) })
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.closing.send(true);
        if let Some(thread) = self.thread.take() {
            // A panic there was told to whoever called.
            let _ = thread.join();
        }
    }
}

async fn run(door: Door, office: Arc<dyn Office>, closing: watch::Receiver<bool>) {
    let Door { listener, hosts, token, operator, login, bell, metrics, .. } = door;
    let app: App = Arc::new(Shared {
        record: super::record::Record::new(),
        office,
        operator,
        gate: Gate::new(&hosts),
        token,
        login,
        limits: super::limit::Limits::default(),
        refusals: super::refusals::Refusals::default(),
        kept: super::idempotency::Kept::default(),
        metrics,
        fetchers: crate::mcp::Fetchers::default(),
        sums: super::pages::Sums::default(),
        waiting: super::pages::Waiting::default(),
        trail: super::pages::Trail::default(),
        closing: closing.clone(),
    });
    let following = tokio::spawn(super::record::follow(Arc::clone(&app), bell.subscribe()));
    if let Ok(listener) = TcpListener::from_std(listener) {
        accept(&listener, &routes::router(Arc::clone(&app)), closing).await;
    }
    following.abort();
    let rest = tokio::task::spawn_blocking(move || app.write_down_rest());
    let _ = tokio::time::timeout(LEAVING_TIME, rest).await;
}

/// Takes connections, as many at once as there is room for, until the server ends.
async fn accept(listener: &TcpListener, router: &Router, mut closing: watch::Receiver<bool>) {
    let room = Arc::new(Semaphore::new(super::limit::CONNECTIONS_MAX));
    let leaving = closing.clone();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = closed(&mut closing) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (router, leaving) = (router.clone(), leaving.clone());
                tokio::spawn(async move {
                    attend(stream, peer, router, leaving).await;
                    drop(place);
                });
            }
            // Too many open files, say: they become fewer.
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
    let all = u32::try_from(super::limit::CONNECTIONS_MAX).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(LEAVING_TIME, room.acquire_many(all)).await;
}

/// Waits until the server is about to end.
pub(super) async fn closed(closing: &mut watch::Receiver<bool>) {
    // Whoever would say so is gone as well.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Attends to one connection, call by call.
async fn attend(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    mut closing: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_TIME));
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
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX);
    let connection = http.serve_connection(TokioIo::new(Box::pin(stream)), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // Whoever breaks off needs no answer.
        _ = connection.as_mut() => {}
        () = closed(&mut closing) => {
            connection.as_mut().graceful_shutdown();
            let _ = tokio::time::timeout(LEAVING_TIME, connection).await;
        }
    }
}
