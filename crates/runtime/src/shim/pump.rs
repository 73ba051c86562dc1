//! Pumps what an agent prints into the log, and its messages into the outbox.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use adjutant_core::aof::MESSAGE_BYTES_MAX;

use super::lines::{Scanner, Wanted};
use super::log::Log;
use super::mask::{Cover, Mask};
use super::outbox::{Outbox, Said};
use super::spec::millis;

/// How much is read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Where output goes, shared by the pumps.
pub(super) struct Sink {
    log: Mutex<Log>,
    /// What must not get into the log.
    secret: String,
    outbox: Mutex<Outbox>,
    /// The end of what was printed, where a document may stand there.
    ending: Mutex<VecDeque<u8>>,
    /// Whether the run has left a document.
    reported: AtomicBool,
    began: Instant,
    /// When something was last heard, in milliseconds since it began.
    heard_ms: AtomicU64,
}

impl Sink {
    pub(super) fn new(log: Log, outbox: Outbox, secret: &str) -> Self {
        Self {
            log: Mutex::new(log),
            secret: secret.to_owned(),
            outbox: Mutex::new(outbox),
            ending: Mutex::default(),
            reported: AtomicBool::new(false),
            began: Instant::now(),
            heard_ms: AtomicU64::new(0),
        }
    }

    /// Notes that there was a sign of life.
    pub(super) fn touch(&self) {
        self.heard_ms.store(millis(self.began.elapsed()), Ordering::Relaxed);
    }

    /// Returns when the last sign of life was.
    pub(super) fn heard(&self) -> Instant {
        self.began + std::time::Duration::from_millis(self.heard_ms.load(Ordering::Relaxed))
    }

    /// Says whether a text is the token of the run.
    pub(super) fn is_secret(&self, text: &str) -> bool {
        !text.is_empty() && text == self.secret
    }

    /// Returns the last lines of output.
    pub(super) fn tail(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).tail()
    }

    /// Makes sure that the messages survive a power cut.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner).sync()
    }

    /// Says whether a message is being written.
    pub(super) fn is_writing(&self) -> bool {
        self.outbox.try_lock().is_err()
    }

    fn log(&self, bytes: &[u8]) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).add(bytes);
    }

    /// Keeps the end of what was printed: as much as a message may have.
    fn keep(&self, bytes: &[u8]) {
        let mut ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        ending.extend(&bytes[bytes.len().saturating_sub(MESSAGE_BYTES_MAX)..]);
        let over = ending.len().saturating_sub(MESSAGE_BYTES_MAX);
        ending.drain(..over);
    }

    /// Returns the end of what was printed. What is no text in it is none.
    pub(super) fn ending(&self) -> String {
        let mut ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(ending.make_contiguous()).into_owned()
    }

    /// Says whether the run has left a document.
    pub(super) fn has_reported(&self) -> bool {
        self.reported.load(Ordering::Relaxed)
    }

    /// Adds a message to the outbox.
    pub(super) fn message(&self, said: Said) {
        if said.kind.is_some() {
            self.reported.store(true, Ordering::Relaxed);
        }
        let added = self.outbox.lock().unwrap_or_else(PoisonError::into_inner).add(said);
        if let Err(error) = added {
            self.log(format!("adjutant: a message could not be kept: {error}\n").as_bytes());
        }
    }
}

/// Pumps until the other end is closed. `told` is called after every message.
pub(super) fn messages(
    mut from: impl Read,
    sink: &Sink,
    looks_for: Wanted,
    told: impl Fn(),
    mut hear: impl FnMut(&[u8]),
) {
    let mut scanner = Scanner::new(looks_for);
    let add = |said: Said| {
        sink.message(said);
        told();
    };
    each(&mut from, sink, |bytes| {
        if looks_for.document.is_some() {
            sink.keep(bytes);
        }
        scanner.push(bytes, add);
        hear(bytes);
    });
    scanner.finish(add);
}

/// Pumps until the other end is closed.
pub(super) fn output(mut from: impl Read, sink: &Sink) {
    each(&mut from, sink, |_| {});
}

fn each(from: &mut impl Read, sink: &Sink, mut then: impl FnMut(&[u8])) {
    let mut chunk = vec![0; CHUNK_BYTES];
    let (mut mask, mut cover) = (Mask::new(&sink.secret), Cover::default());
    loop {
        match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => {
                sink.touch();
                // What the log shows is kept: a shim that dies here has lost no message that was seen.
                then(&chunk[..read]);
                mask.push(&chunk[..read], |bytes| cover.push(bytes, |bytes| sink.log(bytes)));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    mask.finish(|bytes| cover.push(bytes, |bytes| sink.log(bytes)));
    cover.finish(|bytes| sink.log(bytes));
}
