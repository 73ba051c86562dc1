//! Sees what people and other programs did to task files.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::io;
use std::sync::Arc;

use adjutant_core::input::FileChange;
use adjutant_core::{Status, Task, TaskId, World};
use rustix::io::Errno;

use super::FileStore;
use super::disk::{Disk, Limited, Look};
use super::known::{Known, Sig, Unsaid};
use super::scan::{Scan, scan};
use crate::document::task_file;
use crate::hash::Hash;
use crate::store::StoreError;
use crate::taskfile;

/// What a file turned out to be.
pub(super) enum Seen {
    /// What it was.
    Same(Known),
    /// A task, other than it was or elsewhere.
    Task(Arc<Task>, Known),
    /// A file that cannot be read as a task.
    Unreadable,
    /// Nothing.
    Nothing,
}

impl FileStore {
    pub(super) fn look_at_all(&mut self, world: &World) -> Result<Vec<FileChange>, StoreError> {
        let scan = scan(self.disk.root())?;
        compare(&self.disk, &scan, &mut self.known, &mut self.unsaid, world)
    }

    pub(super) fn look_at(
        &mut self,
        world: &World,
        ids: &[TaskId],
    ) -> Result<Vec<FileChange>, StoreError> {
        let mut changes = Vec::new();
        for id in ids {
            let places = match self.known.get(id) {
                Some(known) => match self.disk.look(&task_file(known.status, id))? {
                    Look::File(sig) if known.sig == Some(sig) => continue,
                    Look::File(sig) => vec![(known.status, Some(sig))],
                    Look::Other => vec![(known.status, None)],
                    Look::Nothing => places(&self.disk, id)?,
                },
                None => places(&self.disk, id)?,
            };
            let seen = see(&self.disk, id, &places, self.known.get(id))?;
            changes.extend(take(id, seen, &mut self.known, &mut self.unsaid, world));
        }
        Ok(changes)
    }
}

/// Finds every folder that has a file of this task.
pub(super) fn places(disk: &Disk, id: &TaskId) -> Result<Vec<(Status, Option<Sig>)>, StoreError> {
    let mut places = Vec::new();
    for status in Status::ALL {
        match disk.look(&task_file(status, id))? {
            Look::File(sig) => places.push((status, Some(sig))),
            Look::Other => places.push((status, None)),
            Look::Nothing => {}
        }
    }
    Ok(places)
}

/// Compares what is there with what was known, and returns what is different.
pub(super) fn compare(
    disk: &Disk,
    scan: &Scan,
    known: &mut HashMap<TaskId, Known>,
    unsaid: &mut Unsaid,
    world: &World,
) -> Result<Vec<FileChange>, StoreError> {
    let mut changes = Vec::new();
    for (id, places) in scan {
        let before = known.get(id);
        if matches!((&places[..], before), ([place], Some(known)) if known.is_at(place)) {
            continue;
        }
        let seen = see(disk, id, places, before)?;
        changes.extend(take(id, seen, known, unsaid, world));
    }
    let once_there = known.keys().chain(world.unreadable());
    let gone: BTreeSet<TaskId> = once_there.filter(|id| !scan.contains_key(*id)).cloned().collect();
    for id in gone {
        changes.extend(take(&id, Seen::Nothing, known, unsaid, world));
    }
    Ok(changes)
}

/// Takes note of what was seen, and says what that means for the world.
fn take(
    id: &TaskId,
    seen: Seen,
    known: &mut HashMap<TaskId, Known>,
    unsaid: &mut Unsaid,
    world: &World,
) -> Option<FileChange> {
    let before = known.get(id).copied();
    let change = note(id, seen, known, world);
    if change.is_some() {
        unsaid.entry(id.clone()).or_insert(before);
    }
    change
}

