//! Reads a folder without waiting for a writer.
//!
//! The index has what was read before, and a scan of every file shows what is there now. A file
//! that moves during the scan can be missed, so every task that the journal names meanwhile is
//! looked at again. A reader that writers overtake again and again makes them wait once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use adjutant_core::World;
use adjutant_model::{EventId, Task, TaskId};

use super::disk::FolderDisk;
use super::edit_detection::{FileObservation, find_task_files, observe};
use super::event_log::EventLog;
use super::fingerprint::FileFingerprint;
use super::folder::DataFolder;
use super::format_check::check_format;
use super::index::TaskIndex;
use super::journal::{self, JournalEntry, JournalPosition, is_not_found};
use super::open::lock_path;
use super::pending_commits::PendingCommits;
use super::progress_marker::ProgressMarker;
use super::scan::scan_tasks;
use crate::batch::StoreVersion;
use crate::hash::ShortHash;
use crate::store::StoreError;

/// How often everything is read again because writers were faster, before they have to wait.
const TRIES_MAX: u32 = 5;
/// How much of the end of the journal is read at first.
const WINDOW_BYTES: u64 = 64 << 10;
/// How often changed tasks are looked at again before everything is.
pub(super) const RECHECKS_MAX: u32 = 100;

/// Reads every task as it is now: all of them, or an error. Changes nothing, and takes a lock only
/// if writers keep overtaking it.
pub fn read_world(folder: &DataFolder) -> Result<World, StoreError> {
    check_format(folder)?;
    let mut disk = FolderDisk::open(folder)?;
    disk.refresh_held()?;
    for _ in 0..TRIES_MAX {
        if let ReadOutcome::Complete(view) = FolderView::read(&disk)? {
            return view.into_world(&disk);
        }
    }
    let _turn = lock_shared(&disk);
    loop {
        // Without writers, only a checkpoint can still remove a journal file before it is read, at
        // most once for each file.
        if let ReadOutcome::Complete(view) = FolderView::read(&disk)? {
            return view.into_world(&disk);
        }
    }
}

/// Returns the version of a folder and the hash of the last line of its event log. Changes nothing,
/// and makes writers wait meanwhile.
pub fn read_folder_end(
    folder: &DataFolder,
) -> Result<(StoreVersion, Option<ShortHash>), StoreError> {
    check_format(folder)?;
    let disk = FolderDisk::open(folder)?;
    let _turn = lock_shared(&disk);
    let projected = ProgressMarker::peek(&disk.journal())?.projected;
    let entries = JournalFollower::after(&disk, projected)?.next(&disk)?.unwrap_or_default();
    let pending = entries.iter().filter(|entry| entry.version > projected.0);
    let version = pending.clone().map(|entry| entry.version).max();
    // Events that are in the files are read there, because people see the files.
    let line = pending.filter_map(|entry| entry.lines.last()).next_back();
    let end = match line {
        Some(line) => Some(ShortHash::digest(line.as_bytes())),
        None => EventLog::open(disk.root())?.chain().prev,
    };
    Ok((version.map_or(projected, StoreVersion), end))
}

/// Waits until no process writes, and keeps writers waiting. Without a lock file there is no
/// writer; if locking fails, the caller reads without the lock.
fn lock_shared(disk: &FolderDisk) -> Option<File> {
    let lock = File::open(lock_path(disk.root())).ok()?;
    lock.lock_shared().ok().map(|()| lock)
}

enum ReadOutcome {
    /// The view includes everything.
    Complete(FolderView),
    /// Writers were faster: something may be missing.
    Overtaken,
}

#[derive(Default)]
struct FolderView {
    tasks: BTreeMap<TaskId, Arc<Task>>,
    unreadable: BTreeSet<TaskId>,
    underway: PendingCommits,
    last_event: EventId,
    spent: Vec<TaskId>,
}

impl FolderView {
    fn read(disk: &FolderDisk) -> Result<ReadOutcome, StoreError> {
        // Without a readable marker, every commit counts as not yet in the files.
        let projected = ProgressMarker::peek(&disk.journal()).unwrap_or_default().projected;
        let mut view = Self { underway: PendingCommits::after(projected), ..Self::default() };
        let mut journal = JournalFollower::after(disk, projected)?;
        // These commits may reach the files during the scan.
        let Some(entries) = journal.next(disk)? else { return Ok(ReadOutcome::Overtaken) };
        let mut again = view.underway.add_held(&disk.held);
        again.extend(view.underway.add(&entries));
        again.extend(view.scan(disk)?);
        for _ in 0..RECHECKS_MAX {
            for id in &again {
                view.observe(disk, id)?;
            }
            match journal.next(disk)? {
                Some(entries) if entries.is_empty() => return Ok(ReadOutcome::Complete(view)),
                Some(entries) => again = view.underway.add(&entries),
                None => break,
            }
        }
        Ok(ReadOutcome::Overtaken)
    }

    /// Scans all folders, and returns the known tasks that the scan did not find.
    fn scan(&mut self, disk: &FolderDisk) -> Result<BTreeSet<TaskId>, StoreError> {
        let known = self.load_index(disk);
        let scan = scan_tasks(disk.root())?;
        let mut missing: BTreeSet<TaskId> =
            self.tasks.keys().filter(|id| !scan.contains_key(*id)).cloned().collect();
        for (id, places) in &scan {
            if matches!((&places[..], known.get(id)), ([place], Some(known)) if known.is_at(place))
            {
                continue;
            }
            match observe(disk, id, places, None)? {
                // The file has moved since its folder was scanned.
                FileObservation::Missing => drop(missing.insert(id.clone())),
                seen => self.apply(id, seen),
            }
        }
        Ok(missing)
    }

