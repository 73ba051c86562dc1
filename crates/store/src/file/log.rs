//! The event log on disk: one file a day, lines only ever added.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use adjutant_core::{EventId, TaskId, Time};
use rustix::io::Errno;
use serde::Deserialize;

use super::disk::Disk;
use super::event_files::EventFiles;
use super::fault;
use super::journal::{Entry, is_named};
use super::system;
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

    /// Takes note that there was an event of this number, whether it is in the files or not.
    pub(super) fn go_on_after(&mut self, last: EventId) {
        self.chain.last = self.chain.last.max(last);
    }

    /// Returns the day whose file events of `now` go to: never one before the last.
    pub(super) fn day(&self, now: Time) -> String {
        now.day().max(self.day.clone())
    }

    /// Sees to it that there is room for what a commit is about to say. Once it is committed, the
    /// disk may not be full.
    pub(super) fn reserve(&mut self, entry: &Entry<'_>) -> Result<(), StoreError> {
        let bytes: usize = entry.lines.iter().map(|line| line.len() + 1).sum();
        if bytes == 0 {
            return Ok(());
        }
        let path = self.path(&entry.day);
        let file = self.open_day(&entry.day)?;
        let length = file.metadata().map_err(StoreError::io("read", &path))?.len();
        fault::point();
        match system::reserve(file, length, bytes as u64) {
            Err(full @ (Errno::NOSPC | Errno::DQUOT)) => {
                Err(StoreError::io("write", path)(full.into()))
            }
            // Where room cannot be reserved, it is found out later, and made up for.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Appends what a commit says.
    pub(super) fn append(&mut self, entry: &Entry<'_>) -> Result<(), StoreError> {
        let text = text(&entry.lines);
        if !text.is_empty() {
            let path = self.path(&entry.day);
            let file = self.open_day(&entry.day)?;
            let before = file.metadata().map_err(StoreError::io("read", &path))?.len();
            fault::write_all(file, text.as_bytes()).map_err(|error| {
                let _ = file.set_len(before);
                StoreError::io("write", &path)(error)
            })?;
        }
        self.follow(entry);
        Ok(())
    }

    /// Takes note of what a commit appended.
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

    /// Returns the file of a day. One that was put in its place meanwhile is opened anew.
    fn open_day(&mut self, day: &str) -> Result<&mut File, StoreError> {
        let path = self.path(day);
        let open = self.file.take().filter(|file| self.day == day && is_named(file, &path));
        day.clone_into(&mut self.day);
        let file = match open {
            Some(file) => file,
            None => open_whole(&path)?,
        };
        Ok(self.file.insert(file))
    }

    fn path(&self, day: &str) -> PathBuf {
        self.folder.join(format!("{day}.jsonl"))
    }
}

/// Brings the record to where these commits leave it, each day for itself: what is there already
/// is left, what is missing is added.
pub(super) fn redo(disk: &mut Disk, entries: &[Entry<'_>]) -> Result<(), StoreError> {
    let mut days: BTreeMap<&str, String> = BTreeMap::new();
    for entry in entries {
        days.entry(&entry.day).or_default().push_str(&text(&entry.lines));
    }
    days.iter().filter(|(_, text)| !text.is_empty()).try_for_each(|(day, text)| {
        let path = events_file(day);
        redo_day(disk, &path, text)?;
        disk.note(&path);
        Ok(())
    })
}

fn redo_day(disk: &mut Disk, path: &str, text: &str) -> Result<(), StoreError> {
    let bytes = disk.read(path)?.map(|(bytes, _)| bytes).unwrap_or_default();
    let start = start_of(&bytes, text);
    let same = bytes[start..].iter().zip(text.as_bytes()).take_while(|(a, b)| a == b).count();
    let (missing, stray) = (&text[same..], &bytes[start + same..]);
    if missing.is_empty() {
        return Ok(());
    }
    if stray.iter().any(|byte| *byte != 0) {
        let piece = disk.stage(stray)?;
        disk.put_aside(&piece, &path.replace('/', "-"))?;
    }
    end_with(&disk.root().join(path), (start + same) as u64, missing)
}

/// Finds where a text belongs that goes on after the events before it.
fn start_of(bytes: &[u8], text: &str) -> usize {
    let first = text.lines().next().and_then(|line| number(line.as_bytes())).unwrap_or_default();
    let mut end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    while end > 0 {
        let line = bytes[..end - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if number(&bytes[line..end - 1]).is_some_and(|id| id < first) {
            break;
        }
        end = line;
    }
    end
}

/// Cuts a file to a length, and adds a text.
fn end_with(path: &Path, length: u64, text: &str) -> Result<(), StoreError> {
    let io = |attempt| StoreError::io(attempt, path);
    let mut file = open_append(path).map_err(io("open"))?;
    fault::point();
    file.set_len(length).map_err(io("cut"))?;
    fault::write_all(&mut file, text.as_bytes()).map_err(io("write"))
}

/// Returns where the events of a day lie.
pub(super) fn events_file(day: &str) -> String {
    format!("{EVENTS}/{day}.jsonl")
}

fn text(lines: &[Cow<'_, str>]) -> String {
    lines.iter().flat_map(|line| [&**line, "\n"]).collect()
}

/// Opens a day's file for appending, and cuts off a line that was never finished.
fn open_whole(path: &Path) -> Result<File, StoreError> {
    let io = |attempt| StoreError::io(attempt, path);
    let mut file = open_append(path).map_err(io("open"))?;
    let tail = Tail::read(&mut file).map_err(io("read"))?;
    if tail.torn > 0 {
        fault::point();
        file.set_len(tail.length - tail.torn).map_err(io("cut"))?;
    }
    Ok(file)
}

fn open_append(path: &Path) -> std::io::Result<File> {
    fault::point();
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
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

/// Says whether the record ends in a line that is none: a power cut left a piece of it.
pub(super) fn ends_in_pieces(root: &Path) -> Result<bool, StoreError> {
    let folder = root.join(EVENTS);
    let Some(day) = days(&folder)?.pop() else { return Ok(false) };
    let path = folder.join(format!("{day}.jsonl"));
    let io = |attempt| StoreError::io(attempt, &path);
    let mut file = File::open(&path).map_err(io("open"))?;
    let tail = Tail::read(&mut file).map_err(io("read"))?;
    Ok(tail.lines.last().is_some_and(|line| number(line).is_none()))
}

pub(super) fn number(line: &[u8]) -> Option<EventId> {
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
            let mut breaks = bytes.iter().filter(|byte| **byte == b'\n');
            if start == 0 || breaks.nth(1).is_some() {
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
pub(super) fn days(folder: &Path) -> Result<Vec<String>, StoreError> {
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

/// Returns every task the record says was made, in order. Reads all of it.
pub(super) fn created(root: &Path) -> Result<Vec<TaskId>, StoreError> {
    let mut files = EventFiles::open(root);
    let mut ids = Vec::new();
    while let Some(line) = files.next_line()? {
        // Most lines speak of something else, and need not be parsed to be told apart.
        if String::from_utf8_lossy(&line.bytes).contains(CREATED) {
            let event = serde_json::from_slice::<Created>(&line.bytes).ok();
            let event = event.filter(|event| event.r#type == CREATED);
            ids.extend(event.and_then(|event| TaskId::parse(&event.task_id).ok()));
        }
    }
    Ok(ids)
}

const CREATED: &str = "task.created";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    r#type: String,
    task_id: String,
}
