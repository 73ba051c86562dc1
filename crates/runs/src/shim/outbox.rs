//! The outbox: the agent's messages, numbered and on disk before any other process learns of them.
//!
//! The shim appends and never reads. A reader confirms a message by writing its number after
//! handling it. So no message is lost when either process dies, and a reader that commits the
//! number together with the effect of the message never handles one twice.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};

use adjutant_model::document::DocumentKind;
use adjutant_model::request::RefusedAccess;
use adjutant_run_files::attempt_files::{AttemptFolder, CONFIRMED, OUTBOX, retry_while_full};
use serde::{Deserialize, Deserializer, Serialize};

/// The most bytes of messages per run. Further messages are in the log only, with an error.
const BYTES_MAX: u64 = 64 << 20;

/// One line of the outbox.
#[derive(Debug, Serialize, Deserialize)]
pub struct OutboxMessage {
    /// Counted up from 1.
    pub seq: u64,
    #[serde(flatten)]
    pub message: RunMessage,
}

/// A message of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunMessage {
    /// The message as the agent printed it, or the content of its report file.
    #[serde(rename = "line")]
    pub text: String,
    /// The document kind, if the message is a report document.
    #[serde(default, deserialize_with = "known_kind", skip_serializing_if = "Option::is_none")]
    pub kind: Option<DocumentKind>,
    /// A problem that the text does not show, such as invalid UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaw: Option<String>,
    /// Whether the message counts only if it has the token of the run: the agent may have printed a
    /// text that another program wrote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_token: bool,
    /// Whether the message came through the run's socket, where its sender waits for the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_socket: bool,
    /// A request that the shim refused, for the event log; there is no text then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Box<RefusedAccess>>,
}

impl RunMessage {
    /// Makes a message that is not a document.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// Reads a kind of document. A shim of another version may know more kinds: its message then counts
/// as plain text, and is not lost.
fn known_kind<'de, D: Deserializer<'de>>(from: D) -> Result<Option<DocumentKind>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.and_then(|kind| DocumentKind::parse(&kind)))
}

/// The writing end, used by the shim.
pub(super) struct OutboxWriter {
    file: File,
    bytes: u64,
    last: u64,
    /// Whether all messages of the run are there.
    is_complete: bool,
}

impl OutboxWriter {
    pub(super) fn open(folder: &AttemptFolder) -> io::Result<Self> {
        let file = folder.append(OUTBOX)?;
        Ok(Self { bytes: file.metadata()?.len(), file, last: 0, is_complete: false })
    }

    /// Adds a message, and waits for disk space if there is none: a message must not get lost, and
    /// a blocked agent is better than one that believes it has reported. Returns its number.
    pub(super) fn add(&mut self, message: RunMessage) -> io::Result<u64> {
        let json = self.next_line(message)?;
        retry_while_full(|| self.append(&json))?;
        Ok(self.advance(&json))
    }

    /// Adds a refusal. Does not wait for disk space, because no sender depends on it.
    pub(super) fn add_refusal(&mut self, refused: RefusedAccess) -> io::Result<u64> {
        let message = RunMessage { refused: Some(Box::new(refused)), ..RunMessage::default() };
        let json = self.next_line(message)?;
        self.append(&json)?;
        Ok(self.advance(&json))
    }

    fn next_line(&self, message: RunMessage) -> io::Result<Vec<u8>> {
        if self.is_complete {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the run has ended"));
        }
        let mut json = serde_json::to_vec(&OutboxMessage { seq: self.last + 1, message })?;
        json.push(b'\n');
        if self.bytes + json.len() as u64 > BYTES_MAX {
            let text = "the run has sent too many messages";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        Ok(json)
    }

    /// Counts a line that was appended, and returns its number.
    fn advance(&mut self, json: &[u8]) -> u64 {
        self.bytes += json.len() as u64;
        self.last += 1;
        self.last
    }

    /// Takes no further message: the exit of the run says that there are no more.
    pub(super) fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Appends all of it or nothing.
    fn append(&mut self, json: &[u8]) -> io::Result<()> {
        let appended = self.file.write_all(json);
        if appended.is_err() {
            self.file.set_len(self.bytes)?;
        }
        appended
    }

    /// Makes the messages survive a power cut, if there are any.
    pub(super) fn sync(&self) -> io::Result<()> {
        if self.bytes == 0 { Ok(()) } else { self.file.sync_data() }
    }
}

/// The reading end, used by the daemon.
pub struct OutboxReader {
    folder: AttemptFolder,
    /// The end of the last complete line.
    at: u64,
    last_read: u64,
}

impl OutboxReader {
    /// Opens the outbox after the last confirmed message.
    pub fn open(folder: &AttemptFolder) -> Self {
        Self::after(folder, confirmed_seq(folder))
    }

    fn after(folder: &AttemptFolder, last_read: u64) -> Self {
        Self { folder: folder.clone(), at: 0, last_read }
    }

    /// Returns the next complete message; `None` if there is none yet.
    ///
    /// Opens the file each time: a person may have removed the folder, and a line that the shim
    /// took back must not stay in a buffer.
    pub fn read(&mut self) -> io::Result<Option<OutboxMessage>> {
        let mut file = match File::open(self.folder.join(OUTBOX)) {
            Ok(file) => BufReader::new(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(self.at))?;
        loop {
            let mut line = Vec::new();
            file.read_until(b'\n', &mut line)?;
            if !line.ends_with(b"\n") {
                return Ok(None);
            }
            self.at += line.len() as u64;
            // A line written by another process is no message, and must not hide the ones after it.
            let Ok(numbered) = serde_json::from_slice::<OutboxMessage>(&line) else { continue };
            if numbered.seq > self.last_read {
                self.last_read = numbered.seq;
                return Ok(Some(numbered));
            }
        }
    }
}

/// Adds a message on behalf of a dead shim, unless the shim added it before.
pub fn add_for_dead_shim(folder: &AttemptFolder, message: RunMessage) -> io::Result<()> {
    let mut reader = OutboxReader::after(folder, 0);
    let mut last = 0;
    while let Some(numbered) = reader.read()? {
        last = numbered.seq;
        if numbered.message == message {
            return Ok(());
        }
    }
    let mut outbox = OutboxWriter::open(folder)?;
    // End an incomplete last line of the shim, so that it does not spoil this message.
    outbox.append(b"\n")?;
    outbox.bytes += 1;
    outbox.last = last;
    outbox.add(message)?;
    outbox.sync()
}

/// Returns the number of the last confirmed message; 0 if there is none.
pub fn confirmed_seq(folder: &AttemptFolder) -> u64 {
    let text = std::fs::read_to_string(folder.join(CONFIRMED)).unwrap_or_default();
    text.trim().parse().unwrap_or_default()
}

/// Confirms every message up to `seq`.
pub fn confirm_up_to(folder: &AttemptFolder, seq: u64) -> io::Result<()> {
    if seq > confirmed_seq(folder) {
        folder.write(CONFIRMED, seq.to_string().as_bytes())
    } else {
        Ok(())
    }
}
