//! The event log on disk: one append-only file a day.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use adjutant_model::run::RunRef;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::{Event, EventId, RecordedEvent, TaskId, Time};
use rustix::io::Errno;
use serde::Deserialize;

use super::disk::FolderDisk;
use super::event_files::EventFiles;
use super::journal::{JournalEntry, is_same_file};
use super::{fault, system};
use crate::document_paths::EVENTS;
use crate::event_log::{EventChain, decode};
use crate::hash::ShortHash;
use crate::store::StoreError;

/// The event log, opened for writing.
pub(super) struct EventLog {
    folder: PathBuf,
    day: String,
    file: Option<File>,
    /// The length that the open file had at least: a shorter one was replaced by an older text.
    length: u64,
    chain: EventChain,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NumberedLine {
    event_id: u64,
}

impl EventLog {
    /// Opens the log and finds its end.
    pub(super) fn open(root: &Path) -> Result<Self, StoreError> {
        let folder = root.join(EVENTS);
        let mut log = Self {
            folder,
            day: String::new(),
            file: None,
            length: 0,
            chain: EventChain::default(),
        };
        for day in event_days(&log.folder)?.into_iter().rev() {
            if log.day.is_empty() {
                log.day.clone_from(&day);
            }
            if let Some(chain) = log_end(&log.path(&day))? {
                log.chain = chain;
                break;
            }
        }
        Ok(log)
    }

    /// Returns the end of the log.
    pub(super) fn chain(&self) -> EventChain {
        self.chain
    }

    /// Notes that this event number is used, even if the event is not in the files.
    pub(super) fn note_last_event(&mut self, last: EventId) {
        self.chain.last = self.chain.last.max(last);
    }

    /// Returns the day of the file for events of `now`: never before the last day.
    pub(super) fn day(&self, now: Time) -> String {
        now.day().max(self.day.clone())
    }