    fn load_index(&mut self, disk: &FolderDisk) -> HashMap<TaskId, FileFingerprint> {
        let (_, Some(indexed)) = TaskIndex::load(&disk.journal()) else { return HashMap::new() };
        self.tasks = indexed.tasks;
        (self.last_event, self.spent) = (indexed.last_event, indexed.used_ids);
        indexed.fingerprints
    }

    fn observe(&mut self, disk: &FolderDisk, id: &TaskId) -> Result<(), StoreError> {
        let seen = observe_task(disk, &self.underway, id)?;
        self.apply(id, seen);
        Ok(())
    }

    fn apply(&mut self, id: &TaskId, seen: FileObservation) {
        self.unreadable.remove(id);
        match seen {
            FileObservation::Task(task, _) => drop(self.tasks.insert(id.clone(), task)),
            FileObservation::Unreadable => {
                self.tasks.remove(id);
                self.unreadable.insert(id.clone());
            }
            FileObservation::Missing => drop(self.tasks.remove(id)),
            FileObservation::Unchanged(_) => {}
        }
    }

    fn into_world(self, disk: &FolderDisk) -> Result<World, StoreError> {
        let last = EventLog::open(disk.root())?.chain().last;
        let mut world = World::load(self.tasks.into_values(), self.last_event.max(last));
        for id in self.unreadable {
            world.set_unreadable(id);
        }
        self.spent.iter().for_each(|id| world.note_number(id));
        world.set_file_faults(disk.held.faults());
        Ok(world)
    }
}

/// Looks for a task in every folder, and a second time if it is in none: it may be moving from one
/// to another. If it moves again at the second look, the journal names it.
pub(super) fn observe_task(
    disk: &FolderDisk,
    underway: &PendingCommits,
    id: &TaskId,
) -> Result<FileObservation, StoreError> {
    let mut seen = observe(disk, id, &find_task_files(disk, id)?, None)?;
    if matches!(seen, FileObservation::Missing) {
        seen = observe(disk, id, &find_task_files(disk, id)?, None)?;
    }
    Ok(underway.resolve(id, seen))
}

/// Follows the journal while other processes append to it.
pub(super) struct JournalFollower {
    /// `None` while there is no journal.
    position: Option<JournalPosition>,
}

impl JournalFollower {
    /// Starts before the first commit after `version`, or earlier.
    pub(super) fn after(disk: &FolderDisk, version: StoreVersion) -> Result<Self, StoreError> {
        let numbers = numbers(disk)?;
        let Some(number) = numbers.last().copied() else {
            return Ok(Self { position: None });
        };
        let mut window = WINDOW_BYTES;
        while let Ok(offset) = line_start(&disk.journal(), number, window) {
            let Ok(stretch) = journal::read(&disk.journal(), number, offset) else { break };
            let reaches = match stretch.entries.first() {
                Some(first) => first.version <= version.next().0,
                None => stretch.base.is_some_and(|base| base <= version),
            };
            if reaches {
                return Ok(Self { position: Some(JournalPosition { number, offset }) });
            }
            if offset == 0 {
                break;
            }
            window *= 4;
        }
        let start = numbers.first().map(|number| JournalPosition { number: *number, offset: 0 });
        Ok(Self { position: start })
    }

    /// Returns the commits since the last call. Returns `None` if some may be missing: a file was
    /// removed before it was read, or the journal was only just created.
    pub(super) fn next(
        &mut self,
        disk: &FolderDisk,
    ) -> Result<Option<Vec<JournalEntry<'static>>>, StoreError> {
        let mut entries = Vec::new();
        loop {
            // Listed first: a file with a successor is not appended to any more.
            let numbers = numbers(disk)?;
            let Some(position) = &mut self.position else {
                return Ok(numbers.is_empty().then_some(entries));
            };
            match journal::read(&disk.journal(), position.number, position.offset) {
                Ok(stretch) if stretch.is_short => return Ok(None),
                Ok(stretch) => {
                    entries.extend(stretch.entries);
                    position.offset = stretch.end;
                }
                Err(error) if is_not_found(&error) => return Ok(None),
                // `doctor` reports a damaged journal; the task files can still be read.
                Err(StoreError::Damaged { .. }) => return Ok(Some(entries)),
                Err(error) => return Err(error),
            }
            // A file that is missing between two others was never there, so it is skipped.
            let Some(next) = numbers.into_iter().find(|number| *number > position.number) else {
                return Ok(Some(entries));
            };
            *position = JournalPosition { number: next, offset: 0 };
        }
    }
}

/// Returns where the first line starts in the last `window` bytes of a journal file; 0 if the
/// window covers the whole file.
fn line_start(folder: &Path, number: u64, window: u64) -> io::Result<u64> {
    let mut file = File::open(folder.join(format!("{number:08}.wal")))?;
    let start = file.metadata()?.len().saturating_sub(window);
    if start == 0 {
        return Ok(0);
    }
    file.seek(SeekFrom::Start(start))?;
    let mut rest = Vec::new();
    let skipped = BufReader::new(file).read_until(b'\n', &mut rest)?;
    Ok(start + skipped as u64)
}

/// Returns the numbers of the journal files; empty for a folder without a journal.
fn numbers(disk: &FolderDisk) -> Result<Vec<u64>, StoreError> {
    match journal::numbers(&disk.journal()) {
        Err(error) if is_not_found(&error) => Ok(vec![]),
        numbers => numbers,
    }
}
