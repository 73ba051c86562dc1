//! The file store: a data folder with a write-ahead journal, and plain files that people can read.
//!
//! A commit is one synced line in the journal. The files follow without a sync each; a checkpoint
//! syncs them and drops the journal before it. Once a folder is at rest, the files hold everything.

mod apply_commits;
mod archive;
mod archive_redaction;
mod archive_scope;
mod checkpoint;
mod commit;
mod disk;
mod disk_space;
pub mod doctor;
mod edit_detection;
mod event_files;
mod event_log;
mod exchange_slots;
pub mod fault;
mod file_pool;
mod fingerprint;
mod folder;
mod folder_handle;
mod format_check;
mod held_tasks;
mod incremental_reader;
mod index;
mod join_archive;
mod journal;
mod migration;
mod open;
mod pending_commits;
mod prewritten_commit;
mod progress_marker;
mod reader;
mod recover;
mod replicate_files;
pub mod salvage;
mod scan;
mod sync_state;
mod system;
mod write_turn;

#[cfg(test)]
mod tests;

pub use adjutant_model::content::FileContent;
pub use apply_commits::{CommitSequencer, SealedChain, last_sealed_hash};
pub use archive::{UnpackError, unpack};
pub use archive_redaction::{BytesRedactor, RedactedFile, redact_archive};
pub use archive_scope::{ArchiveScope, files_not_exported};
pub use event_files::{EventFiles, LineError};
pub use folder::{DATA_FOLDER, DataFolder, FolderError};
pub use folder_handle::FolderHandle;
pub use format_check::check_format;
pub use held_tasks::read_file_fault;
pub use incremental_reader::IncrementalReader;
pub use join_archive::{is_unused, join_from_archive};
pub use reader::{read_folder_end, read_world};
pub use replicate_files::ReplicationRoute;

#[cfg(feature = "faults")]
pub use fault::synced_paths;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;

use adjutant_core::World;
use adjutant_core::input::{FileChange, FoundResult};
use adjutant_core::world::file_fault::FileFault;
use adjutant_model::TaskId;
use adjutant_model::answer::FieldProblem;
use adjutant_model::relative_path::RelPath;
use adjutant_model::run::RunHeartbeat;
use checkpoint::BackgroundCheckpoint;
use disk::{FolderDisk, PathState};
use event_log::EventLog;
use fingerprint::{FileFingerprint, PendingEdits};
use held_tasks::PathFault;
use index::TaskIndex;
use journal::CommitJournal;
use parking_lot::Mutex;
use prewritten_commit::PrewrittenCommit;
use progress_marker::ProgressMarker;

use crate::batch::{CommitBatch, EffectId, PendingEffect, StoreVersion};
use crate::document_paths::{self, run_heartbeat_file, run_result_file, task_file};
use crate::run_documents::{parse_found_result, parse_heartbeat};
use crate::store::{EditScope, FileAvailability, LoadedStore, Store, StoreError, StoreUpdate};

/// A data folder that is open for writing.
pub struct FileStore {
    disk: FolderDisk,
    folder: FolderHandle,
    lock: File,
    turn: WriteTurn,
    journal: CommitJournal,
    prewritten: PrewrittenCommit,
    marker: ProgressMarker,
    log: EventLog,
    index: TaskIndex,
    fingerprints: HashMap<TaskId, FileFingerprint>,
    pending_effects: BTreeMap<EffectId, PendingEffect>,
    version: StoreVersion,
    /// Tasks whose index entry is out of date.
    unindexed: BTreeSet<TaskId>,
    /// Edits that were reported to the caller and are in no commit yet.
    pending_edits: PendingEdits,
    /// Tasks whose files must be read again although their signature has not changed.
    reread: BTreeSet<TaskId>,
    /// The tasks whose files could not be read while a commit was planned.
    read_faults: Mutex<BTreeMap<TaskId, PathFault>>,
    checkpoint: BackgroundCheckpoint,
    reported: ReportedEdits,
    trust: StateTrust,
}

/// Whether this process holds the write lock now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteTurn {
    Ours,
    Others,
}

/// Whether edits were reported before this process held the lock for a turn, when another process
/// could still report the same edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportedEdits {
    Nothing,
    /// Edits were reported when the folder was opened. If another process commits before the next
    /// turn, the folder is reloaded and they are reported again.
    AtOpen,
}

/// What keeps a commit safe if this folder loses it in a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitKeeper {
    /// Only this folder: the commit is synced here before it is answered.
    ThisFolder,
    /// The fleet's commit log, which ordered the commit.
    Fleet,
}

/// Whether the state in memory matches the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StateTrust {
    Good,
    /// A commit failed: everything is read again before the next one.
    Reload,
    /// A commit may or may not be durable: the store refuses all further work.
    Stopped,
}

