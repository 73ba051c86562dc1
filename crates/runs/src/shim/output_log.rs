//! `output.log`: the output of the agent, rotated so that it takes at most about twice its limit.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};

use adjutant_run_files::attempt_files::{AttemptFolder, LOG, ROTATED_LOG};

/// How much of the end is kept in memory.
const TAIL_BYTES: usize = 4 << 10;
/// How many lines the tail has.
const TAIL_LINES: usize = 20;

pub(super) struct OutputLog {
    folder: AttemptFolder,
    file: File,
    written: u64,
    limit: u64,
    tail: VecDeque<u8>,
}

impl OutputLog {
    pub(super) fn open(folder: &AttemptFolder, limit: u64) -> io::Result<Self> {
        let file = folder.append(LOG)?;
        let written = file.metadata()?.len();
        Ok(Self { folder: folder.clone(), file, written, limit, tail: VecDeque::new() })
    }

    /// Appends output. Output that cannot be written is dropped: an agent is never blocked because
    /// of its log.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.keep_tail(bytes);
        if self.written >= self.limit {
            self.rotate();
        }
        if self.file.write_all(bytes).is_ok() {
            self.written += bytes.len() as u64;
        }
    }

    /// Moves the log away and opens a new one. If that fails, the log continues as it is.
    fn rotate(&mut self) {
        let aside = fs::rename(self.folder.join(LOG), self.folder.join(ROTATED_LOG));
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
    pub(super) fn last_lines(&mut self) -> String {
        last_lines(self.tail.make_contiguous())
    }
}

/// Reads the end of a run's output, at most `bytes_max`.
pub fn read_end(folder: &AttemptFolder, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(folder.join(LOG))?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(bytes_max)))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the last lines of an output.
pub fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(TAIL_BYTES)..]);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n").trim().to_owned()
}
