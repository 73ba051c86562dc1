//! A replicated store: a folder whose commits are ordered together with those of other folders.
//!
//! [`CommitLog`] is the commit log: a list of sealed commits that grows only at its end, and only
//! for a writer that knows where it ends. [`ReplicatedStore`] is a folder that follows such a log.
//! If a process dies after its commit was appended and before its folder shows the commit, the next
//! `begin` catches up.

mod answers;

use std::collections::BTreeMap;
use std::io::Write;

use adjutant_core::World;
use adjutant_core::input::{FileChange, FoundResult};
use adjutant_core::world::file_fault::FileFault;
use adjutant_model::relative_path::RelPath;
use adjutant_model::run::RunHeartbeat;
use adjutant_model::{RecordedEvent, TaskId};
use adjutant_store::archive_summary::ArchiveSummary;
use adjutant_store::batch::{CommitBatch, PendingEffect, StoreVersion};
use adjutant_store::file::{
    ArchiveScope, CommitSequencer, DataFolder, FileStore, ReplicationRoute,
};
use adjutant_store::fleet_store::{FleetStore, LeaderCheck};
use adjutant_store::replicated_file::ReplicatedFile;
use adjutant_store::store::{
    EditScope, FileAvailability, LoadedStore, Store, StoreError, StoreUpdate,
};

use self::answers::AnswerCache;

/// The commit log that orders the commits of many folders.
pub trait CommitLog {
    /// Returns the sealed commits after a version, in order. If there are many, the first of
    /// them are enough.
    fn commits_after(&self, version: StoreVersion) -> Result<Vec<String>, StoreError>;

    /// Appends a commit after the version it was decided on, or fails with a conflict if another
    /// commit is there. After any other error the commit may or may not have been appended. While
    /// it waits, it calls `meanwhile` at most once.
    fn append(
        &self,
        expect: StoreVersion,
        commit: String,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), StoreError>;

    /// Stores an archive of the folder at a version, for other nodes to join with, and drops the
    /// commits that no node needs any more.
    fn store_join_archive(
        &self,
        _version: StoreVersion,
        _archive: Vec<u8>,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    /// Checks that a folder at its present version can continue with this log.
    fn check_folder(&self, folder: &FileStore) -> Result<(), StoreError>;
}

/// A folder that follows a commit log which other folders share.
pub struct ReplicatedStore<Q> {
    folder: FileStore,
    /// The name of this node.
    node: String,
    log: Q,
    reported_edits: EditReportState,
    progress: FolderProgress,
    is_leader: LeaderCheck,
    log_end: LogEnd,
    answers: AnswerCache,
}

/// Whether edits were reported outside the write lock; they must be reported again if another
/// node commits first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EditReportState {
    Nothing,
    AtOpening,
}

/// Whether the folder shows every commit that this process appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FolderProgress {
    Current,
    /// The folder lacks an appended commit; the next `begin` catches up.
    Behind,
}

/// Whether this process knows the end of the log, provided that no other node appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogEnd {
    Known,
    /// The last append was refused, its outcome is unknown, or other commits are expected.
    Unknown,
}

impl<Q: CommitLog> ReplicatedStore<Q> {
    /// Opens a folder and brings it to the end of the log.
    pub fn open(
        folder: &DataFolder,
        node: impl Into<String>,
        log: Q,
    ) -> Result<(Self, LoadedStore), StoreError> {
        let (folder, loaded) = FileStore::open(folder)?;
        log.check_folder(&folder)?;
        let mut store = Self {
            folder,
            node: node.into(),
            log,
            reported_edits: EditReportState::Nothing,
            progress: FolderProgress::Current,
            is_leader: Box::new(|| false),
            log_end: LogEnd::Unknown,
            answers: AnswerCache::default(),
        };
        let update = store.begin();
        store.end();
        let loaded = match update? {
            StoreUpdate::Events(events) if events.is_empty() => loaded,
            StoreUpdate::Events(_) => store.reload()?,
            StoreUpdate::Reload(loaded) => *loaded,
        };
        if !loaded.edits.is_empty() || loaded.adopted_tasks.is_some() {
            store.reported_edits = EditReportState::AtOpening;
        }
        Ok((store, loaded))
    }

    fn reload(&mut self) -> Result<LoadedStore, StoreError> {
        self.folder.invalidate();
        let update = self.begin();
        self.end();
        match update? {
            StoreUpdate::Reload(loaded) => Ok(*loaded),
            StoreUpdate::Events(_) => Err(StoreError::Stopped),
        }
    }

    pub fn log(&self) -> &Q {
        &self.log
    }

    /// Writes the folder into an archive. The caller holds the write lock and a current world.
    pub fn pack(
        &mut self,
        world: &World,
        scope: ArchiveScope,
        out: impl Write,
    ) -> Result<ArchiveSummary, StoreError> {
        match self.progress {
            FolderProgress::Current => self.folder.pack(world, scope, out),
            FolderProgress::Behind => Err(StoreError::Stopped),
        }
    }

    /// Applies the commits of other nodes to the folder.
    fn apply_new_commits(&mut self) -> Result<Vec<RecordedEvent>, StoreError> {
        let mut events = Vec::new();
        loop {
            let commits = self.log.commits_after(self.folder.version())?;
            if commits.is_empty() {
                (self.progress, self.log_end) = (FolderProgress::Current, LogEnd::Known);
                return Ok(events);
            }
            self.answers.record_commits(&commits, &self.node);
            events.extend(self.folder.apply_commits(&commits, &self.node)?);
        }
    }

