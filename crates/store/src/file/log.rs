//! The event log on disk: one file a day, lines only ever added.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use adjutant_core::{EventId, Time};
use serde::Deserialize;

use super::fault;
use super::journal::Entry;
use crate::document::EVENTS;
use crate::hash::Hash;
use crate::record::Chain;
use crate::store::StoreError;

/// The event log, opened for writing.
pub(super) struct EventLog {
    folder: PathBuf,
    day: String,
    file: Option<File>,
    chain: Chain,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Numbered {
    event_id: u64,
}

impl EventLog {
    /// Finds where the record ends.
    pub(super) fn open(root: &Path) -> Result<Self, StoreError> {
        let folder = root.join(EVENTS);
        let mut log = Self { folder, day: String::new(), file: None, chain: Chain::default() };
        for day in days(&log.folder)?.into_iter().rev() {
            if log.day.is_empty() {
                log.day.clone_from(&day);
            }
            if let Some(chain) = end_of(&log.path(&day))? {
                log.chain = chain;
                break;
            }
        }
        Ok(log)
    }

    /// Returns where the record ends.
    pub(super) fn chain(&self) -> Chain {
        self.chain
    }

    /// Returns the day whose file events of `now` go to: never one before the last.
    pub(super) fn day(&self, now: Time) -> String {
        now.day().max(self.day.clone())
    }

    /// Appends what a commit says, but for what is there already.
    pub(super) fn append(&mut self, entry: &Entry<'_>) -> Result<(), StoreError> {
        let mut text = String::new();
        let mut chain = self.chain;
        for line in &entry.lines {
            let Some(id) = number(line.as_bytes()).filter(|id| *id > chain.last) else { continue };
            chain = Chain { last: id, prev: Some(Hash::of(line.as_bytes())) };
            text.push_str(line);
            text.push('\n');
        }
        if !text.is_empty() {
            self.write(&entry.day, text.as_bytes())?;
        }
        self.chain = chain;
        Ok(())
    }

    /// Takes note of what another process appended.
    pub(super) fn follow(&mut self, entry: &Entry<'_>) {
        if *entry.day > *self.day {
            self.day = entry.day.clone().into_owned();
            self.file = None;
        }
        if let Some(line) = entry.lines.last()
            && let Some(id) = number(line.as_bytes()).filter(|id| *id > self.chain.last)
        {
            self.chain = Chain { last: id, prev: Some(Hash::of(line.as_bytes())) };
        }
    }

    fn write(&mut self, day: &str, bytes: &[u8]) -> Result<(), StoreError> {
        if self.day != day || self.file.is_none() {
            day.clone_into(&mut self.day);
            self.file = Some(open_whole(&self.path(day))?);
        }
        let path = self.path(day);
        let Some(file) = &mut self.file else { return Ok(()) };
        fault::point();
        if let Some(part) = fault::torn(bytes.len()) {
            let _ = file.write_all(&bytes[..part]);
            fault::die();
        }
        let before = file.metadata().map_err(StoreError::io("read", &path))?.len();
        file.write_all(bytes).map_err(|error| {
            let _ = file.set_len(before);
            StoreError::io("write", &path)(error)
        })
    }

