//! The interface that every store implements.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use adjutant_core::World;
use adjutant_core::input::{FileChange, FoundResult};
use adjutant_core::world::file_fault::FileFault;
use adjutant_model::relative_path::RelPath;
use adjutant_model::run::RunHeartbeat;
use adjutant_model::{EventId, RecordedEvent, TaskId};
use thiserror::Error;

use crate::batch::{CommitBatch, PendingEffect, StoreVersion};
use crate::format::NewerFormat;

/// Makes decisions durable.
///
/// Callers call `begin`, then any number of reads and at most one `commit`, then `end`. Between
/// `begin` and `end` no other process commits to a folder; a store that cannot promise that refuses
/// in `commit` a batch whose `expect` is behind.
pub trait Store {
    /// Takes the write lock, and returns what others committed since the last `begin`.
    fn begin(&mut self) -> Result<StoreUpdate, StoreError>;

    /// Makes a batch durable, all or nothing.
    fn commit(&mut self, batch: &CommitBatch) -> Result<StoreVersion, StoreError>;

    /// Releases the write lock.
    fn end(&mut self);

    /// Returns the version after the last commit that this store has seen.
    fn version(&self) -> StoreVersion;

    /// Returns the changes that people and other programs made to task files since the last scan.
    fn detect_edits(&mut self, scope: EditScope<'_>) -> Result<Vec<FileChange>, StoreError>;

    /// Returns the tasks that are on hold, because their files cannot be changed.
    fn file_faults(&self) -> BTreeMap<TaskId, FileFault> {
        BTreeMap::new()
    }

    /// Returns whether a file exists that a message about this task names.
    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<FileAvailability, StoreError>;

    /// Returns the result that an agent left for the task's current run.
    fn result(&mut self, task: &TaskId) -> Result<Option<FoundResult>, StoreError>;

    /// Returns the last heartbeat of the task's current run.
    fn last_heartbeat(&mut self, task: &TaskId) -> Result<Option<RunHeartbeat>, StoreError>;

    /// Returns the salvaged reports that wait for a person, as task and file name.
    fn list_salvage(&mut self) -> Result<Vec<(TaskId, String)>, StoreError>;

    /// Returns a salvaged report, by its name under `salvage/`.
    fn read_salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError>;

    /// Returns a task's document: front matter and body.
    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError>;

    /// Returns the pending effects, ordered by id.
    fn pending_effects(&self) -> Vec<PendingEffect>;

    /// Does housekeeping that keeps later commits fast. Called under the write lock,
    /// after a commit.
    fn maintain(&mut self, world: &World) -> Result<(), StoreError>;

    /// Writes everything out, so that the store opens fast and survives a power cut. The caller
    /// holds the write lock and a current world.
    fn checkpoint(&mut self, world: &World) -> Result<(), StoreError>;
}

impl<S: Store + ?Sized> Store for Box<S> {
    fn begin(&mut self) -> Result<StoreUpdate, StoreError> {
        (**self).begin()
    }

    fn commit(&mut self, batch: &CommitBatch) -> Result<StoreVersion, StoreError> {
        (**self).commit(batch)
    }

    fn end(&mut self) {
        (**self).end();
    }

    fn version(&self) -> StoreVersion {
        (**self).version()
    }

    fn detect_edits(&mut self, scope: EditScope<'_>) -> Result<Vec<FileChange>, StoreError> {
        (**self).detect_edits(scope)
    }

