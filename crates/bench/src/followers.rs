//! Clients that follow the event stream, and a count of lost or repeated events.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::http_caller::{BenchCall, HttpConnection, ServerEndpoint};

/// Stands for a last event that is not known yet.
const LAST_EVENT_UNKNOWN: u64 = u64::MAX;

/// Clients that follow the event stream, each in its own thread.
pub(crate) struct StreamFollowers {
    threads: Vec<JoinHandle<u64>>,
    /// The last event the followers wait for, once it is known.
    last: Arc<AtomicU64>,
    from: u64,
}

impl StreamFollowers {
    /// Starts `count` followers at the current last event.
    pub(crate) fn start(place: &ServerEndpoint, count: usize) -> Self {
        let last = Arc::new(AtomicU64::new(LAST_EVENT_UNKNOWN));
        let from = last_event(place);
        let one = |_| {
            let (place, last) = (place.clone(), Arc::clone(&last));
            let thread = thread::Builder::new().stack_size(256 * 1024);
            thread.spawn(move || follow(&place, from, &last)).expect("a thread")
        };
        Self { threads: (0..count).map(one).collect(), last, from }
    }

    /// Waits until each follower has received the current last event. Returns the number of events,
    /// and how often an event was not the successor of the previous one.
    pub(crate) fn finish(self, place: &ServerEndpoint) -> (u64, u64) {
        let last = last_event(place);
        self.last.store(last, Ordering::SeqCst);
        let wrong = self.threads.into_iter().map(|one| one.join().expect("a follower")).sum();
        (last - self.from, wrong)
    }
}

fn last_event(place: &ServerEndpoint) -> u64 {
    let (_, text) = HttpConnection::new(place).call(&BenchCall::get("/metrics"));
    let text = String::from_utf8(text).expect("a text");
    let line = text.lines().find_map(|line| line.strip_prefix("adjutant_last_event "));
    line.and_then(|number| number.parse().ok()).expect("a number")
}

/// Follows the stream and returns how often an event was lost or repeated.
fn follow(place: &ServerEndpoint, from: u64, last: &AtomicU64) -> u64 {
    let mut stream = TcpStream::connect(&place.authority).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_millis(200))).expect("a socket");
    let ServerEndpoint { authority, token } = place;
    let request = format!(
        "GET /v1/events/stream?after={from} HTTP/1.1\r\nHost: {authority}\r\n\
         Authorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it listens");
    let (mut heard, mut wrong, mut pending) = (from, 0, Vec::new());
    let mut piece = vec![0; 16 * 1024];
    while heard < last.load(Ordering::SeqCst) {
        let read = match stream.read(&mut piece) {
            Ok(0) => return wrong + 1,
            Ok(read) => read,
            Err(_) => continue,
        };
        pending.extend_from_slice(&piece[..read]);
        let whole = pending.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        for id in pending[..whole].split(|byte| *byte == b'\n').filter_map(parse_event_id) {
            wrong += u64::from(id != heard + 1);
            heard = id;
        }
        pending.drain(..whole);
    }
    wrong
}

fn parse_event_id(line: &[u8]) -> Option<u64> {
    std::str::from_utf8(line.strip_prefix(b"id: ")?).ok()?.trim().parse().ok()
}