    fn path(&self, day: &str) -> PathBuf {
        self.folder.join(format!("{day}.jsonl"))
    }
}

/// Opens a day's file for appending, and cuts off a line that was never finished.
fn open_whole(path: &Path) -> Result<File, StoreError> {
    let io = |attempt| StoreError::io(attempt, path);
    fault::point();
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(io("open"))?;
    let tail = Tail::read(&mut file).map_err(io("read"))?;
    if tail.torn > 0 {
        fault::point();
        file.set_len(tail.length - tail.torn).map_err(io("cut"))?;
    }
    Ok(file)
}

/// Reads the last event of a file; none if it has none.
fn end_of(path: &Path) -> Result<Option<Chain>, StoreError> {
    let io = |attempt| StoreError::io(attempt, path);
    let mut file = File::open(path).map_err(io("open"))?;
    let tail = Tail::read(&mut file).map_err(io("read"))?;
    let last = tail.lines.iter().rev().find_map(|line| number(line));
    let hash = tail.lines.last().map(|line| Hash::of(line));
    Ok(hash.map(|hash| Chain { last: last.unwrap_or_default(), prev: Some(hash) }))
}

fn number(line: &[u8]) -> Option<EventId> {
    let numbered: Numbered = serde_json::from_slice(line).ok()?;
    Some(EventId(numbered.event_id))
}

/// The end of a file of lines.
struct Tail {
    length: u64,
    /// How many bytes after the last line break.
    torn: u64,
    lines: Vec<Vec<u8>>,
}

impl Tail {
    /// Reads back from the end until there is at least one whole line.
    fn read(file: &mut File) -> std::io::Result<Self> {
        let length = file.metadata()?.len();
        let mut window = 64 * 1024;
        loop {
            let start = length.saturating_sub(window);
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = Vec::new();
            file.take(length - start).read_to_end(&mut bytes)?;
            let breaks = bytes.iter().filter(|byte| **byte == b'\n').count();
            if start == 0 || breaks > 1 {
                return Ok(Self::split(&bytes, length, start));
            }
            window *= 4;
        }
    }

    fn split(bytes: &[u8], length: u64, start: u64) -> Self {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let mut lines: Vec<Vec<u8>> =
            bytes[..whole].split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.pop();
        if start > 0 && !lines.is_empty() {
            lines.remove(0);
        }
        Self { length, torn: (bytes.len() - whole) as u64, lines }
    }
}

/// Returns the days that have a file, in order.
fn days(folder: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(StoreError::io("read", folder)(error)),
    };
    let mut days: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let day = name.to_str()?.strip_suffix(".jsonl")?;
            Time::parse(&format!("{day}T00:00:00Z")).ok()?;
            Some(day.to_owned())
        })
        .collect();
    days.sort_unstable();
    Ok(days)
}

/// Reads the record from the start, line by line, while others may be adding to it.
pub struct EventFiles {
    folder: PathBuf,
    day: Option<String>,
    reader: Option<BufReader<File>>,
    line: u64,
    partial: Vec<u8>,
}

/// Why the record could not be read on.
pub type LineError = StoreError;

/// A whole line of the record, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The name of its file.
    pub file: String,
    /// The number of the line in it, from 1.
    pub number: u64,
    /// The line, without its line break.
    pub bytes: Vec<u8>,
}

impl EventFiles {
    /// Stands before the first line of the record.
    pub fn open(root: &Path) -> Self {
        let folder = root.join(EVENTS);
        Self { folder, day: None, reader: None, line: 0, partial: Vec::new() }
    }

    /// Returns the next whole line, or none if there is none yet. May be asked again later.
    pub fn next_line(&mut self) -> Result<Option<LogLine>, LineError> {
        loop {
            if let Some(bytes) = self.read_line()? {
                self.line += 1;
                let file = format!("{}.jsonl", self.day.as_deref().unwrap_or_default());
                return Ok(Some(LogLine { file, number: self.line, bytes }));
            }
            if !self.next_day()? {
                return Ok(None);
            }
        }
    }

    /// Returns what stands after the last line break of the file being read.
    pub fn unfinished(&self) -> &[u8] {
        &self.partial
    }

    /// Returns the name of the file being read.
    pub fn file(&self) -> String {
        format!("{}.jsonl", self.day.as_deref().unwrap_or_default())
    }

    fn read_line(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        let read = reader.read_until(b'\n', &mut self.partial);
        read.map_err(StoreError::io("read", &self.folder))?;
        if self.partial.pop_if(|last| *last == b'\n').is_some() {
            return Ok(Some(std::mem::take(&mut self.partial)));
        }
        Ok(None)
    }

    fn next_day(&mut self) -> Result<bool, LineError> {
        let later = |day: &String| self.day.as_ref().is_none_or(|current| day > current);
        let Some(day) = days(&self.folder)?.into_iter().find(later) else { return Ok(false) };
        let path = self.folder.join(format!("{day}.jsonl"));
        let file = File::open(&path).map_err(StoreError::io("open", &path))?;
        self.reader = Some(BufReader::with_capacity(256 * 1024, file));
        self.day = Some(day);
        self.line = 0;
        self.partial.clear();
        Ok(true)
    }
}