fn note(
    id: &TaskId,
    seen: Seen,
    known: &mut HashMap<TaskId, Known>,
    world: &World,
) -> Option<FileChange> {
    match seen {
        Seen::Same(now) => {
            known.insert(id.clone(), now);
            None
        }
        Seen::Task(task, now) => {
            known.insert(id.clone(), now);
            Some(FileChange::Seen(Box::new(Arc::unwrap_or_clone(task))))
        }
        Seen::Unreadable => {
            known.remove(id);
            (!world.unreadable().contains(id)).then(|| FileChange::Unreadable(id.clone()))
        }
        Seen::Nothing => {
            known.remove(id);
            let missed = world.task(id).is_some() || world.unreadable().contains(id);
            missed.then(|| FileChange::Gone(id.clone()))
        }
    }
}

/// Reads the file of a task. If there are several, the one that was known counts, else the one
/// that moved last; `doctor` tells of the others.
pub(super) fn see(
    disk: &Disk,
    id: &TaskId,
    places: &[(Status, Option<Sig>)],
    before: Option<&Known>,
) -> Result<Seen, StoreError> {
    let known_place = before.and_then(|known| places.iter().find(|(at, _)| *at == known.status));
    if let Some((status, _)) = known_place {
        return see_one(disk, id, *status, before);
    }
    let mut best = Seen::Nothing;
    for (status, _) in places {
        let seen = see_one(disk, id, *status, before)?;
        best = later(best, seen);
    }
    Ok(best)
}

fn later(a: Seen, b: Seen) -> Seen {
    match (&a, &b) {
        (Seen::Task(one, _), Seen::Task(other, _)) => {
            if one.last_transition_at > other.last_transition_at { a } else { b }
        }
        (Seen::Task(..) | Seen::Same(_), _) | (Seen::Unreadable, Seen::Nothing) => a,
        _ => b,
    }
}

fn see_one(
    disk: &Disk,
    id: &TaskId,
    status: Status,
    before: Option<&Known>,
) -> Result<Seen, StoreError> {
    let (bytes, sig) = match read(disk, &task_file(status, id))? {
        Text::Bytes(bytes, sig) => (bytes, sig),
        Text::Unreadable(_) => return Ok(Seen::Unreadable),
        Text::Nothing => return Ok(Seen::Nothing),
    };
    let now = Known { status, sig: Some(sig), hash: Some(Hash::of(&bytes)) };
    if before.is_some_and(|known| known.hash == now.hash && known.status == status) {
        return Ok(Seen::Same(now));
    }
    let parsed = String::from_utf8(bytes).ok();
    let parsed = parsed.and_then(|text| taskfile::parse(&text, Some(id), Some(status)).ok());
    Ok(parsed.map_or(Seen::Unreadable, |parsed| Seen::Task(Arc::new(parsed.task), now)))
}

/// What a task's file holds.
pub(super) enum Text {
    /// These bytes.
    Bytes(Vec<u8>, Sig),
    /// Something that is left alone and told, and why.
    Unreadable(String),
    /// Nothing: there is no file.
    Nothing,
}

/// Reads a task's file, unless it is a link, a folder, or larger than any task.
pub(super) fn read(disk: &Disk, path: &str) -> Result<Text, StoreError> {
    match disk.read_up_to(path, taskfile::BYTES_MAX) {
        Ok(Limited::Bytes(bytes, sig)) => Ok(Text::Bytes(bytes, sig)),
        Ok(Limited::TooLarge) => {
            let size = format!("is larger than {} MiB", taskfile::BYTES_MAX >> 20);
            Ok(Text::Unreadable(size))
        }
        Ok(Limited::NoFile) => Ok(Text::Unreadable("is not a plain file".to_owned())),
        Ok(Limited::Nothing) => Ok(Text::Nothing),
        // The file is not to blame for a process that has run out of something.
        Err(StoreError::Io { source, attempt, path }) if is_shortage(&source) => {
            Err(StoreError::Io { source, attempt, path })
        }
        Err(error) => Ok(Text::Unreadable(format!("cannot be read: {}", root_cause(&error)))),
    }
}

fn is_shortage(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|errno| [Errno::MFILE, Errno::NFILE, Errno::NOMEM].contains(&errno))
}

fn root_cause(error: &StoreError) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
