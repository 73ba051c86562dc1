//! Serves the output of a run: all of it, a range, or live.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use adjutant_query::run_log::{LogLocation, RunLogSource};
use adjutant_run_files::attempt_files::{AttemptFolder, LOG, ROTATED_LOG};
use adjutant_runs::supervisor::{LocalRunState, local_run_state};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::SharedState;
use super::limit::StreamPermit;
use super::problem::ApiProblem;
use super::request_checks::header_text;

/// How many bytes are read at once.
const PIECE_BYTES: usize = 64 * 1024;
/// How many pieces may be queued for a slow reader.
const QUEUED_PIECES_MAX: usize = 4;
/// The polling interval while a client follows the output.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The output of a run as one stream of bytes: joined from its files, or held in memory.
pub(super) struct RunOutput {
    pages: OutputSource,
    length: u64,
    /// Whether the output is complete.
    is_over: bool,
}

enum OutputSource {
    Files(Vec<(File, u64)>),
    Memory(Arc<Vec<u8>>),
}

impl RunOutput {
    pub(super) fn open(place: &LogLocation) -> io::Result<Self> {
        match place {
            LogLocation::Local(folder) => {
                // Checked before reading: once the run is over, all its output is in the files.
                let alive = matches!(
                    local_run_state(&AttemptFolder::new(folder)),
                    Ok(LocalRunState::Alive | LocalRunState::Unknown)
                );
                Self::open_files(folder, !alive)
            }
            LogLocation::Remote(log) => {
                let (held, is_over) = log.read()?;
                Ok(Self { length: held.len() as u64, pages: OutputSource::Memory(held), is_over })
            }
        }
    }

