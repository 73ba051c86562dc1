//! Compares the end of the event log with what the store knows, and continues a log whose files
//! were replaced by older ones.

use std::time::{SystemTime, UNIX_EPOCH};

use adjutant_model::event::NewEvent;
use adjutant_model::{Actor, Event, EventId, RecordedEvent, Time};

use super::{DoctorFinding, FindingCode};
use crate::document_paths::EVENTS;
use crate::file::disk::FolderDisk;
use crate::file::event_log::{EventLog, event_number};
use crate::file::index::TaskIndex;
use crate::file::journal;
use crate::file::progress_marker::ProgressMarker;
use crate::store::StoreError;

/// Finds a log that ends before the last event that the store knows.
pub(super) fn examine(disk: &FolderDisk) -> Result<Option<DoctorFinding>, StoreError> {
    // Read in this order, because a process may commit meanwhile.
    let known = last_known_event(disk)?;
    let end = EventLog::open(disk.root())?.chain().last;
    let text = || {
        format!(
            "the event log ends at event {end}, but the store has events up to {known}: its files \
             were replaced by older ones; put the newer files back, or let --fix continue the log \
             without the missing events"
        )
    };
    Ok((end < known).then(|| DoctorFinding::new(FindingCode::EventLogBehind, EVENTS, text())))
}

/// Returns the last event of the commits that are in the files.
fn last_known_event(disk: &FolderDisk) -> Result<EventId, StoreError> {
    let folder = disk.journal();
    if !folder.is_dir() {
        return Ok(EventId::default());
    }
    let indexed = TaskIndex::load(&folder).1.map_or(EventId::default(), |index| index.last_event);
    let projected = ProgressMarker::peek(&folder)?.projected.0;
    let mut last = indexed;
    for number in journal::numbers(&folder)? {
        // A damaged or removed file has a finding of its own.
        let Ok(stretch) = journal::read(&folder, number, 0) else { continue };
        // Opening the folder appends the events of later commits.
        let shown = stretch.entries.iter().filter(|entry| entry.version <= projected);
        let lines = shown.filter_map(|entry| entry.lines.last());
        let ids = lines.filter_map(|line| event_number(line.as_bytes()));
        last = ids.fold(last, EventId::max);
    }
    Ok(last)
}

/// Appends the event that says which events are missing. The store continues after it.
pub(super) fn continue_log(disk: &mut FolderDisk) -> Result<String, StoreError> {
    let mut log = EventLog::open(disk.root())?;
    let (kept, missing) = (log.chain().last, last_known_event(disk)?);
    let event = Event::LogRestored { kept, missing };
    let new_event = NewEvent { actor: Actor::System, task: None, event };
    let recorded = RecordedEvent { id: missing.next(), at: now(), node: None, new_event };
    let path = log.append_event(&recorded)?;
    disk.note_written(&path);
    Ok(format!("continued the log with event {}, log.restored", recorded.id))
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