    /// Returns whether no other node can have committed without this node noticing.
    fn is_up_to_date(&self) -> bool {
        (self.log_end, self.progress) == (LogEnd::Known, FolderProgress::Current)
            && (self.is_leader)()
    }

    fn catch_up(&mut self, update: StoreUpdate) -> Result<StoreUpdate, StoreError> {
        let has_events = matches!(&update, StoreUpdate::Events(events) if !events.is_empty());
        let outdated = self.reported_edits == EditReportState::AtOpening && has_events;
        if self.is_up_to_date() && matches!(update, StoreUpdate::Events(_)) && !outdated {
            return Ok(update);
        }
        let reported = std::mem::replace(&mut self.reported_edits, EditReportState::Nothing);
        let before = self.folder.version();
        let followed = self.apply_new_commits()?;
        if self.folder.version() == before && !outdated {
            return Ok(update);
        }
        match update {
            StoreUpdate::Events(mut events) if reported == EditReportState::Nothing => {
                events.extend(followed);
                Ok(StoreUpdate::Events(events))
            }
            StoreUpdate::Events(_) | StoreUpdate::Reload(_) => {
                Ok(StoreUpdate::Reload(Box::new(self.folder.reload_folder()?)))
            }
        }
    }

    /// Appends a commit and writes it to the folder. Once it is appended it counts, even if the
    /// write to the folder fails.
    fn append_and_write(
        &mut self,
        expect: StoreVersion,
        write: impl FnOnce(&mut FileStore, CommitSequencer<'_>) -> Result<StoreVersion, StoreError>,
    ) -> Result<StoreVersion, StoreError> {
        let (log, mut ordered) = (&self.log, false);
        let written = write(&mut self.folder, &mut |sealed, meanwhile| {
            log.append(expect, sealed(), meanwhile)?;
            ordered = true;
            Ok(())
        });
        self.log_end = if written.is_ok() { LogEnd::Known } else { LogEnd::Unknown };
        if written.is_err() && ordered {
            self.progress = FolderProgress::Behind;
            self.folder.invalidate();
            return Ok(expect.next());
        }
        written
    }
}

impl<Q: CommitLog> Store for ReplicatedStore<Q> {
    fn begin(&mut self) -> Result<StoreUpdate, StoreError> {
        let update = self.folder.begin()?;
        let update = self.catch_up(update);
        if update.is_err() {
            self.folder.invalidate();
            self.folder.end();
        }
        update
    }

    fn commit(&mut self, batch: &CommitBatch) -> Result<StoreVersion, StoreError> {
        let done = self.append_and_write(batch.expected_version, |folder, order| {
            folder.commit_ordered(batch, order)
        });
        if done.is_ok() {
            self.answers.record_answered(&batch.answers);
        }
        done
    }

    fn end(&mut self) {
        self.folder.end();
    }

    fn version(&self) -> StoreVersion {
        self.folder.version()
    }

    fn file_faults(&self) -> BTreeMap<TaskId, FileFault> {
        self.folder.file_faults()
    }

    fn detect_edits(&mut self, scope: EditScope<'_>) -> Result<Vec<FileChange>, StoreError> {
        self.folder.detect_edits(scope)
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<FileAvailability, StoreError> {
        self.folder.presence(task, path)
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<FoundResult>, StoreError> {
        self.folder.result(task)
    }

    fn last_heartbeat(&mut self, task: &TaskId) -> Result<Option<RunHeartbeat>, StoreError> {
        self.folder.last_heartbeat(task)
    }

    fn list_salvage(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        self.folder.list_salvage()
    }

    fn read_salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        self.folder.read_salvage(task, name)
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        self.folder.document(task)
    }

    fn pending_effects(&self) -> Vec<PendingEffect> {
        self.folder.pending_effects()
    }

    /// Does nothing while the folder is behind: it shows another world than the given one.
    fn maintain(&mut self, world: &World) -> Result<(), StoreError> {
        match self.progress {
            FolderProgress::Current => self.folder.maintain(world),
            FolderProgress::Behind => Ok(()),
        }
    }

    fn checkpoint(&mut self, world: &World) -> Result<(), StoreError> {
        match self.progress {
            FolderProgress::Current => self.folder.checkpoint(world),
            FolderProgress::Behind => Ok(()),
        }
    }
}

impl<Q: CommitLog> FleetStore for ReplicatedStore<Q> {
    fn set_leader_check(&mut self, is_leader: LeaderCheck) {
        self.is_leader = is_leader;
    }

    fn expect_other_commits(&mut self) {
        self.log_end = LogEnd::Unknown;
    }

    /// Appends a commit without events.
    fn replicate_files(
        &mut self,
        files: &[ReplicatedFile],
        from: &str,
    ) -> Result<StoreVersion, StoreError> {
        let (expect, here) = (self.folder.version(), self.node.clone());
        let route = ReplicationRoute { from, here: &here };
        self.append_and_write(expect, |folder, order| {
            folder.commit_files_ordered(files, route, order)
        })
    }

    fn write_archive(
        &mut self,
        world: &World,
        out: &mut dyn Write,
    ) -> Result<ArchiveSummary, StoreError> {
        self.pack(world, ArchiveScope::Export, out)
    }

    fn store_join_archive(&mut self, world: &World) -> Result<(), StoreError> {
        let mut archive = Vec::new();
        let packed = self.pack(world, ArchiveScope::Join, &mut archive)?;
        self.log.store_join_archive(packed.version, archive)
    }

    fn take_answer(&mut self, request_id: &str) -> Option<String> {
        self.answers.take(request_id)
    }

    fn was_answered(&self, request_id: &str) -> bool {
        self.answers.is_answered(request_id)
    }
}