    /// Opens the newest file first. If the log is rotated in between, the same file is found twice
    /// and used once, and no output is missed.
    fn open_files(folder: &Path, is_over: bool) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let latest = open(&folder.join(LOG))?;
        let before = open(&folder.join(ROTATED_LOG))?;
        let inode = |file: &File| file.metadata().map(|stat| stat.ino()).ok();
        let same = latest.as_ref().and_then(inode) == before.as_ref().and_then(inode);
        let before = before.filter(|_| latest.is_none() || !same);
        let mut files = Vec::new();
        for file in before.into_iter().chain(latest) {
            let length = file.metadata()?.len();
            files.push((file, length));
        }
        let length = files.iter().map(|(_, length)| length).sum();
        Ok(Self { pages: OutputSource::Files(files), length, is_over })
    }

    /// Returns the length in bytes.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Reads bytes from an offset. Returns fewer at the end of a file, and none at the end
    /// of the output.
    pub(super) fn read(&mut self, from: u64, most: u64) -> io::Result<Vec<u8>> {
        match &mut self.pages {
            OutputSource::Files(files) => read_files(files, from, most),
            OutputSource::Memory(held) => {
                let from = usize::try_from(from).unwrap_or(usize::MAX).min(held.len());
                let most = usize::try_from(most).unwrap_or(usize::MAX).min(PIECE_BYTES);
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
            let most = most.min(*length - from).min(PIECE_BYTES as u64);
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

/// Responds with the output so far, or with the range that the client asks for.
pub(super) async fn respond_range(
    printed: RunLogSource,
    headers: &HeaderMap,
) -> Result<Response, ApiProblem> {
    let place = printed.location.clone();
    let opened = tokio::task::spawn_blocking(move || RunOutput::open(&place)).await;
    let log = opened
        .map_err(|_| ApiProblem::internal_error())?
        .map_err(|error| output_unreadable(&error))?;
    let length = log.length;
    let asked = header_text(headers, "range");
    let (status, from, until) = match parse_range(asked, length) {
        RequestedRange::All => (StatusCode::OK, 0, length),
        RequestedRange::Part(from, until) => (StatusCode::PARTIAL_CONTENT, from, until),
        RequestedRange::Nothing => return Ok(out_of_range(length)),
    };
    let mut response = Response::new(stream_range(log, from, until));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    describe(headers, &printed);
    headers.insert(header::CONTENT_LENGTH, (until - from).into());
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {from}-{}/{length}", until - 1);
        headers.insert(
            header::CONTENT_RANGE,
            HeaderValue::from_str(&range).map_err(|_| ApiProblem::internal_error())?,
        );
    }
    Ok(response)
}

fn describe(headers: &mut HeaderMap, printed: &RunLogSource) {
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(header::CONTENT_TYPE, text);
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert("adjutant-attempt", printed.attempt.into());
    let state = if printed.is_over { "over" } else { "running" };
    headers.insert("adjutant-run", HeaderValue::from_static(state));
}

fn out_of_range(length: u64) -> Response {
    let title = "The output has no bytes in this range.";
    let problem =
        ApiProblem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range_not_satisfiable", title);
    let mut response = problem.into_response();
    if let Ok(range) = HeaderValue::from_str(&format!("bytes */{length}")) {
        response.headers_mut().insert(header::CONTENT_RANGE, range);
    }
    response
}

enum RequestedRange {
    All,
    /// From the first offset up to, but not including, the second.
    Part(u64, u64),
    Nothing,
}

/// Parses a range header. Invalid ranges and multiple ranges are treated as no range.
fn parse_range(text: &str, length: u64) -> RequestedRange {
    let parts = text.strip_prefix("bytes=").and_then(|part| part.split_once('-'));
    let Some((from, until)) = parts else { return RequestedRange::All };
    let number = |text: &str| text.parse::<u64>().ok();
    match (number(from), number(until)) {
        (None, Some(last)) if from.is_empty() => match last {
            0 => RequestedRange::Nothing,
            _ if length == 0 => RequestedRange::Nothing,
            last => RequestedRange::Part(length.saturating_sub(last), length),
        },
        (Some(from), until_end) if until.is_empty() || until_end.is_some_and(|end| end >= from) => {
            if from >= length {
                return RequestedRange::Nothing;
            }
            RequestedRange::Part(
                from,
                until_end.map_or(length, |end| end.saturating_add(1).min(length)),
            )
        }
        _ => RequestedRange::All,
    }
}

/// Streams a range piece by piece, as fast as the client reads.
fn stream_range(mut log: RunOutput, from: u64, until: u64) -> Body {
    let (to, pieces) = mpsc::channel::<io::Result<Bytes>>(QUEUED_PIECES_MAX);
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

/// Responds with the output from an offset on, and continues until the run is over.
pub(super) fn follow(
    app: SharedState,
    printed: &RunLogSource,
    from: u64,
    seat: StreamPermit,
) -> Response {
    let (to, pieces) = mpsc::channel::<io::Result<Bytes>>(QUEUED_PIECES_MAX);
    let place = printed.location.clone();
    tokio::spawn(async move {
        let mut closing = app.closing.clone();
        tokio::select! {
            () = forward_output(place, from, &to) => {}
            () = to.closed() => {}
            () = super::server::wait_for_shutdown(&mut closing) => {}
        }
        drop(seat);
    });
    let mut response = Response::new(Body::from_stream(ReceiverStream::new(pieces)));
    describe(response.headers_mut(), printed);
    response
}

async fn forward_output(place: LogLocation, mut at: u64, to: &mpsc::Sender<io::Result<Bytes>>) {
    loop {
        let looked = place.clone();
        let read = tokio::task::spawn_blocking(move || {
            let mut log = RunOutput::open(&looked)?;
            Ok::<_, io::Error>((log.is_over, log.read(at, PIECE_BYTES as u64)?))
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
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

fn output_unreadable(error: &io::Error) -> ApiProblem {
    let title = "The output of the run cannot be read.";
    ApiProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "io", title).with_detail(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str, length: u64) -> String {
        match parse_range(text, length) {
            RequestedRange::All => "all".to_owned(),
            RequestedRange::Part(from, until) => format!("{from}..{until}"),
            RequestedRange::Nothing => "nothing".to_owned(),
        }
    }

    #[test]
    fn range_header_is_parsed_by_the_standard() {
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
