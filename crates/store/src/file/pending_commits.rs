//! Commits that may not be in the files yet, for readers without a lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_model::{Event, Status, TaskId};

use super::edit_detection::FileObservation;
use super::fingerprint::FileFingerprint;
use super::held_tasks::HeldTasks;
use super::journal::{JournalEntry, JournalOp};
use crate::batch::StoreVersion;
use crate::event_log::decode;
use crate::hash::ShortHash;
use crate::taskfile;

/// Tasks whose files a writer may be changing.
#[derive(Default)]
pub(super) struct PendingCommits {
    /// Commits up to here are in the files; a file that differs from them was changed since.
    projected: StoreVersion,
    tasks: BTreeMap<TaskId, CommittedFile>,
}

/// The state of a task's file after the pending commits.
struct CommittedFile {
    /// The texts that the file may have until then.
    hashes: Vec<ShortHash>,
    /// Whether the first of the commits created the file.
    is_new: bool,
    to: Status,
    text: String,
    /// The last of the commits.
    version: StoreVersion,
}

impl PendingCommits {
    /// Starts after the commits that are in the files.
    pub(super) fn after(projected: StoreVersion) -> Self {
        Self { projected, ..Self::default() }
    }

    /// Forgets commits that are in the files by now.
    pub(super) fn drop_projected(&mut self, projected: StoreVersion) {
        self.projected = self.projected.max(projected);
        self.tasks.retain(|_, task| task.version > projected);
    }

    /// Adds commits, and returns the tasks whose files they change.
    pub(super) fn add(&mut self, entries: &[JournalEntry<'_>]) -> BTreeSet<TaskId> {
        let mut changed = BTreeSet::new();
        for entry in entries {
            changed.extend(entry.ops.iter().filter_map(task_of_op));
            if entry.version > self.projected.0 {
                let version = StoreVersion(entry.version);
                entry.ops.iter().for_each(|op| self.commit(op, version));
                removed_tasks(entry).for_each(|id| drop(self.tasks.remove(&id)));
            }
        }
        changed
    }

    /// Adds the changes that wait for tasks on hold, and returns these tasks.
    pub(super) fn add_held(&mut self, held: &HeldTasks) -> BTreeSet<TaskId> {
        for (_, task) in held.tasks() {
            task.ops.iter().for_each(|op| self.commit(op, StoreVersion(u64::MAX)));
        }
        held.tasks().map(|(id, _)| id.clone()).collect()
    }

    fn commit(&mut self, op: &JournalOp<'_>, version: StoreVersion) {
        let JournalOp::Task { id, from, to, was, text } = op else { return };
        let (Ok(id), Some(to)) = (TaskId::parse(id), Status::parse(to)) else { return };
        let (hashes, is_new) = (vec![], from.is_none());
        let new = || CommittedFile { hashes, is_new, to, text: String::new(), version };
        let task = self.tasks.entry(id).or_insert_with(new);
        task.hashes.extend(was.as_deref().and_then(ShortHash::parse));
        task.hashes.push(ShortHash::digest(text.as_bytes()));
        (task.to, task.text, task.version) = (to, text.clone().into_owned(), version);
    }

    /// Returns the final state of a file that was seen with one of its intermediate texts. A text
    /// that a person wrote is returned as it is.
    pub(super) fn resolve(&self, id: &TaskId, seen: FileObservation) -> FileObservation {
        let Some(task) = self.tasks.get(id) else { return seen };
        let is_on_its_way = match &seen {
            FileObservation::Task(_, FileFingerprint { hash, .. }) => {
                hash.is_some_and(|now| task.hashes.contains(&now))
            }
            FileObservation::Missing => task.is_new,
            FileObservation::Unchanged(_) | FileObservation::Unreadable => false,
        };
        if !is_on_its_way {
            return seen;
        }
        let known =
            FileFingerprint { status: task.to, sig: None, hash: task.hashes.last().copied() };
        match taskfile::parse(&task.text, Some(id), Some(task.to)) {
            Ok(parsed) => FileObservation::Task(Arc::new(parsed.task), known),
            Err(_) => seen,
        }
    }
}

fn task_of_op(op: &JournalOp<'_>) -> Option<TaskId> {
    match op {
        JournalOp::Task { id, .. } => TaskId::parse(id).ok(),
        JournalOp::Put { .. } | JournalOp::Move { .. } => None,
    }
}

/// Returns the tasks whose files a commit found gone.
pub(super) fn removed_tasks(entry: &JournalEntry<'_>) -> impl Iterator<Item = TaskId> {
    // Most lines are other events; a text search avoids parsing them.
    let lines = entry.lines.iter().filter(|line| line.contains("\"task.removed\""));
    let events = lines.filter_map(|line| decode(line).ok()).map(|recorded| recorded.new_event);
    events.filter(|new| new.event == Event::TaskRemoved {}).filter_map(|new| new.task)
}
