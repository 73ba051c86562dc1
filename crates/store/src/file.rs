//! The store in a folder of files: journal first, then files that anybody can read.
//!
//! A commit is one record in the journal, synced; the files follow without a sync each, and a
//! checkpoint syncs them and drops the journal behind it. At rest the files are the whole truth.

mod checkpoint;
mod commit;
mod disk;
pub mod doctor;
mod fault;
mod folder;
mod index;
mod journal;
mod known;
mod log;
mod look;
mod marker;
mod open;
mod reader;
mod recover;
mod scan;

pub use folder::{DATA_FOLDER, Folder, FolderError};
pub use log::{EventFiles, LineError};
pub use reader::read_world;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;

use adjutant_core::input::{FileChange, Found};
use adjutant_core::path::RelPath;
use adjutant_core::{TaskId, World};

use crate::batch::{Batch, EffectId, Owed, Version};
use crate::store::{Caught, Loaded, Presence, Scope, Store, StoreError};

use checkpoint::Checkpoint;
use disk::Disk;
use index::Index;
use journal::Journal;
use known::Known;
use log::EventLog;
use marker::Marker;

/// A data folder, opened for writing.
pub struct FileStore {
    disk: Disk,
    lock: File,
    turn: Turn,
    journal: Journal,
    marker: Marker,
    log: EventLog,
    index: Index,
    known: HashMap<TaskId, Known>,
    owed: BTreeMap<EffectId, Owed>,
    version: Version,
    /// Tasks whose entry in the index is behind.
    unindexed: BTreeSet<TaskId>,
    checkpoint: Checkpoint,
    trust: Trust,
}

/// Whether this process may write now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Ours,
    Others,
}

/// Whether what is held in memory is what is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Good,
    /// A commit failed: everything is read again before the next.
    Reload,
    /// A commit may or may not be durable: nothing more is promised.
    Stopped,
}

impl FileStore {
    /// Opens a folder: finishes what a crash left, and reads what is there.
    pub fn open(folder: &Folder) -> Result<(Self, Loaded), StoreError> {
        open::open(folder)
    }
}

impl Store for FileStore {
    fn begin(&mut self) -> Result<Caught, StoreError> {
        self.begin_turn()
    }

    fn commit(&mut self, batch: &Batch) -> Result<Version, StoreError> {
        self.commit_batch(batch)
    }

    fn end(&mut self) {
        self.end_turn();
    }

    fn version(&self) -> Version {
        self.version
    }

    fn edits(&mut self, scope: Scope<'_>) -> Result<Vec<FileChange>, StoreError> {
        match scope {
            Scope::All(world) => self.look_at_all(world),
            Scope::Tasks(world, ids) => self.look_at(world, ids),
        }
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<Presence, StoreError> {
        let status = self.known.get(task).map(|known| known.status);
        self.disk.presence(status, task, path)
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<Found>, StoreError> {
        let text = self.disk.read_text(&crate::document::run_result(task))?;
        Ok(text.map(|text| crate::memory::found(task, &text)))
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        match self.known.get(task) {
            Some(known) => self.disk.read_text(&crate::document::task_file(known.status, task)),
            None => Ok(None),
        }
    }

    fn owed(&self) -> Vec<Owed> {
        self.owed.values().cloned().collect()
    }

    fn tend(&mut self, world: &World) -> Result<(), StoreError> {
        self.checkpoint_if_due(world)
    }

    fn rest(&mut self, world: &World) -> Result<(), StoreError> {
        self.rest_at(world)
    }
}
