//! Detects changes that people and other programs made to task files.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::io;
use std::sync::Arc;

use adjutant_core::World;
use adjutant_core::input::FileChange;
use adjutant_model::task::TASK_FILE_BYTES_MAX;
use adjutant_model::{Status, Task, TaskId};
use rustix::io::Errno;

use super::FileStore;
use super::disk::{BoundedRead, FolderDisk, PathState};
use super::fingerprint::{FileFingerprint, FileSignature, PendingEdits};
use super::scan::{TaskScan, scan_tasks};
use crate::document_paths::task_file;
use crate::hash::ShortHash;
use crate::store::StoreError;
use crate::taskfile;

pub(super) enum FileObservation {
    /// Unchanged text and folder.
    Unchanged(FileFingerprint),
    /// A task whose text or folder has changed.
    Task(Arc<Task>, FileFingerprint),
    /// A file that cannot be parsed as a task.
    Unreadable,
    Missing,
}

impl FileStore {
    pub(super) fn detect_all_edits(
        &mut self,
        world: &World,
    ) -> Result<Vec<FileChange>, StoreError> {
        let scan = scan_tasks(self.disk.root())?;
        compare_files(&self.disk, &scan, &mut self.fingerprints, &mut self.pending_edits, world)
    }

    pub(super) fn detect_edits(
        &mut self,
        world: &World,
        ids: &[TaskId],
    ) -> Result<Vec<FileChange>, StoreError> {
        let mut changes = Vec::new();
        for id in ids {
            self.disk.check_folders(id, self.fingerprints.get(id).map(|known| known.status))?;
            if self.disk.held.has_waiting_changes(id) {
                continue;
            }
            let places = match self.fingerprints.get(id) {
                Some(known) => match self.disk.path_state(&task_file(known.status, id))? {
                    PathState::File(sig) if known.sig == Some(sig) => continue,
                    PathState::File(sig) => vec![(known.status, Some(sig))],
                    PathState::Other => vec![(known.status, None)],
                    PathState::Missing => find_task_files(&self.disk, id)?,
                },
                None => find_task_files(&self.disk, id)?,
            };
            let seen = observe_moving(&self.disk, id, &places, self.fingerprints.get(id))?;
            changes.extend(record_observation(
                id,
                seen,
                &mut self.fingerprints,
                &mut self.pending_edits,
                world,
            ));
        }
        Ok(changes)
    }
}

/// Finds every status folder that has a file of this task.
pub(super) fn find_task_files(
    disk: &FolderDisk,
    id: &TaskId,
) -> Result<Vec<(Status, Option<FileSignature>)>, StoreError> {
    let mut places = Vec::new();
    for status in Status::ALL {
        match disk.path_state(&task_file(status, id))? {
            PathState::File(sig) => places.push((status, Some(sig))),
            PathState::Other => places.push((status, None)),
            PathState::Missing => {}
        }
    }
    Ok(places)
}

/// Compares the files with their last known state, and returns the changes.
pub(super) fn compare_files(
    disk: &FolderDisk,
    scan: &TaskScan,
    known: &mut HashMap<TaskId, FileFingerprint>,
    unsaid: &mut PendingEdits,
    world: &World,
) -> Result<Vec<FileChange>, StoreError> {
    let mut changes = Vec::new();
    for (id, places) in scan {
        let before = known.get(id);
        // The files of a task on hold are behind, which is no edit.
        if disk.held.has_waiting_changes(id) {
            continue;
        }
        if matches!((&places[..], before), ([place], Some(known)) if known.is_at(place)) {
            continue;
        }
        let seen = observe_moving(disk, id, places, before)?;
        changes.extend(record_observation(id, seen, known, unsaid, world));
    }
    let once_there = known.keys().chain(world.unreadable());
    let is_gone = |id: &&TaskId| !scan.contains_key(*id) && !disk.held.has_waiting_changes(id);
    let gone: BTreeSet<TaskId> = once_there.filter(is_gone).cloned().collect();
    let looks = if gone.len() > MOVED_AT_ONCE_MAX { 1 } else { LOOKS_AGAIN };
    for id in gone {
        let seen = observe_again(disk, &id, known.get(&id), looks)?;
        changes.extend(record_observation(&id, seen, known, unsaid, world));
    }
    Ok(changes)
}

/// Updates the known state, and returns the change that the world has to take in.
fn record_observation(
    id: &TaskId,
    seen: FileObservation,
    known: &mut HashMap<TaskId, FileFingerprint>,
    unsaid: &mut PendingEdits,
    world: &World,
) -> Option<FileChange> {
    let before = known.get(id).copied();
    let change = update_fingerprint(id, seen, known, world);
    if change.is_some() {
        unsaid.entry(id.clone()).or_insert(before);
    }
    change
}

fn update_fingerprint(
    id: &TaskId,
    seen: FileObservation,
    known: &mut HashMap<TaskId, FileFingerprint>,
    world: &World,
) -> Option<FileChange> {
    match seen {
        FileObservation::Unchanged(now) => {
            known.insert(id.clone(), now);
            None
        }
        FileObservation::Task(task, now) => {
            known.insert(id.clone(), now);
            Some(FileChange::Changed(Box::new(Arc::unwrap_or_clone(task))))
        }
        FileObservation::Unreadable => {
            known.remove(id);
            (!world.unreadable().contains(id)).then(|| FileChange::Unreadable(id.clone()))
        }
        FileObservation::Missing => {
            known.remove(id);
            let missed = world.task(id).is_some() || world.unreadable().contains(id);
            missed.then(|| FileChange::Removed(id.clone()))
        }
    }
}

