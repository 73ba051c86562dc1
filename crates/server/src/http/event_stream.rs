//! Streams the event log as server-sent events, with none lost and none repeated.
//!
//! Earlier events are read from the files, new ones are broadcast. A slow reader does not hold up
//! the others: the events it missed are read from the files again.

use std::convert::Infallible;
use std::time::Duration;

use adjutant_model::EventId;
use adjutant_store::file::EventFiles;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use super::SharedState;
use super::event_feed::{FeedEvent, FeedLine};
use super::limit::StreamPermit;

/// The interval of keep-alive comments on an idle stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The first frame: sets the browser's reconnect delay, in milliseconds.
const FIRST_FRAME: &[u8] = b": event log\nretry: 2000\n\n";
/// The keep-alive comment.
const KEEP_ALIVE_FRAME: &[u8] = b":\n\n";
/// How many frames may be queued for a slow reader.
const QUEUED_FRAMES_MAX: usize = 32;
/// The most lines that are read from the files at once.
const LINES_AT_ONCE: usize = 256;

/// Which events to send.
#[derive(Debug, Clone, Default)]
pub(super) struct EventFilter {
    pub(super) task: Option<String>,
    pub(super) types: Vec<String>,
}

impl EventFilter {
    /// Whether the event matches. A type also matches its subtypes (`task` matches `task.created`),
    /// as in the command line.
    pub(super) fn matches(&self, line: &FeedLine) -> bool {
        let of_type = |wanted: &String| {
            let rest = line.kind.strip_prefix(wanted.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.task.as_ref().is_none_or(|task| line.task.as_ref() == Some(task))
            && (self.types.is_empty() || self.types.iter().any(of_type))
    }
}

/// Streams the events after `after` and all later ones, until the client disconnects.
pub(super) fn stream_events(
    app: SharedState,
    after: u64,
    filter: EventFilter,
    seat: StreamPermit,
) -> Response {
    let (to, frames) = mpsc::channel(QUEUED_FRAMES_MAX);
    tokio::spawn(stream_until_closed(app, after, filter, to, seat));
    let first = tokio_stream::once(Bytes::from_static(FIRST_FRAME));
    let frames = first.chain(ReceiverStream::new(frames)).map(Ok::<_, Infallible>);
    let mut response = Response::new(Body::from_stream(frames));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

async fn stream_until_closed(
    app: SharedState,
    after: u64,
    filter: EventFilter,
    to: Sender<Bytes>,
    _seat: StreamPermit,
) {
    let mut closing = app.closing.clone();
    tokio::select! {
        () = send_events(&app, after, &filter, &to) => {}
        () = to.closed() => {}
        () = super::server::wait_for_shutdown(&mut closing) => {}
    }
}

async fn send_events(app: &SharedState, mut last: u64, filter: &EventFilter, to: &Sender<Bytes>) {
    // Subscribe before reading the files: no event is missed, and repeats are skipped
    // by their number.
    let mut news = app.event_feed.subscribe();
    loop {
        if catch_up(app, &mut last, filter, to).await.is_none() {
            return;
        }
        loop {
            match timeout(KEEP_ALIVE, news.recv()).await {
                Ok(Ok(FeedEvent { line, .. })) if line.id <= last => {}
                // Events in between are missing: read them from the files.
                Ok(Ok(FeedEvent { line, .. })) if line.id > last + 1 => break,
                Ok(Ok(FeedEvent { line, frame })) => {
                    last = line.id;
                    if filter.matches(&line) && to.send(frame).await.is_err() {
                        return;
                    }
                }
                Ok(Err(RecvError::Lagged(_))) => break,
                Ok(Err(RecvError::Closed)) => return,
                Err(_) if to.send(Bytes::from_static(KEEP_ALIVE_FRAME)).await.is_err() => return,
                Err(_) => {}
            }
        }
    }
}

/// Sends all events in the files after `last`. Returns `None` if the client has disconnected or the
/// files cannot be read.
async fn catch_up(
    app: &SharedState,
    last: &mut u64,
    filter: &EventFilter,
    to: &Sender<Bytes>,
) -> Option<()> {
    let root = app.project.queries.root().to_owned();
    let after = EventId(*last);
    let opened = tokio::task::spawn_blocking(move || EventFiles::after(&root, after)).await;
    let mut files = opened.ok()?.ok()?;
    loop {
        let read = tokio::task::spawn_blocking(move || {
            let mut lines = Vec::new();
            while lines.len() < LINES_AT_ONCE {
                match files.next_line() {
                    Ok(Some(line)) => lines.extend(FeedLine::parse(line.bytes)),
                    Ok(None) => break,
                    Err(_) => return None,
                }
            }
            Some((files, lines))
        });
        let (read, lines) = read.await.ok().flatten()?;
        files = read;
        if lines.is_empty() {
            return Some(());
        }
        for line in lines.into_iter().filter(|line| line.id > after.0) {
            *last = (*last).max(line.id);
            if filter.matches(&line) {
                to.send(line.to_frame()).await.ok()?;
            }
        }
    }
}
