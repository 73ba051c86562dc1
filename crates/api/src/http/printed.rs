//! What a run prints: all of it, a part of it, or as it comes.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use adjutant_runtime::shim::files::{Folder, LOG, LOG_BEFORE};
use adjutant_runtime::supervisor::{Life, life};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::App;
use super::gate::header_text;
use super::limit::Seat;
use super::problem::Problem;
use crate::office::{LogPlace, Printed};

/// How much is read at once.
const PIECE: usize = 64 * 1024;
/// How much waits for one who reads.
const WAITING_MAX: usize = 4;
/// How long to wait before looking for more; only while somebody follows.
const PAUSE: Duration = Duration::from_millis(200);

/// The log of a run as one, across its files or from elsewhere.
pub(super) struct Log {
    pages: Pages,
    length: u64,
    /// Whether nothing will be added.
    is_over: bool,
}

enum Pages {
    Files(Vec<(File, u64)>),
    Held(Arc<Vec<u8>>),
}

impl Log {
    /// Opens what there is.
    pub(super) fn open(place: &LogPlace) -> io::Result<Self> {
        match place {
            LogPlace::Here(folder) => {
                // Asked before it is read: what a run printed is all there when it is over.
                let alive = matches!(life(&Folder::at(folder)), Ok(Life::Alive | Life::Unknown));
                Self::of_files(folder, !alive)
            }
            LogPlace::Elsewhere(log) => {
                let (held, is_over) = log.read()?;
                Ok(Self { length: held.len() as u64, pages: Pages::Held(held), is_over })
            }
        }
    }

    /// Opens the files, the latest first, so that nothing is missed if one is put aside meanwhile.
    fn of_files(folder: &Path, is_over: bool) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let latest = open(&folder.join(LOG))?;
        let before = open(&folder.join(LOG_BEFORE))?;
        let inode = |file: &File| file.metadata().map(|stat| stat.ino()).ok();
        let same = latest.as_ref().and_then(inode) == before.as_ref().and_then(inode);
        let before = before.filter(|_| latest.is_none() || !same);
        let mut files = Vec::new();
        for file in before.into_iter().chain(latest) {
            let length = file.metadata()?.len();
            files.push((file, length));
        }
        let length = files.iter().map(|(_, length)| length).sum();
        Ok(Self { pages: Pages::Files(files), length, is_over })
    }

    /// Returns how long it is, in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Reads a piece from a place on; less at the end of a file, nothing at the end of all.
    pub(super) fn read(&mut self, from: u64, most: u64) -> io::Result<Vec<u8>> {
        match &mut self.pages {
            Pages::Files(files) => read_files(files, from, most),
            Pages::Held(held) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX).min(held.len());
                let most = usize::try_from(most).unwrap_or(usize::MAX).min(PIECE);
                Ok(held[from..held.len().min(from.saturating_add(most))].to_vec())
            }
        }
    }
}

fn read_files(files: &mut [(File, u64)], mut from: u64, most: u64) -> io::Result<Vec<u8>> {
    for (file, length) in files {
        if from < *length {
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            let most = most.min(*length - from).min(PIECE as u64);
            file.take(most).read_to_end(&mut bytes)?;
            return Ok(bytes);
        }
        from -= *length;
    }
    Ok(vec![])
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Answers with what a run has printed, or with the part that was asked for.
pub(super) async fn part(printed: Printed, headers: &HeaderMap) -> Result<Response, Problem> {
    let place = printed.place.clone();
    let opened = tokio::task::spawn_blocking(move || Log::open(&place)).await;
    let log = opened.map_err(|_| Problem::bug())?.map_err(|error| unreadable(&error))?;
    let length = log.length;
    let asked = header_text(headers, "range");
    let (status, from, until) = match range(asked, length) {
        Asked::All => (StatusCode::OK, 0, length),
        Asked::Part(from, until) => (StatusCode::PARTIAL_CONTENT, from, until),
        Asked::Nothing => return Ok(out_of_range(length)),
    };
    let mut response = Response::new(sent(log, from, until));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    describe(headers, &printed);
    headers.insert(header::CONTENT_LENGTH, (until - from).into());
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {from}-{}/{length}", until - 1);
        headers.insert(
            header::CONTENT_RANGE,
            HeaderValue::from_str(&range).map_err(|_| Problem::bug())?,
        );
    }
    Ok(response)
}

fn describe(headers: &mut HeaderMap, printed: &Printed) {
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, text);
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert("adjutant-attempt", printed.attempt.into());
    let state = if printed.is_over { "over" } else { "running" };
    headers.insert("adjutant-run", HeaderValue::from_static(state));
}

