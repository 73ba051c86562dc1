//! Copies the agent's output into the log, and its messages into the outbox.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use adjutant_config::redact::{RedactionScope, SecretRedactor};
use adjutant_core::protocols::aof::MESSAGE_BYTES_MAX;
use adjutant_core::refusal_tally::RefusalTally;
use adjutant_model::request::RefusedAccess;
use adjutant_run_files::shim_spec::to_millis;
use parking_lot::Mutex;

use super::message_scanner::{MessageScanner, WantedMessages};
use super::outbox::{OutboxWriter, RunMessage};
use super::output_log::OutputLog;

const CHUNK_BYTES: usize = 64 << 10;

/// How long to wait for another thread that writes a message.
const REFUSAL_PATIENCE: Duration = Duration::from_secs(1);

/// The destination of the output, shared by the threads that read it.
pub(super) struct OutputSink {
    log: Mutex<OutputLog>,
    /// Knows what must not reach the log: the token and the secrets of Adjutant.
    redactor: SecretRedactor,
    /// Knows what must not reach the outbox: the secrets of Adjutant. A message shows its token.
    message_redactor: SecretRedactor,
    outbox: Mutex<OutboxWriter>,
    /// The requests that the sockets of the run refused.
    refusals: Mutex<RefusalTally>,
    /// The end of the output, which may contain a report document.
    ending: Mutex<VecDeque<u8>>,
    /// Whether the run has left a report document.
    reported: AtomicBool,
    began: Instant,
    /// When the last heartbeat or output arrived, in milliseconds since `began`.
    heartbeat_ms: AtomicU64,
}

impl OutputSink {
    pub(super) fn new(
        log: OutputLog,
        outbox: OutboxWriter,
        token: &str,
        secrets: &[String],
    ) -> Self {
        let redactor = SecretRedactor::from_values(secrets);
        redactor.add(token);
        Self {
            log: Mutex::new(log),
            redactor,
            message_redactor: SecretRedactor::from_values(secrets),
            outbox: Mutex::new(outbox),
            refusals: Mutex::default(),
            ending: Mutex::default(),
            reported: AtomicBool::new(false),
            began: Instant::now(),
            heartbeat_ms: AtomicU64::new(0),
        }
    }

    /// Records a heartbeat.
    pub(super) fn record_heartbeat(&self) {
        self.heartbeat_ms.store(to_millis(self.began.elapsed()), Ordering::Relaxed);
    }

    /// Returns when the last heartbeat was.
    pub(super) fn last_heartbeat(&self) -> Instant {
        self.began + Duration::from_millis(self.heartbeat_ms.load(Ordering::Relaxed))
    }

    /// Returns the last lines of output.
    pub(super) fn tail(&self) -> String {
        self.log.lock().last_lines()
    }

    /// Makes the messages survive a power cut.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.outbox.lock().sync()
    }

    /// Returns whether a message is being written, or waits for disk space.
    pub(super) fn is_writing(&self) -> bool {
        self.outbox.try_lock().is_none()
    }

    fn log(&self, bytes: &[u8]) {
        self.log.lock().add(bytes);
    }

    /// Keeps the end of the output, up to the size of a message.
    fn keep_ending(&self, bytes: &[u8]) {
        let mut ending = self.ending.lock();
        ending.extend(&bytes[bytes.len().saturating_sub(MESSAGE_BYTES_MAX)..]);
        let over = ending.len().saturating_sub(MESSAGE_BYTES_MAX);
        ending.drain(..over);
    }

    /// Returns the end of the output, with invalid UTF-8 replaced.
    pub(super) fn ending(&self) -> String {
        let mut ending = self.ending.lock();
        String::from_utf8_lossy(ending.make_contiguous()).into_owned()
    }

    pub(super) fn has_reported(&self) -> bool {
        self.reported.load(Ordering::Relaxed)
    }

    /// Adds a message to the outbox, and logs an error if that fails.
    pub(super) fn add_message(&self, message: RunMessage) {
        if let Err(error) = self.try_add_message(message) {
            self.log(format!("adjutant: a message could not be stored: {error}\n").as_bytes());
        }
    }

    /// Adds a message to the outbox, without the secrets of Adjutant, and returns its number.
    pub(super) fn try_add_message(&self, mut message: RunMessage) -> io::Result<u64> {
        let text = message.text.as_bytes();
        let redacted = self.message_redactor.redact_file(text, RedactionScope::KnownValues);
        if let Some((text, _)) = redacted {
            message.text = String::from_utf8_lossy(&text).into_owned();
        }
        if message.kind.is_some() {
            self.reported.store(true, Ordering::Relaxed);
        }
        self.outbox.lock().add(message)
    }

    /// Records a refused request for the event log. Floods are summed up.
    pub(super) fn record_refusal(&self, refused: RefusedAccess) {
        if let Some(refused) = self.refusals.lock().record(refused, self.began.elapsed()) {
            self.add_refusal(refused);
        }
    }

    /// Records the refusals that were summed up, at the end of the run.
    pub(super) fn flush_refusals(&self) {
        let collected = self.refusals.lock().take_all();
        for refused in collected {
            self.add_refusal(refused);
        }
    }

    /// A refusal must not hold up a socket: it is dropped if a message waits for disk space.
    fn add_refusal(&self, refused: RefusedAccess) {
        if let Some(mut outbox) = self.outbox.try_lock_for(REFUSAL_PATIENCE) {
            let _ = outbox.add_refusal(refused);
        }
    }

    /// Takes no further message.
    pub(super) fn complete_messages(&self) {
        self.outbox.lock().complete();
    }
}

/// Copies until the pipe is closed. Calls `notify` after every message, and `hear` with all bytes.
pub(super) fn pump_stdout(
    mut from: impl Read,
    sink: &OutputSink,
    looks_for: WantedMessages,
    notify: impl Fn(),
    mut hear: impl FnMut(&[u8]),
) {
    let mut scanner = MessageScanner::new(looks_for);
    let add = |message: RunMessage| {
        sink.add_message(message);
        notify();
    };
    pump_chunks(&mut from, sink, |bytes| {
        if looks_for.document.is_some() {
            sink.keep_ending(bytes);
        }
        scanner.push(bytes, add);
        hear(bytes);
    });
    scanner.finish(add);
}

/// Copies until the pipe is closed.
pub(super) fn pump_stderr(mut from: impl Read, sink: &OutputSink) {
    pump_chunks(&mut from, sink, |_| {});
}

fn pump_chunks(from: &mut impl Read, sink: &OutputSink, mut then: impl FnMut(&[u8])) {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut redacted = sink.redactor.stream(RedactionScope::LookAlikes);
    loop {
        match from.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => {
                sink.record_heartbeat();
                // Messages go to the outbox before their text goes to the log: if the shim dies
                // here, no message that the log shows is lost.
                then(&chunk[..read]);
                redacted.push(&chunk[..read], |bytes| sink.log(bytes));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    redacted.finish(|bytes| sink.log(bytes));
}
