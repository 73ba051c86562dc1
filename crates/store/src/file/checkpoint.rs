//! Checkpoints: sync the files, then drop the journal that they no longer need.

use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use adjutant_core::World;

use super::disk::sync_all;
use super::index::IndexInput;
use super::recover::clean_temporary;
use super::{FileStore, StateTrust, fault, journal};
use crate::store::StoreError;

/// Above this size, a checkpoint starts and the journal continues in a new file.
const JOURNAL_BYTES_MAX: u64 = 16 << 20;

/// A checkpoint, which may be running in another thread.
#[derive(Default)]
pub(super) struct BackgroundCheckpoint {
    thread: Option<JoinHandle<CheckpointResult>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckpointResult {
    Complete,
    /// Syncing failed: any file may be unsynced.
    Failed,
}

impl Drop for BackgroundCheckpoint {
    fn drop(&mut self) {
        self.wait();
    }
}

impl BackgroundCheckpoint {
    fn wait(&mut self) -> CheckpointResult {
        match self.thread.take() {
            Some(thread) => thread.join().unwrap_or(CheckpointResult::Failed),
            None => CheckpointResult::Complete,
        }
    }

    fn is_idle(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl FileStore {
    /// Starts a checkpoint if the journal has grown long. A failed checkpoint leaves the journal as
    /// it is and is tried again later. Nothing is lost, so the error is not reported.
    pub(super) fn checkpoint_if_due(&mut self, world: &World) {
        let due = self.journal.position().offset >= fault::journal_bytes_max(JOURNAL_BYTES_MAX);
        if due && self.trust == StateTrust::Good && self.checkpoint.is_idle() {
            let _ = self.start_checkpoint(world);
        }
    }

    /// Another thread syncs the files while commits continue in a new journal file. The index must
    /// cover the old file before it is removed.
    fn start_checkpoint(&mut self, world: &World) -> Result<(), StoreError> {
        self.finish_checkpoint();
        let old = self.journal.rotate(self.version)?;
        self.update_index(world)?;
        let (handle, root, folder) =
            (self.disk.sync_handle()?, self.disk.root().to_owned(), self.disk.journal());
        let (synced, version) = (self.marker.synced(), self.version.0);
        self.disk.forget_unsynced();
        self.checkpoint.thread = Some(std::thread::spawn(move || {
            if sync_all(&handle, &root).is_err() {
                return CheckpointResult::Failed;
            }
            synced.fetch_max(version, Ordering::SeqCst);
            // A file that cannot be removed now is removed by the next checkpoint.
            let _ = journal::remove_up_to(&folder, old);
            CheckpointResult::Complete
        }));
        Ok(())
    }

    fn finish_checkpoint(&mut self) {
        if self.checkpoint.wait() == CheckpointResult::Failed {
            self.disk.note_unknown_writes();
        }
    }

    /// Brings the folder to rest: synced, with a current index, so that it opens quickly.
    pub(super) fn bring_to_rest(&mut self, world: &World) -> Result<(), StoreError> {
        self.finish_checkpoint();
        self.wait_journal_synced()?;
        // There is nothing to recover: an unfinished commit was finished when the turn began.
        clean_temporary(&mut self.disk, &[])?;
        if !self.unindexed.is_empty() || self.index.is_missing() {
            self.update_index(world)?;
        }
        self.disk.sync()?;
        self.marker.write_synced(self.version)
    }

    fn update_index(&mut self, world: &World) -> Result<(), StoreError> {
        let current = IndexInput {
            world,
            fingerprints: &self.fingerprints,
            pending_effects: &self.pending_effects,
            version: self.version,
            position: self.journal.position(),
        };
        self.index.update(&current, &self.unindexed)?;
        self.unindexed.clear();
        Ok(())
    }
}