impl FileStore {
    /// Opens a folder: finishes commits that a crash interrupted, then loads the tasks.
    pub fn open(folder: &DataFolder) -> Result<(Self, LoadedStore), StoreError> {
        open::open(folder)
    }

    /// Opens a folder, or returns `None` if another process holds the write lock.
    pub fn try_open(folder: &DataFolder) -> Result<Option<(Self, LoadedStore)>, StoreError> {
        open::try_open(folder)
    }
}

impl FileStore {
    /// Sets how many replaced files are kept to be overwritten; 0 turns that off.
    pub fn set_file_pool_capacity(&mut self, files_max: usize) {
        self.disk.drain_pool();
        self.disk.pool.capacity = files_max;
    }

    /// Schedules a full reload if reading failed: the caller may have decided on incomplete data,
    /// so it has to get everything again.
    fn reload_on_error<T>(&mut self, read: Result<T, StoreError>) -> Result<T, StoreError> {
        if read.is_err() {
            self.require_reload();
        }
        read
    }
}

impl FileStore {
    /// Reads a file of a task's run. If it cannot be read, the task is put on hold, and the file
    /// counts as missing.
    fn read_run_file(&mut self, task: &TaskId, path: &str) -> Result<Option<String>, StoreError> {
        let text = match self.disk.read_text(path) {
            Ok(text) => return Ok(text),
            Err(error) => self.disk.fault_of::<()>(Err(error)),
        };
        let held = text.and_then(|fault| self.disk.hold(task, fault, StoreVersion(0), &[]));
        self.reload_on_error(held).map(|()| None)
    }
}

impl Store for FileStore {
    fn begin(&mut self) -> Result<StoreUpdate, StoreError> {
        self.begin_turn()
    }

    fn commit(&mut self, batch: &CommitBatch) -> Result<StoreVersion, StoreError> {
        let order: CommitSequencer<'_> = &mut |_, meanwhile| {
            meanwhile();
            Ok(())
        };
        self.commit_batch(batch, order, CommitKeeper::ThisFolder)
    }

    fn end(&mut self) {
        self.end_turn();
    }

    fn version(&self) -> StoreVersion {
        self.version
    }

    fn detect_edits(&mut self, scope: EditScope<'_>) -> Result<Vec<FileChange>, StoreError> {
        let edits = match scope {
            EditScope::All(world) => self.detect_all_edits(world),
            EditScope::Tasks(world, ids) => self.detect_edits(world, ids),
        };
        self.reload_on_error(edits)
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<FileAvailability, StoreError> {
        let status = self.fingerprints.get(task).map(|known| known.status);
        let status = self.disk.held.place(task).or(status);
        Ok(self.disk.presence(status, task, path))
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<FoundResult>, StoreError> {
        let path = run_result_file(task);
        // A link or a folder is not a result, but it is no reason to fail.
        if matches!(self.disk.path_state(&path), Ok(PathState::Other)) {
            return Ok(Some(FoundResult::Invalid(vec![FieldProblem::new(
                "",
                "is not a plain file",
            )])));
        }
        let text = self.read_run_file(task, &path)?;
        Ok(text.map(|text| parse_found_result(task, &text)))
    }

    fn last_heartbeat(&mut self, task: &TaskId) -> Result<Option<RunHeartbeat>, StoreError> {
        let path = run_heartbeat_file(task);
        if matches!(self.disk.path_state(&path), Ok(PathState::Other)) {
            return Ok(None);
        }
        let text = self.read_run_file(task, &path)?;
        Ok(text.and_then(|text| parse_heartbeat(&text)))
    }

    fn list_salvage(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        salvage::list_all(self.disk.root())
    }

    fn read_salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        let Some(path) = document_paths::salvage_file(task, name) else { return Ok(None) };
        if matches!(self.disk.path_state(&path), Ok(PathState::Other)) {
            return Ok(None);
        }
        let text = self.disk.read_text(&path);
        self.reload_on_error(text)
    }

    fn file_faults(&self) -> BTreeMap<TaskId, FileFault> {
        self.disk.held.faults()
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        if let Some((_, text)) = self.disk.held.final_text(task) {
            return Ok(Some(text.to_owned()));
        }
        let Some(known) = self.fingerprints.get(task) else { return Ok(None) };
        let text = self.disk.read_text(&task_file(known.status, task));
        self.reload_on_error(text)
    }

    fn pending_effects(&self) -> Vec<PendingEffect> {
        self.pending_effects.values().cloned().collect()
    }

    fn maintain(&mut self, world: &World) -> Result<(), StoreError> {
        self.checkpoint_if_due(world);
        Ok(())
    }

    fn checkpoint(&mut self, world: &World) -> Result<(), StoreError> {
        self.bring_to_rest(world)
    }
}
