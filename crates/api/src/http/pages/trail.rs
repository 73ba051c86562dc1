//! Which events are about which task, so that the record of one is found without reading that of all.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use adjutant_core::EventId;
use adjutant_store::StoreError;
use adjutant_store::file::EventFiles;
use serde_json::Value;

use super::record::number;

/// Of how many events it is known; four bytes each.
const EVENTS_MAX: u64 = 1_000_000;

/// The tasks of the last events. Read from the record when somebody first asks, and from then on as
/// far as it has grown.
#[derive(Default)]
pub(in crate::http) struct Trail(Mutex<Marks>);

/// A mark of the task each event is about, one after the other: the numbers of events have no gap.
#[derive(Default)]
struct Marks {
    /// The number of the event that the first is of.
    first: u64,
    marks: VecDeque<u32>,
}

impl Trail {
    /// Returns the events before one that are likely about a task, the last first. Another task may
    /// have the same mark.
    pub(super) fn of(&self, root: &Path, task: &str, before: u64) -> Result<Vec<u64>, StoreError> {
        let mut marks = self.marks();
        marks.catch_up(root, before)?;
        let (mark, ids) = (mark(task), marks.first..marks.next());
        let found = marks.marks.iter().rev().zip(ids.rev()).filter(|(one, _)| **one == mark);
        Ok(found.map(|(_, id)| id).filter(|id| *id < before).collect())
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Marks {
    fn next(&self) -> u64 {
        self.first + self.marks.len() as u64
    }

    /// Reads what was added to the record, up to an event at least.
    fn catch_up(&mut self, root: &Path, until: u64) -> Result<(), StoreError> {
        if self.marks.is_empty() {
            self.first = until.saturating_sub(EVENTS_MAX).max(1);
        }
        if self.next() >= until {
            return Ok(());
        }
        let mut files = EventFiles::after(root, EventId(self.next() - 1))?;
        while let Some(line) = files.next_line()? {
            let Ok(text) = str::from_utf8(&line.bytes) else { continue };
            if let Some(id) = number(text).filter(|id| *id >= self.next()) {
                self.add(id, task_of(text).as_deref());
            }
        }
        Ok(())
    }

    fn add(&mut self, id: u64, task: Option<&str>) {
        // Where somebody took lines out, nothing is known of them.
        while self.next() < id && self.next() + EVENTS_MAX > id {
            self.marks.push_back(0);
        }
        if self.next() < id {
            (self.first, self.marks) = (id, VecDeque::new());
        }
        self.marks.push_back(task.map_or(0, mark));
        while self.marks.len() as u64 > EVENTS_MAX {
            self.marks.pop_front();
            self.first += 1;
        }
    }
}

/// Returns the mark of a task; 0 is the mark of none.
fn mark(task: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    task.hash(&mut hasher);
    // Half of it says enough.
    u32::try_from(hasher.finish() >> 32).unwrap_or_default().max(1)
}

/// Returns the task of an event. In ours it stands before everything that others wrote.
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
    fn the_events_of_a_task_are_known_as_the_record_grows() {
        let home = tempfile::tempdir().expect("a folder");
        let trail = Trail::default();
        write(home.path(), 1..=30);
        let of = |task: &str, before| trail.of(home.path(), task, before).expect("it reads");
        assert_eq!(of("T-3", 31), [23, 13, 3]);
        assert_eq!(of("T-3", 23), [13, 3]);
        assert_eq!(of("T-none", 31), [0; 0]);
        write(home.path(), 31..=45);
        assert_eq!(of("T-3", 46), [43, 33, 23, 13, 3]);
    }

    #[test]
    fn lines_that_somebody_took_out_are_passed_over() {
        let home = tempfile::tempdir().expect("a folder");
        let trail = Trail::default();
        write(home.path(), (1..=10).chain(21..=30));
        let found = trail.of(home.path(), "T-3", 31).expect("it reads");
        assert_eq!(found, [23, 3]);
    }
}