    /// Reserves disk space for the commit's events: once committed, they must not meet a full disk.
    pub(super) fn reserve(&mut self, entry: &JournalEntry<'_>) -> Result<(), StoreError> {
        let bytes: usize = entry.lines.iter().map(|line| line.len() + 1).sum();
        if bytes == 0 {
            return Ok(());
        }
        let path = self.path(&entry.day);
        let file = self.open_day(&entry.day)?;
        let length = file.metadata().map_err(StoreError::io("read", &path))?.len();
        fault::point();
        match system::reserve_space(file, length, bytes as u64) {
            Err(full @ (Errno::NOSPC | Errno::DQUOT)) => {
                Err(StoreError::io("write", path)(full.into()))
            }
            // Where space cannot be reserved, a full disk shows later, and recovery
            // appends the events.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Appends the events of a commit.
    pub(super) fn append(&mut self, entry: &JournalEntry<'_>) -> Result<(), StoreError> {
        let text = join_lines(&entry.lines);
        if !text.is_empty() {
            let path = self.path(&entry.day);
            let file = self.open_day(&entry.day)?;
            let before = file.metadata().map_err(StoreError::io("read", &path))?.len();
            fault::write_all(file, text.as_bytes()).map_err(|error| {
                let _ = file.set_len(before);
                StoreError::io("write", &path)(error)
            })?;
            self.length = before + text.len() as u64;
        }
        self.note_appended(entry);
        Ok(())
    }

    /// Appends one event that is in no commit, synced. Returns the path of its file.
    pub(super) fn append_event(&mut self, event: &RecordedEvent) -> Result<String, StoreError> {
        let day = self.day(event.at);
        let lines = self.chain.append_events(std::slice::from_ref(event));
        let path = self.path(&day);
        let mut file = open_whole(&path)?;
        let io = |attempt| StoreError::io(attempt, &path);
        fault::write_all(&mut file, format!("{}\n", lines.concat()).as_bytes())
            .map_err(io("write"))?;
        file.sync_all().map_err(io("sync"))?;
        Ok(events_file(&day))
    }

    /// Updates the end of the log after a commit was appended.
    pub(super) fn note_appended(&mut self, entry: &JournalEntry<'_>) {
        if *entry.day > *self.day {
            self.day = entry.day.clone().into_owned();
            self.file = None;
        }
        if let Some(line) = entry.lines.last()
            && let Some(id) = event_number(line.as_bytes()).filter(|id| *id > self.chain.last)
        {
            self.chain = EventChain { last: id, prev: Some(ShortHash::digest(line.as_bytes())) };
        }
    }

    /// Returns the file of a day. Opens it again if another file has taken its place, and refuses
    /// one that is older than the store.
    fn open_day(&mut self, day: &str) -> Result<&mut File, StoreError> {
        let path = self.path(day);
        let is_open = |file: &File| {
            let length = file.metadata().map_or(0, |meta| meta.len());
            self.day == day && length >= self.length && is_same_file(file, &path)
        };
        let open = self.file.take().filter(is_open);
        let file = if let Some(file) = open {
            file
        } else {
            self.expect_not_behind()?;
            let file = open_whole(&path)?;
            self.length = file.metadata().map_err(StoreError::io("read", &path))?.len();
            file
        };
        day.clone_into(&mut self.day);
        Ok(self.file.insert(file))
    }

    /// Refuses files that end before the last event that this process knows.
    fn expect_not_behind(&self) -> Result<(), StoreError> {
        let mut end = EventId::default();
        for day in event_days(&self.folder)?.into_iter().rev() {
            if let Some(chain) = log_end(&self.path(&day))? {
                end = chain.last;
                break;
            }
        }
        if end < self.chain.last {
            return Err(StoreError::LogBehind { log: end, store: self.chain.last });
        }
        Ok(())
    }

    fn path(&self, day: &str) -> PathBuf {
        self.folder.join(format!("{day}.jsonl"))
    }
}

/// Appends the events of these commits that are missing, for each day.
pub(super) fn redo(disk: &mut FolderDisk, entries: &[JournalEntry<'_>]) -> Result<(), StoreError> {
    let mut days: BTreeMap<&str, String> = BTreeMap::new();
    for entry in entries {
        days.entry(&entry.day).or_default().push_str(&join_lines(&entry.lines));
    }
    days.iter().filter(|(_, text)| !text.is_empty()).try_for_each(|(day, text)| {
        let path = events_file(day);
        redo_day(disk, &path, text)?;
        disk.note_written(&path);
        Ok(())
    })
}

fn redo_day(disk: &mut FolderDisk, path: &str, text: &str) -> Result<(), StoreError> {
    let bytes = disk.read(path)?.map(|(bytes, _)| bytes).unwrap_or_default();
    let start = insertion_point(&bytes, text);
    let same = bytes[start..].iter().zip(text.as_bytes()).take_while(|(a, b)| a == b).count();
    let (missing, stray) = (&text[same..], &bytes[start + same..]);
    if missing.is_empty() {
        return Ok(());
    }
    if stray.iter().any(|byte| *byte != 0) {
        let piece = disk.stage(stray)?;
        disk.keep_in_lost_found(&piece, &path.replace('/', "-"))?;
    }
    replace_tail(&disk.root().join(path), (start + same) as u64, missing)
}

/// Finds where the text belongs: after the last event with a smaller number.
fn insertion_point(bytes: &[u8], text: &str) -> usize {
    let first =
        text.lines().next().and_then(|line| event_number(line.as_bytes())).unwrap_or_default();
    let mut end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    while end > 0 {
        let line = bytes[..end - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if event_number(&bytes[line..end - 1]).is_some_and(|id| id < first) {
            break;
        }
        end = line;
    }
    end
}

/// Cuts a file to a length, and appends a text.
fn replace_tail(path: &Path, length: u64, text: &str) -> Result<(), StoreError> {
    let io = |attempt| StoreError::io(attempt, path);
    let mut file = open_append(path).map_err(io("open"))?;
    fault::point();
    file.set_len(length).map_err(io("cut"))?;
    fault::write_all(&mut file, text.as_bytes()).map_err(io("write"))
}

/// Returns the path of the event file of a day.
pub(super) fn events_file(day: &str) -> String {
    format!("{EVENTS}/{day}.jsonl")
}

fn join_lines(lines: &[Cow<'_, str>]) -> String {
    lines.iter().flat_map(|line| [&**line, "\n"]).collect()
}

/// Opens a day's file for appending, and cuts off an incomplete line.
fn open_whole(path: &Path) -> Result<File, StoreError> {
    let io = |attempt| StoreError::io(attempt, path);
    let mut file = open_append(path).map_err(io("open"))?;
    let tail = LogTail::read(&mut file).map_err(io("read"))?;
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

/// Reads the last event of a file; `None` if it has none.
fn log_end(path: &Path) -> Result<Option<EventChain>, StoreError> {
    let io = |attempt| StoreError::io(attempt, path);
    let mut file = File::open(path).map_err(io("open"))?;
    let tail = LogTail::read(&mut file).map_err(io("read"))?;
    let last = tail.lines.iter().rev().find_map(|line| event_number(line));
    let hash = tail.lines.last().map(|line| ShortHash::digest(line));
    Ok(hash.map(|hash| EventChain { last: last.unwrap_or_default(), prev: Some(hash) }))
}

/// Returns true if the last line of the log is not an event: a power cut left a part of it.
pub(super) fn ends_in_torn_line(root: &Path) -> Result<bool, StoreError> {
    let folder = root.join(EVENTS);
    let Some(day) = event_days(&folder)?.pop() else { return Ok(false) };
    let path = folder.join(format!("{day}.jsonl"));
    let io = |attempt| StoreError::io(attempt, &path);
    let mut file = File::open(&path).map_err(io("open"))?;
    let tail = LogTail::read(&mut file).map_err(io("read"))?;
    Ok(tail.lines.last().is_some_and(|line| event_number(line).is_none()))
}

pub(super) fn event_number(line: &[u8]) -> Option<EventId> {
    let numbered: NumberedLine = serde_json::from_slice(line).ok()?;
    Some(EventId(numbered.event_id))
}

struct LogTail {
    length: u64,
    /// The number of bytes after the last line break.
    torn: u64,
    lines: Vec<Vec<u8>>,
}

impl LogTail {
    /// Reads back from the end until there is at least one complete line.
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

/// Returns the days that have an event file, sorted.
pub(super) fn event_days(folder: &Path) -> Result<Vec<String>, StoreError> {
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

/// What the event log says about tasks and their files do not.
#[derive(Default)]
pub(super) struct LoggedTasks {
    /// Every task that was ever created, in order.
    pub(super) created: Vec<TaskId>,
    /// The checks that an operator accepted. The files have a copy, which anybody may have written.
    pub(super) accepted_checks: BTreeMap<TaskId, Box<[Box<str>]>>,
    /// The protected files whose change a person has allowed.
    pub(super) allowed_files: BTreeMap<TaskId, Vec<Box<str>>>,
    /// The newest run of each task. Its token is revoked: only the journal knows it.
    pub(super) last_runs: BTreeMap<TaskId, RunRef>,
}

/// Reads the whole event log.
pub(super) fn logged_tasks(root: &Path) -> Result<LoggedTasks, StoreError> {
    let mut files = EventFiles::open(root);
    let mut logged = LoggedTasks::default();
    while let Some(line) = files.next_line()? {
        let text = String::from_utf8_lossy(&line.bytes);
        // Most lines are other events; a text search avoids parsing them.
        if !DESCRIBING.iter().any(|kind| text.contains(kind)) {
            continue;
        }
        let Ok(event) = serde_json::from_str::<TaskLine>(&text) else { continue };
        let Some(id) = TaskId::parse(&event.task_id).ok() else { continue };
        if event.r#type == CREATED {
            logged.created.push(id.clone());
        }
        match &*event.r#type {
            CREATED | EDITED | CHECKS_ACCEPTED => logged.note_accepted_checks(id, &text),
            ALLOWED => logged.note_allowed_files(id, &text),
            CHECKED => drop(logged.allowed_files.remove(&id)),
            STARTED => {
                logged.allowed_files.remove(&id);
                logged.note_run(id, &text);
            }
            _ => {}
        }
    }
    Ok(logged)
}

impl LoggedTasks {
    fn note_run(&mut self, id: TaskId, line: &str) {
        let event = decode(line).ok().map(|it| it.new_event.event);
        let Some(Event::RunStarted { agent, attempt, fence, .. }) = event else { return };
        let last = self.last_runs.get(&id).map_or((0, 0), |run| (run.attempt, run.fence));
        let run = RunRef {
            agent,
            attempt: attempt.max(last.0),
            fence: fence.max(last.1),
            nonce: Some(RunNonce::REVOKED),
        };
        self.last_runs.insert(id, run);
    }

    fn note_allowed_files(&mut self, id: TaskId, line: &str) {
        let event = decode(line).ok().map(|it| it.new_event.event);
        if let Some(Event::ProtectedAllowed { files }) = event {
            let files = files.into_iter().map(Into::into).collect();
            self.allowed_files.insert(id, files);
        }
    }

    fn note_accepted_checks(&mut self, id: TaskId, line: &str) {
        let has_checks = line.contains("hecks");
        let event = has_checks.then(|| decode(line).ok()).flatten().map(|it| it.new_event.event);
        let accepted = match event {
            Some(Event::TaskCreated { task, .. } | Event::TaskEdited { task, .. }) => {
                task.history.accepted_checks
            }
            Some(Event::ChecksAccepted { checks }) => {
                checks.map(|checks| checks.into_iter().map(Into::into).collect())
            }
            _ => None,
        };
        match accepted {
            Some(accepted) => drop(self.accepted_checks.insert(id, accepted)),
            None => drop(self.accepted_checks.remove(&id)),
        }
    }
}

const CREATED: &str = "task.created";
const EDITED: &str = "task.edited";
const CHECKS_ACCEPTED: &str = "task.checks.accepted";
const ALLOWED: &str = "work.protected.allowed";
const CHECKED: &str = "work.checked";
const STARTED: &str = "run.started";

/// The events that say what an operator consented to.
const DESCRIBING: [&str; 6] = [CREATED, EDITED, CHECKS_ACCEPTED, ALLOWED, CHECKED, STARTED];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskLine {
    r#type: String,
    task_id: String,
}