    fn file_faults(&self) -> BTreeMap<TaskId, FileFault> {
        (**self).file_faults()
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<FileAvailability, StoreError> {
        (**self).presence(task, path)
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<FoundResult>, StoreError> {
        (**self).result(task)
    }

    fn last_heartbeat(&mut self, task: &TaskId) -> Result<Option<RunHeartbeat>, StoreError> {
        (**self).last_heartbeat(task)
    }

    fn list_salvage(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        (**self).list_salvage()
    }

    fn read_salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        (**self).read_salvage(task, name)
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        (**self).document(task)
    }

    fn pending_effects(&self) -> Vec<PendingEffect> {
        (**self).pending_effects()
    }

    fn maintain(&mut self, world: &World) -> Result<(), StoreError> {
        (**self).maintain(world)
    }

    fn checkpoint(&mut self, world: &World) -> Result<(), StoreError> {
        (**self).checkpoint(world)
    }
}

/// The contents of a store when it is opened.
#[derive(Debug)]
pub struct LoadedStore {
    /// The world after the last commit.
    pub world: World,
    /// Changes that people made to the files since, which are not committed yet.
    pub edits: Vec<FileChange>,
    /// The number of tasks found in a folder that Adjutant never wrote to before.
    pub adopted_tasks: Option<u64>,
}

/// What others committed since the last `begin`.
#[derive(Debug)]
pub enum StoreUpdate {
    /// The events in commit order.
    Events(Vec<RecordedEvent>),
    /// The events are not available one by one: the caller continues from this state.
    Reload(Box<LoadedStore>),
}

/// The tasks whose files are scanned.
#[derive(Debug, Clone, Copy)]
pub enum EditScope<'a> {
    All(&'a World),
    Tasks(&'a World, &'a [TaskId]),
}

/// Whether a file exists that a message names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAvailability {
    Present,
    Missing,
    /// A symbolic link on the path leads outside the folder.
    Escapes,
}

#[derive(Debug, Error)]
pub enum StoreError {
    /// Another process committed first.
    #[error("the store is at version {now}, not {expected}")]
    Conflict {
        /// The version the batch was decided on.
        expected: StoreVersion,
        /// The store's version.
        now: StoreVersion,
    },
    /// The disk is full. Nothing was changed.
    #[error("no space left on the device of {}", path.display())]
    Full {
        /// The file that could not be written.
        path: PathBuf,
        source: io::Error,
    },
    #[error("cannot {attempt} {}", path.display())]
    Io {
        /// What was tried, as a verb.
        attempt: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// Something in the folder is not as Adjutant left it; a person must look at it first.
    #[error("{}: {what}", path.display())]
    Damaged { path: PathBuf, what: String },
    /// The files of the event log are older than the store. Nothing was changed.
    #[error(
        "the event log ends at event {log}, but the store has events up to {store}: the files in \
         events/ were replaced by older ones"
    )]
    LogBehind { log: EventId, store: EventId },
    /// The folder that was opened is no longer at its path. Nothing was changed.
    #[error("the data folder {} was moved, replaced or removed while it was in use", .0.display())]
    FolderGone(PathBuf),
    /// A newer version of Adjutant wrote the folder. Nothing was changed.
    #[error(transparent)]
    Newer(#[from] NewerFormat),
    /// Another node of the fleet is the leader. Nothing was changed.
    #[error("another node is the leader")]
    Fenced,
    /// An earlier commit could not be made durable; the store refuses all further work.
    #[error("the store stopped after a commit that could not be made durable")]
    Stopped,
}

impl StoreError {
    /// Returns whether the fleet's servers or nodes did not answer, so that a retry may succeed.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::HostUnreachable)
    }

    /// Returns whether the folder cannot be written at all, until a person puts it right.
    pub fn is_folder_fault(&self) -> bool {
        match self {
            Self::FolderGone(_) => true,
            Self::Io { source, .. } => source.kind() == io::ErrorKind::ReadOnlyFilesystem,
            Self::Conflict { .. }
            | Self::Full { .. }
            | Self::Damaged { .. }
            | Self::LogBehind { .. }
            | Self::Newer(_)
            | Self::Fenced
            | Self::Stopped => false,
        }
    }

    /// Returns a function that makes the error of a failed attempt, and tells a full disk
    /// from other failures.
    pub fn io(attempt: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full { path, source }
            }
            _ => Self::Io { attempt, path, source },
        }
    }
}