fn out_of_range(length: u64) -> Response {
    let title = "There is nothing in this range.";
    let problem = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range_not_satisfiable", title);
    let mut response = problem.into_response();
    if let Ok(range) = HeaderValue::from_str(&format!("bytes */{length}")) {
        response.headers_mut().insert(header::CONTENT_RANGE, range);
    }
    response
}

enum Asked {
    All,
    /// From the first, up to the second.
    Part(u64, u64),
    Nothing,
}

/// Reads which part is asked for. What makes no sense, or asks for several, asks for all.
fn range(text: &str, length: u64) -> Asked {
    let parts = text.strip_prefix("bytes=").and_then(|part| part.split_once('-'));
    let Some((from, until)) = parts else { return Asked::All };
    let number = |text: &str| text.parse::<u64>().ok();
    match (number(from), number(until)) {
        (None, Some(last)) if from.is_empty() => match last {
            0 => Asked::Nothing,
            _ if length == 0 => Asked::Nothing,
            last => Asked::Part(length.saturating_sub(last), length),
        },
        (Some(from), until_end) if until.is_empty() || until_end.is_some_and(|end| end >= from) => {
            if from >= length {
                return Asked::Nothing;
            }
            Asked::Part(from, until_end.map_or(length, |end| end.saturating_add(1).min(length)))
        }
        _ => Asked::All,
    }
}

/// Sends a part, piece by piece, as fast as it is read.
fn sent(mut log: Log, from: u64, until: u64) -> Body {
    let (to, pieces) = mpsc::channel::<io::Result<Bytes>>(WAITING_MAX);
    tokio::task::spawn_blocking(move || {
        let mut at = from;
        while at < until {
            match log.read(at, until - at) {
                Ok(piece) if piece.is_empty() => break,
                Ok(piece) => {
                    at += piece.len() as u64;
                    if to.blocking_send(Ok(piece.into())).is_err() {
                        break;
                    }
                }
                Err(error) => {
                    let _ = to.blocking_send(Err(error));
                    break;
                }
            }
        }
    });
    Body::from_stream(ReceiverStream::new(pieces))
}

/// Answers with what a run has printed from a place on, and with what it prints, until it is over.
pub(super) fn follow(app: App, printed: &Printed, from: u64, seat: Seat) -> Response {
    let (to, pieces) = mpsc::channel::<io::Result<Bytes>>(WAITING_MAX);
    let place = printed.place.clone();
    tokio::spawn(async move {
        let mut closing = app.closing.clone();
        tokio::select! {
            () = pass_on(place, from, &to) => {}
            () = to.closed() => {}
            () = super::serve::closed(&mut closing) => {}
        }
        drop(seat);
    });
    let mut response = Response::new(Body::from_stream(ReceiverStream::new(pieces)));
    describe(response.headers_mut(), printed);
    response
}

async fn pass_on(place: LogPlace, mut at: u64, to: &mpsc::Sender<io::Result<Bytes>>) {
    loop {
        let looked = place.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut log = Log::open(&looked)?;
            Ok::<_, io::Error>((log.is_over, log.read(at, PIECE as u64)?))
        });
        let Ok(Ok((over, piece))) = read.await else { return };
        let nothing = piece.is_empty();
        at += piece.len() as u64;
        if !nothing && to.send(Ok(piece.into())).await.is_err() {
            return;
        }
        if nothing && over {
            return;
        }
        if nothing {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn unreadable(error: &io::Error) -> Problem {
    let title = "What the run printed cannot be read.";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "io", title).detail(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str, length: u64) -> String {
        match range(text, length) {
            Asked::All => "all".to_owned(),
            Asked::Part(from, until) => format!("{from}..{until}"),
            Asked::Nothing => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_range_is_read_as_the_standard_has_it() {
        assert_eq!(asked("bytes=0-3", 10), "0..4");
        assert_eq!(asked("bytes=4-", 10), "4..10");
        assert_eq!(asked("bytes=-3", 10), "7..10");
        assert_eq!(asked("bytes=-30", 10), "0..10");
        assert_eq!(asked("bytes=8-99999999999999999999", 10), "all");
        assert_eq!(asked("bytes=8-18446744073709551615", 10), "8..10");
        assert_eq!(asked("bytes=10-", 10), "nothing");
        assert_eq!(asked("bytes=-0", 10), "nothing");
        assert_eq!(asked("bytes=-5", 0), "nothing");
        assert_eq!(asked("bytes=0-", 0), "nothing");
        for nonsense in ["", "bytes=", "bytes=a-b", "bytes=5-2", "bytes=0-1,4-5", "lines=1-2"] {
            assert_eq!(asked(nonsense, 10), "all", "{nonsense}");
        }
    }
}
