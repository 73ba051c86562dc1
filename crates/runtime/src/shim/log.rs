//! `output.log`: what the agent printed, as it comes, and never more than twice a limit of it.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};

use super::files::{Folder, LOG, LOG_BEFORE};

/// How much of the end is kept at hand.
const TAIL_BYTES: usize = 4 << 10;
/// How many lines of it are told.
const TAIL_LINES: usize = 20;

/// The log of a run.
pub(super) struct Log {
    folder: Folder,
    file: File,
    written: u64,
    limit: u64,
    tail: VecDeque<u8>,
}

impl Log {
    pub(super) fn open(folder: &Folder, limit: u64) -> io::Result<Self> {
        let file = folder.append(LOG)?;
        let written = file.metadata()?.len();
        Ok(Self { folder: folder.clone(), file, written, limit, tail: VecDeque::new() })
    }

    /// Adds what was printed. What the disk does not take is not kept: an agent is never held up
    /// for the sake of its log.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.keep_tail(bytes);
        if self.written >= self.limit {
            self.rotate();
        }
        if self.file.write_all(bytes).is_ok() {
            self.written += bytes.len() as u64;
        }
    }

    /// Puts the log aside and begins a new one. If that cannot be done, it goes on as it is.
    fn rotate(&mut self) {
        let aside = fs::rename(self.folder.join(LOG), self.folder.join(LOG_BEFORE));
        if let (Ok(()), Ok(file)) = (aside, self.folder.append(LOG)) {
            self.file = file;
        }
        self.written = 0;
    }

    fn keep_tail(&mut self, bytes: &[u8]) {
        let last = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
        let over = (self.tail.len() + last.len()).saturating_sub(TAIL_BYTES);
        self.tail.drain(..over);
        self.tail.extend(last);
    }

    /// Returns the last lines.
    pub(super) fn tail(&mut self) -> String {
        tail(self.tail.make_contiguous())
    }
}

/// Returns the last lines of an output.
pub(crate) fn tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..]);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n").trim().to_owned()
}
