//! An index of events by task, so that the events of one task are found without reading
//! the whole log.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use adjutant_model::EventId;
use adjutant_store::StoreError;
use adjutant_store::file::EventFiles;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use super::event_log::event_number;

/// How many events are indexed; each takes four bytes.
const EVENTS_MAX: u64 = 1_000_000;

/// The tasks of the latest events. Built from the event log at the first request, and extended when
/// the log has grown.
#[derive(Default)]
pub(in crate::http) struct TaskEventIndex(Mutex<TaskHashes>);

/// One hash per event, for the task the event is about. Event ids have no gaps, so
/// positions are ids.
#[derive(Default)]
struct TaskHashes {
    /// The event id of the first entry.
    first: u64,
    hashes: VecDeque<u32>,
}

impl TaskEventIndex {
    /// Returns the events before `before` that are probably about a task, newest first. Hashes can
    /// collide, so the caller must check each event.
    pub(super) fn events_of(
        &self,
        root: &Path,
        task: &str,
        before: u64,
    ) -> Result<Vec<u64>, StoreError> {
        let mut marks = self.lock_hashes();
        marks.catch_up(root, before)?;
        let (mark, ids) = (task_hash(task), marks.first..marks.next());
        let found = marks.hashes.iter().rev().zip(ids.rev()).filter(|(one, _)| **one == mark);
        Ok(found.map(|(_, id)| id).filter(|id| *id < before).collect())
    }

    fn lock_hashes(&self) -> MutexGuard<'_, TaskHashes> {
        self.0.lock()
    }
}

impl TaskHashes {
    fn next(&self) -> u64 {
        self.first + self.hashes.len() as u64
    }

    /// Indexes new events of the log, at least up to `until`.
    fn catch_up(&mut self, root: &Path, until: u64) -> Result<(), StoreError> {
        if self.hashes.is_empty() {
            self.first = until.saturating_sub(EVENTS_MAX).max(1);
        }
        if self.next() >= until {
            return Ok(());
        }
        let mut files = EventFiles::after(root, EventId(self.next() - 1))?;
        while let Some(line) = files.next_line()? {
            let Ok(text) = str::from_utf8(&line.bytes) else { continue };
            if let Some(id) = event_number(text).filter(|id| *id >= self.next()) {
                self.add(id, task_of(text).as_deref());
            }
        }
        Ok(())
    }

    fn add(&mut self, id: u64, task: Option<&str>) {
        // Lines may be missing because a person removed them: leave their entries empty.
        while self.next() < id && self.next() + EVENTS_MAX > id {
            self.hashes.push_back(0);
        }
        if self.next() < id {
            (self.first, self.hashes) = (id, VecDeque::new());
        }
        self.hashes.push_back(task.map_or(0, task_hash));
        while self.hashes.len() as u64 > EVENTS_MAX {
            self.hashes.pop_front();
            self.first += 1;
        }
    }
}

/// Returns the hash of a task; 0 stands for no task.
fn task_hash(task: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    task.hash(&mut hasher);
    // 32 of the 64 bits are enough.
    u32::try_from(hasher.finish() >> 32).unwrap_or_default().max(1)
}

/// Returns the task of an event. In our lines the field comes before any text from other programs.
fn task_of(text: &str) -> Option<String> {
    if !text.starts_with("{\"eventId\":") {
        let event = serde_json::from_str::<Value>(text).ok()?;
        return event["taskId"].as_str().map(str::to_owned);
    }
    let rest = text.split_once("\"taskId\":\"")?.1;
    Some(rest[..rest.find('"')?].to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(root: &Path, ids: impl IntoIterator<Item = u64>) {
        let line =
            |id: u64| format!("{{\"eventId\":{id},\"type\":\"x\",\"taskId\":\"T-{}\"}}\n", id % 10);
        let text: String = ids.into_iter().map(line).collect();
        fs::create_dir_all(root.join("events")).expect("a folder");
        let day = root.join("events/2026-02-09.jsonl");
        let before = fs::read_to_string(&day).unwrap_or_default();
        fs::write(day, before + &text).expect("written");
    }

    #[test]
    fn event_index_follows_growing_log() {
        let home = tempfile::tempdir().expect("a folder");
        let trail = TaskEventIndex::default();
        write(home.path(), 1..=30);
        let of = |task: &str, before| trail.events_of(home.path(), task, before).expect("it reads");
        assert_eq!(of("T-3", 31), [23, 13, 3]);
        assert_eq!(of("T-3", 23), [13, 3]);
        assert_eq!(of("T-none", 31), [0; 0]);
        write(home.path(), 31..=45);
        assert_eq!(of("T-3", 46), [43, 33, 23, 13, 3]);
    }

    #[test]
    fn event_index_skips_removed_lines() {
        let home = tempfile::tempdir().expect("a folder");
        let trail = TaskEventIndex::default();
        write(home.path(), (1..=10).chain(21..=30));
        let found = trail.events_of(home.path(), "T-3", 31).expect("it reads");
        assert_eq!(found, [23, 3]);
    }
}
