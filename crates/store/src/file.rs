//! The store in a folder of files: journal first, then files that anybody can read.
//!
//! A commit is one record in the journal, synced; the files follow without a sync each, and a
//! checkpoint syncs them and drops the journal behind it. At rest the files are the whole truth.

mod ahead;
mod archive;
mod carry;
mod checkpoint;
mod commit;
mod content;
mod disk;
pub mod doctor;
mod event_files;
pub(crate) mod fault;
mod folder;
mod follow;
mod format_check;
mod index;
mod join;
mod journal;
mod known;
mod log;
mod look;
mod lookout;
mod marker;
mod marks;
mod migration;
mod open;
mod parcel;
mod reader;
mod recover;
mod room;
pub mod salvage;
mod scan;
mod settled;
mod spare;
mod system;
mod turn;
mod underway;

#[cfg(test)]
mod golden_tests;

pub use archive::{Packed, UnpackError, unpack};
pub use carry::{Carried, Home, Way};
pub use content::Content;
pub use event_files::{EventFiles, LineError};
pub use folder::{DATA_FOLDER, Folder, FolderError};
pub use follow::{Order, SealedChain, end_of_sealed};
pub use format_check::check_format;
pub use join::{is_unused, join};
pub use lookout::Lookout;
pub use parcel::{Parcel, stays};
pub use reader::{ending, read_world};

#[cfg(feature = "faults")]
pub use fault::synced_so_far;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::Write;

use adjutant_core::answer::Problem;
use adjutant_core::input::{FileChange, Found};
use adjutant_core::path::RelPath;
use adjutant_core::run::Heartbeat;
use adjutant_core::{TaskId, World};

use crate::batch::{Batch, EffectId, Owed, Version};
use crate::document::{self, run_heartbeat, run_result, task_file};
use crate::memory::{found, heartbeat};
use crate::store::{Caught, Loaded, Presence, Scope, Store, StoreError};

use ahead::Ahead;
use checkpoint::Checkpoint;
use disk::{Disk, Look};
use index::Index;
use journal::Journal;
use known::{Known, Unsaid};
use log::EventLog;
use marker::Marker;

/// A data folder, opened for writing.
pub struct FileStore {
    disk: Disk,
    lock: File,
    turn: Turn,
    journal: Journal,
    ahead: Ahead,
    marker: Marker,
    log: EventLog,
    index: Index,
    known: HashMap<TaskId, Known>,
    owed: BTreeMap<EffectId, Owed>,
    version: Version,
    /// Tasks whose entry in the index is behind.
    unindexed: BTreeSet<TaskId>,
    /// What was told and no commit says yet.
    unsaid: Unsaid,
    /// Tasks whose files may say something else than their look tells.
    doubted: BTreeSet<TaskId>,
    checkpoint: Checkpoint,
    told: Told,
    trust: Trust,
}

/// Whether this process may write now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Ours,
    Others,
}

/// What was told of people's doings outside a turn, when others could still take in the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// When the folder was opened. If others commit before the next turn, it is told anew.
    AtOpening,
}

/// Who keeps a commit that this folder might lose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeper {
    /// Nobody else: it is on disk here before it is answered.
    Itself,
    /// Those who order the commits.
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

    /// Opens a folder if nobody else is writing to it at this moment.
    pub fn try_open(folder: &Folder) -> Result<Option<(Self, Loaded)>, StoreError> {
        open::try_open(folder)
    }
}

impl FileStore {
    /// Whoever asked and got no answer may have gone ahead of the record with what they know, and
    /// must be told everything anew.
    fn doubting<T>(&mut self, looked: Result<T, StoreError>) -> Result<T, StoreError> {
        if looked.is_err() {
            self.distrust();
        }
        looked
    }
}

impl Store for FileStore {
    fn begin(&mut self) -> Result<Caught, StoreError> {
        self.begin_turn()
    }

    fn commit(&mut self, batch: &Batch) -> Result<Version, StoreError> {
        let order: Order<'_> = &mut |_, meanwhile| {
            meanwhile();
            Ok(())
        };
        self.commit_batch(batch, order, Keeper::Itself)
    }

    fn end(&mut self) {
        self.end_turn();
    }

    fn version(&self) -> Version {
        self.version
    }

    fn edits(&mut self, scope: Scope<'_>) -> Result<Vec<FileChange>, StoreError> {
        let seen = match scope {
            Scope::All(world) => self.look_at_all(world),
            Scope::Tasks(world, ids) => self.look_at(world, ids),
        };
        self.doubting(seen)
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<Presence, StoreError> {
        let status = self.known.get(task).map(|known| known.status);
        Ok(self.disk.presence(status, task, path))
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<Found>, StoreError> {
        let path = run_result(task);
        // A link or a folder is not a result, and no reason to stop.
        if matches!(self.disk.look(&path), Ok(Look::Other)) {
            return Ok(Some(Found::Invalid(vec![Problem::new("", "is not a plain file")])));
        }
        let text = self.disk.read_text(&path);
        Ok(self.doubting(text)?.map(|text| found(task, &text)))
    }

    fn heartbeat(&mut self, task: &TaskId) -> Result<Option<Heartbeat>, StoreError> {
        let path = run_heartbeat(task);
        if matches!(self.disk.look(&path), Ok(Look::Other)) {
            return Ok(None);
        }
        let text = self.disk.read_text(&path);
        Ok(self.doubting(text)?.and_then(|text| heartbeat(&text)))
    }

    fn salvaged(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        salvage::list(self.disk.root())
    }

    fn salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        let Some(path) = document::salvage(task, name) else { return Ok(None) };
        if matches!(self.disk.look(&path), Ok(Look::Other)) {
            return Ok(None);
        }
        let text = self.disk.read_text(&path);
        self.doubting(text)
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        let Some(known) = self.known.get(task) else { return Ok(None) };
        let text = self.disk.read_text(&task_file(known.status, task));
        self.doubting(text)
    }

    fn owed(&self) -> Vec<Owed> {
        self.owed.values().cloned().collect()
    }

    fn pack_into(&mut self, world: &World, out: &mut dyn Write) -> Result<Packed, StoreError> {
        self.pack(world, Parcel::Export, out)
    }

    fn tend(&mut self, world: &World) -> Result<(), StoreError> {
        self.checkpoint_if_due(world);
        Ok(())
    }

    fn rest(&mut self, world: &World) -> Result<(), StoreError> {
        self.rest_at(world)
    }
}
