//! Reads the event log line by line, while other processes may append to it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use adjutant_model::EventId;

use super::event_log::{event_days, event_number};
use crate::document_paths::EVENTS;
use crate::store::StoreError;

pub struct EventFiles {
    folder: PathBuf,
    /// Days before this one are skipped.
    from: String,
    day: Option<String>,
    reader: Option<BufReader<File>>,
    line: u64,
    partial: Vec<u8>,
}

pub type LineError = StoreError;

/// A complete line of the event log, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    pub file: String,
    /// Counted from 1 in each file.
    pub number: u64,
    /// Without the line break.
    pub bytes: Vec<u8>,
}

impl EventFiles {
    /// Starts before the first line of the event log.
    pub fn open(root: &Path) -> Self {
        let folder = root.join(EVENTS);
        Self { folder, from: String::new(), day: None, reader: None, line: 0, partial: Vec::new() }
    }

    /// Starts before the first line of a day, or of the next day that has events.
    pub fn since(root: &Path, day: &str) -> Self {
        Self { from: day.to_owned(), ..Self::open(root) }
    }

    /// Starts after an event, without reading everything before it: event numbers grow from line to
    /// line and from day to day.
    pub fn after(root: &Path, event: EventId) -> Result<Self, LineError> {
        let mut files = Self::open(root);
        let days = event_days(&files.folder)?;
        let begins_later =
            |day: &String| first_event(&files.path(day)).is_some_and(|id| id > event);
        let later = days.partition_point(|day| !begins_later(day));
        if let Some(day) = later.checked_sub(1).map(|at| days[at].clone()) {
            files.open_day(day)?;
            files.skip_to(event)?;
        }
        Ok(files)
    }

    /// Returns the next complete line, or `None` if there is none yet. Can be called again later.
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

    /// Returns the incomplete line at the end of the current file.
    pub fn incomplete_line(&self) -> &[u8] {
        &self.partial
    }

    /// Returns the name of the current file.
    pub fn file_name(&self) -> String {
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
        let later = |day: &String| {
            *day >= self.from && self.day.as_ref().is_none_or(|current| day > current)
        };
        let Some(day) = event_days(&self.folder)?.into_iter().find(later) else { return Ok(false) };
        self.open_day(day)?;
        Ok(true)
    }

    fn path(&self, day: &str) -> PathBuf {
        self.folder.join(format!("{day}.jsonl"))
    }

    fn open_day(&mut self, day: String) -> Result<(), LineError> {
        let path = self.path(&day);
        let file = File::open(&path).map_err(StoreError::io("open", &path))?;
        self.reader = Some(BufReader::with_capacity(256 * 1024, file));
        self.day = Some(day);
        self.line = 0;
        self.partial.clear();
        Ok(())
    }

    /// Seeks to the first line of the file whose event comes after `event`, and skips lines that
    /// are not events. Line numbers are unknown from then on.
    fn skip_to(&mut self, event: EventId) -> Result<(), LineError> {
        let io = || StoreError::io("read", &self.folder);
        let Some(reader) = &mut self.reader else { return Ok(()) };
        let file = reader.get_mut();
        let (mut low, mut high) = (0, file.metadata().map_err(io())?.len());
        // Invariant: `low` is the start of the file, or the first line after it comes
        // before the event.
        while high - low > NEAR_BYTES {
            let middle = low + (high - low) / 2;
            match event_after(file, middle).map_err(io())? {
                Some(id) if id <= event => low = middle,
                _ => high = middle,
            }
        }
        reader.seek(SeekFrom::Start(low)).map_err(io())?;
        if low > 0 {
            reader.skip_until(b'\n').map_err(io())?;
        }
        loop {
            let before = reader.stream_position().map_err(io())?;
            let mut line = Vec::new();
            let read = reader.read_until(b'\n', &mut line).map_err(io())?;
            let later = event_number(line.trim_ascii_end()).is_some_and(|id| id > event);
            if read == 0 || !line.ends_with(b"\n") || later {
                reader.seek(SeekFrom::Start(before)).map_err(io())?;
                return Ok(());
            }
        }
    }
}

/// Below this distance, reading is faster than seeking.
const NEAR_BYTES: u64 = 64 * 1024;

/// Returns the number of the first event in a file.
fn first_event(path: &Path) -> Option<EventId> {
    let mut line = Vec::new();
    BufReader::new(File::open(path).ok()?).read_until(b'\n', &mut line).ok()?;
    event_number(line.trim_ascii_end())
}

/// Returns the number of the first event whose line starts after `place`.
fn event_after(file: &mut File, place: u64) -> io::Result<Option<EventId>> {
    file.seek(SeekFrom::Start(place))?;
    let mut reader = BufReader::new(file);
    reader.skip_until(b'\n')?;
    loop {
        let mut line = Vec::new();
        if reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if let Some(id) = event_number(line.trim_ascii_end()) {
            return Ok(Some(id));
        }
    }
}
