//! Pumps what an agent prints into the log, and its messages into the outbox.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::lines::Scanner;
use super::log::Log;
use super::mask::Mask;
use super::outbox::Outbox;
use super::spec::millis;

/// How much is read at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Where output goes, shared by the pumps.
pub(super) struct Sink {
    log: Mutex<Log>,
    /// What must not get into the log.
    secret: String,
    outbox: Mutex<Outbox>,
    began: Instant,
    /// When something was last heard, in milliseconds since it began.
    heard_ms: AtomicU64,
}

impl Sink {
    pub(super) fn new(log: Log, outbox: Outbox, secret: &str) -> Self {
        let (log, outbox, secret) = (Mutex::new(log), Mutex::new(outbox), secret.to_owned());
        Self { log, outbox, secret, began: Instant::now(), heard_ms: AtomicU64::new(0) }
    }

    /// Notes that there was a sign of life.
    pub(super) fn touch(&self) {
        self.heard_ms.store(millis(self.began.elapsed()), Ordering::Relaxed);
    }

    /// Returns when the last sign of life was.
    pub(super) fn heard(&self) -> Instant {
        self.began + std::time::Duration::from_millis(self.heard_ms.load(Ordering::Relaxed))
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

    fn message(&self, line: &str) {
        let added = self.outbox.lock().unwrap_or_else(PoisonError::into_inner).add(line);
        if let Err(error) = added {
            self.log(format!("adjutant: a message could not be kept: {error}\n").as_bytes());
        }
    }
}

/// Pumps until the other end is closed. `told` is called after every message.
pub(super) fn messages(mut from: impl Read, sink: &Sink, told: impl Fn()) {
    let mut scanner = Scanner::default();
    each(&mut from, sink, |bytes| {
        scanner.push(bytes, |line| {
            sink.message(line);
            told();
        });
    });
    scanner.finish(|line| {
        sink.message(line);
        told();
    });
}

/// Pumps until the other end is closed.
pub(super) fn output(mut from: impl Read, sink: &Sink) {
    each(&mut from, sink, |_| {});
}

fn each(from: &mut impl Read, sink: &Sink, mut then: impl FnMut(&[u8])) {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut mask = Mask::new(&sink.secret);
    loop {
        match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => {
                sink.touch();
                mask.push(&chunk[..read], |bytes| sink.log(bytes));
                then(&chunk[..read]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    mask.finish(|bytes| sink.log(bytes));
}
