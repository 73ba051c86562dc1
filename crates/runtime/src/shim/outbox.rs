//! The outbox: the messages an agent printed, numbered, on disk before anyone hears of them.
//!
//! The shim appends and never reads. Who takes a message writes its number down when it has done
//! with it, so that none is lost when either of the two dies, and none is taken twice by one who
//! remembers the number together with what the message did.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};

use serde::{Deserialize, Serialize};

use super::files::{Folder, OUTBOX, TAKEN, with_room};

/// The most bytes of messages a run may leave. What comes after is output like any other.
const BYTES_MAX: u64 = 64 << 20;

/// A message, and its number in the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbered {
    /// Counted up from 1.
    pub seq: u64,
    /// The message as it was printed or left.
    pub line: String,
    /// What kind of document it is meant to be, if it was left as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What is wrong with it that its text does not show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flaw: Option<String>,
}

/// A message that has no number yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Said {
    pub(crate) line: String,
    pub(crate) kind: Option<String>,
    pub(crate) flaw: Option<String>,
}

impl Said {
    /// A message that says itself what it is.
    pub(super) fn line(line: &str) -> Self {
        Self { line: line.to_owned(), ..Self::default() }
    }

    fn numbered(self, seq: u64) -> Numbered {
        Numbered { seq, line: self.line, kind: self.kind, flaw: self.flaw }
    }
}

/// The end of the outbox that the shim writes to.
pub(super) struct Outbox {
    file: File,
    bytes: u64,
    last: u64,
}

impl Outbox {
    pub(super) fn open(folder: &Folder) -> io::Result<Self> {
        let file = folder.append(OUTBOX)?;
        Ok(Self { bytes: file.metadata()?.len(), file, last: 0 })
    }

    /// Adds a message, waiting for room on the disk: a message may not get lost, and an agent that
    /// waits for it is better off than one that believes it has reported.
    pub(super) fn add(&mut self, said: Said) -> io::Result<()> {
        let numbered = said.numbered(self.last + 1);
        let mut json = serde_json::to_vec(&numbered)?;
        json.push(b'\n');
        let bytes = self.bytes + json.len() as u64;
        if bytes > BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        with_room(|| self.append(&json))?;
        (self.bytes, self.last) = (bytes, numbered.seq);
        Ok(())
    }

    /// Appends all of it or nothing.
    fn append(&mut self, json: &[u8]) -> io::Result<()> {
        let appended = self.file.write_all(json);
        if appended.is_err() {
            self.file.set_len(self.bytes)?;
        }
        appended
    }

    /// Makes sure that the messages survive a power cut, if there are any.
    pub(super) fn sync(&self) -> io::Result<()> {
        if self.bytes == 0 { Ok(()) } else { self.file.sync_data() }
    }
}

/// The end of the outbox that somebody reads from.
pub struct Reader {
    folder: Folder,
    at: u64,
    taken: u64,
}

impl Reader {
    /// Opens the outbox of a run behind the last message that was taken.
    pub fn open(folder: &Folder) -> Self {
        Self { folder: folder.clone(), at: 0, taken: taken(folder) }
    }

    /// Returns the next message that is whole, if there is one.
    pub fn read(&mut self) -> io::Result<Option<Numbered>> {
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
            // What somebody else wrote there is no message, and hides none.
            let Ok(numbered) = serde_json::from_slice::<Numbered>(&line) else { continue };
            if numbered.seq > self.taken {
                self.taken = numbered.seq;
                return Ok(Some(numbered));
            }
        }
    }
}

/// Adds a message for a shim that is gone, unless it added it itself.
pub(crate) fn add_late(folder: &Folder, said: Said) -> io::Result<()> {
    let mut reader = Reader { folder: folder.clone(), at: 0, taken: 0 };
    let mut last = 0;
    while let Some(numbered) = reader.read()? {
        last = numbered.seq;
        if numbered == said.clone().numbered(last) {
            return Ok(());
        }
    }
    let mut outbox = Outbox::open(folder)?;
    // What the shim could not finish writing is no message, and must not spoil this one.
    outbox.append(b"\n")?;
    outbox.bytes += 1;
    outbox.last = last;
    outbox.add(said)?;
    outbox.sync()
}

/// Returns the number of the last message that was taken.
pub fn taken(folder: &Folder) -> u64 {
    let text = std::fs::read_to_string(folder.join(TAKEN)).unwrap_or_default();
    text.trim().parse().unwrap_or_default()
}

/// Writes down that every message up to this one was taken.
pub fn take(folder: &Folder, seq: u64) -> io::Result<()> {
    if seq > taken(folder) { folder.write(TAKEN, seq.to_string().as_bytes()) } else { Ok(()) }
}
