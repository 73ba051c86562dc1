//! What was committed and may not be in the files yet, for who reads without a lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_core::{Event, Status, TaskId};

use super::journal::{Entry, OpWire};
use super::known::Known;
use super::look::Seen;
use crate::batch::Version;
use crate::hash::Hash;
use crate::record::decode;
use crate::taskfile;

/// Tasks whose files a writer may be at.
#[derive(Default)]
pub(super) struct Underway {
    /// What these commits wrote is in the files, and what is not there was changed since.
    projected: Version,
    tasks: BTreeMap<TaskId, Committed>,
}

/// Where commits leave the file of a task.
struct Committed {
    /// What the file may say on its way there.
    hashes: Vec<Hash>,
    /// Whether the first of the commits made it.
    is_new: bool,
    to: Status,
    text: String,
    /// The last of the commits.
    version: Version,
}

impl Underway {
    /// Stands after commits that are in the files.
    pub(super) fn after(projected: Version) -> Self {
        Self { projected, ..Self::default() }
    }

    /// Forgets commits that are in the files by now.
    pub(super) fn go_on_after(&mut self, projected: Version) {
        self.projected = self.projected.max(projected);
        self.tasks.retain(|_, task| task.version > projected);
    }

    /// Takes in commits, and returns the tasks whose files they change.
    pub(super) fn take(&mut self, entries: &[Entry<'_>]) -> BTreeSet<TaskId> {
        let mut changed = BTreeSet::new();
        for entry in entries {
            changed.extend(entry.ops.iter().filter_map(task_of));
            if entry.version > self.projected.0 {
                let version = Version(entry.version);
                entry.ops.iter().for_each(|op| self.commit(op, version));
                removed(entry).for_each(|id| drop(self.tasks.remove(&id)));
            }
        }
        changed
    }

    fn commit(&mut self, op: &OpWire<'_>, version: Version) {
        let OpWire::Task { id, from, to, was, text } = op else { return };
        let (Ok(id), Some(to)) = (TaskId::parse(id), Status::parse(to)) else { return };
        let (hashes, is_new) = (vec![], from.is_none());
        let new = || Committed { hashes, is_new, to, text: String::new(), version };
        let task = self.tasks.entry(id).or_insert_with(new);
        task.hashes.extend(was.as_deref().and_then(Hash::parse));
        task.hashes.push(Hash::of(text.as_bytes()));
        (task.to, task.text, task.version) = (to, text.clone().into_owned(), version);
    }

    /// Says what a file that was seen comes to: if it is one of the texts it has on its way, what
    /// it will be at the end of it. What a person made of it is left as it is.
    pub(super) fn settle(&self, id: &TaskId, seen: Seen) -> Seen {
        let Some(task) = self.tasks.get(id) else { return seen };
        let is_on_its_way = match &seen {
            Seen::Task(_, Known { hash, .. }) => hash.is_some_and(|now| task.hashes.contains(&now)),
            Seen::Nothing => task.is_new,
            Seen::Same(_) | Seen::Unreadable => false,
        };
        if !is_on_its_way {
            return seen;
        }
        let known = Known { status: task.to, sig: None, hash: task.hashes.last().copied() };
        match taskfile::parse(&task.text, Some(id), Some(task.to)) {
            Ok(parsed) => Seen::Task(Arc::new(parsed.task), known),
            Err(_) => seen,
        }
    }
}

fn task_of(op: &OpWire<'_>) -> Option<TaskId> {
    match op {
        OpWire::Task { id, .. } => TaskId::parse(id).ok(),
        OpWire::Put { .. } | OpWire::Move { .. } => None,
    }
}

/// Returns the tasks whose files a commit found gone.
pub(super) fn removed(entry: &Entry<'_>) -> impl Iterator<Item = TaskId> {
    // Most lines speak of something else, and need not be read to be told apart.
    let told = entry.lines.iter().filter(|line| line.contains("\"task.removed\""));
    let told = told.filter_map(|line| decode(line).ok()).map(|recorded| recorded.happened);
    told.filter(|told| told.event == Event::TaskRemoved).filter_map(|told| told.task)
}
