//! The record for those who follow it: server-sent events, none lost and none twice.
//!
//! What was before is read from the files, what comes after is passed on as it comes. Who reads
//! too slowly is not waited for: what it missed is read from the files again.

use std::convert::Infallible;
use std::time::Duration;

use adjutant_core::EventId;
use adjutant_store::file::EventFiles;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc::{self, Sender};
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;

use super::App;
use super::limit::Seat;
use super::record::{Line, News};

/// How often somebody who is told nothing is told that.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// What is sent first: how soon a browser should come back when it was cut off, in milliseconds.
const FIRST: &[u8] = b": the record\nretry: 2000\n\n";
/// What is sent when there is nothing to tell.
const NOTHING: &[u8] = b":\n\n";
/// How much waits for one who follows.
const WAITING_MAX: usize = 32;
/// The most lines of the files that are read at once.
const PIECE: usize = 256;

/// Which events are wanted.
#[derive(Debug, Clone, Default)]
pub(super) struct Filter {
    pub(super) task: Option<String>,
    pub(super) types: Vec<String>,
}

impl Filter {
    /// Says whether an event is wanted. A type stands for all that begin with it, as in the
    /// command.
    pub(super) fn wants(&self, line: &Line) -> bool {
        let of_type = |wanted: &String| {
            let rest = line.kind.strip_prefix(wanted.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.task.as_ref().is_none_or(|task| line.task.as_ref() == Some(task))
            && (self.types.is_empty() || self.types.iter().any(of_type))
    }
}

/// Tells of every event after this one, and of those that come, for as long as somebody listens.
pub(super) fn events(app: App, after: u64, filter: Filter, seat: Seat) -> Response {
    let (to, frames) = mpsc::channel(WAITING_MAX);
    tokio::spawn(tell(app, after, filter, to, seat));
    let first = tokio_stream::once(Bytes::from_static(FIRST));
    let frames = first.chain(ReceiverStream::new(frames)).map(Ok::<_, Infallible>);
    let mut response = Response::new(Body::from_stream(frames));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

async fn tell(app: App, after: u64, filter: Filter, to: Sender<Bytes>, _seat: Seat) {
    let mut closing = app.closing.clone();
    tokio::select! {
        () = go_on(&app, after, &filter, &to) => {}
        () = to.closed() => {}
        () = super::serve::closed(&mut closing) => {}
    }
}

async fn go_on(app: &App, mut last: u64, filter: &Filter, to: &Sender<Bytes>) {
    // What comes while the files are read is not missed, and is known by its number.
    let mut news = app.record.listen();
    loop {
        if catch_up(app, &mut last, filter, to).await.is_none() {
            return;
        }
        loop {
            match timeout(KEEP_ALIVE, news.recv()).await {
                Ok(Ok(News { line, .. })) if line.id <= last => {}
                // Something is missing in between: it is in the files.
                Ok(Ok(News { line, .. })) if line.id > last + 1 => break,
                Ok(Ok(News { line, frame })) => {
                    last = line.id;
                    if filter.wants(&line) && to.send(frame).await.is_err() {
                        return;
                    }
                }
                Ok(Err(RecvError::Lagged(_))) => break,
                Ok(Err(RecvError::Closed)) => return,
                Err(_) if to.send(Bytes::from_static(NOTHING)).await.is_err() => return,
                Err(_) => {}
            }
        }
    }
}

/// Passes on everything that is in the files after an event; none if nobody listens any more.
async fn catch_up(app: &App, last: &mut u64, filter: &Filter, to: &Sender<Bytes>) -> Option<()> {
    let root = app.office.root().to_owned();
    let after = EventId(*last);
    let opened = tokio::task::spawn_blocking(move || EventFiles::after(&root, after)).await;
    let mut files = opened.ok()?.ok()?;
    loop {
        let read = tokio::task::spawn_blocking(move || {
            let mut lines = Vec::new();
            while lines.len() < PIECE {
                match files.next_line() {
                    Ok(Some(line)) => lines.extend(Line::read(line.bytes)),
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
            if filter.wants(&line) {
                to.send(line.frame()).await.ok()?;
            }
        }
    }
}