/// Reads the file of a task, and looks again in every folder before it counts as gone: a person may
/// be moving it from a folder that is looked at later to one that was looked at before.
fn observe_moving(
    disk: &FolderDisk,
    id: &TaskId,
    places: &[(Status, Option<FileSignature>)],
    before: Option<&FileFingerprint>,
) -> Result<FileObservation, StoreError> {
    match observe(disk, id, places, before)? {
        FileObservation::Missing => observe_again(disk, id, before, LOOKS_AGAIN),
        seen => Ok(seen),
    }
}

fn observe_again(
    disk: &FolderDisk,
    id: &TaskId,
    before: Option<&FileFingerprint>,
    looks: u32,
) -> Result<FileObservation, StoreError> {
    for _ in 0..looks {
        let seen = observe(disk, id, &find_task_files(disk, id)?, before)?;
        if !matches!(seen, FileObservation::Missing) {
            return Ok(seen);
        }
    }
    Ok(FileObservation::Missing)
}

/// How often a task that was not found is looked for again, so that even a program that moves it
/// all the time is not believed to have removed it.
const LOOKS_AGAIN: u32 = 16;

/// If more tasks than this are gone at once, no person is moving them one by one.
const MOVED_AT_ONCE_MAX: usize = 1000;

/// Reads the file of a task. If there are several, the one in the known folder counts, else the one
/// with the latest transition; `doctor` reports the others.
pub(super) fn observe(
    disk: &FolderDisk,
    id: &TaskId,
    places: &[(Status, Option<FileSignature>)],
    before: Option<&FileFingerprint>,
) -> Result<FileObservation, StoreError> {
    let known_place = before.and_then(|known| places.iter().find(|(at, _)| *at == known.status));
    if let Some((status, _)) = known_place {
        return observe_file(disk, id, *status, before);
    }
    let mut best = FileObservation::Missing;
    for (status, _) in places {
        let seen = observe_file(disk, id, *status, before)?;
        best = latest(best, seen);
    }
    Ok(best)
}

fn latest(a: FileObservation, b: FileObservation) -> FileObservation {
    match (&a, &b) {
        (FileObservation::Task(one, _), FileObservation::Task(other, _)) => {
            if one.last_transition_at > other.last_transition_at { a } else { b }
        }
        (FileObservation::Task(..) | FileObservation::Unchanged(_), _)
        | (FileObservation::Unreadable, FileObservation::Missing) => a,
        _ => b,
    }
}

fn observe_file(
    disk: &FolderDisk,
    id: &TaskId,
    status: Status,
    before: Option<&FileFingerprint>,
) -> Result<FileObservation, StoreError> {
    let (bytes, sig) = match read_task_file(disk, &task_file(status, id))? {
        TaskText::Bytes(bytes, sig) => (bytes, sig),
        TaskText::Unreadable(_) => return Ok(FileObservation::Unreadable),
        TaskText::Missing => return Ok(FileObservation::Missing),
    };
    let now = FileFingerprint { status, sig: Some(sig), hash: Some(ShortHash::digest(&bytes)) };
    if before.is_some_and(|known| known.hash == now.hash && known.status == status) {
        return Ok(FileObservation::Unchanged(now));
    }
    let parsed = String::from_utf8(bytes).ok();
    let parsed = parsed.and_then(|text| taskfile::parse(&text, Some(id), Some(status)).ok());
    Ok(parsed.map_or(FileObservation::Unreadable, |parsed| {
        FileObservation::Task(Arc::new(parsed.task), now)
    }))
}

/// The content of a task's file.
pub(super) enum TaskText {
    Bytes(Vec<u8>, FileSignature),
    /// A file that is left alone and reported, with the reason.
    Unreadable(String),
    Missing,
}

/// Reads a task's file, unless it is a link, a folder, or larger than any task.
pub(super) fn read_task_file(disk: &FolderDisk, path: &str) -> Result<TaskText, StoreError> {
    match disk.read_up_to(path, TASK_FILE_BYTES_MAX as u64) {
        Ok(BoundedRead::Bytes(bytes, sig)) => Ok(TaskText::Bytes(bytes, sig)),
        Ok(BoundedRead::TooLarge) => {
            let size = format!("is larger than {} MiB", TASK_FILE_BYTES_MAX >> 20);
            Ok(TaskText::Unreadable(size))
        }
        Ok(BoundedRead::NotAFile) => Ok(TaskText::Unreadable("is not a plain file".to_owned())),
        Ok(BoundedRead::Missing) => Ok(TaskText::Missing),
        // The process has run out of descriptors or memory: the file is not to blame.
        Err(StoreError::Io { source, attempt, path }) if is_resource_shortage(&source) => {
            Err(StoreError::Io { source, attempt, path })
        }
        Err(error) => Ok(TaskText::Unreadable(format!("cannot be read: {}", root_cause(&error)))),
    }
}

fn is_resource_shortage(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| [Errno::MFILE, Errno::NFILE, Errno::NOMEM].contains(&errno))
}

fn root_cause(error: &StoreError) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
