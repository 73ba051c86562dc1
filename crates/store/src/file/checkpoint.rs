//! A checkpoint: makes the files safe from a power cut, and drops the journal behind them.

use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use adjutant_core::World;

use super::FileStore;
use super::disk::sync_all;
use super::index::Current;
use super::journal;
use crate::store::StoreError;

/// The size from which on the journal is dropped once the files are safe.
const JOURNAL_BYTES_MAX: u64 = 16 << 20;

/// A checkpoint that may be under way in another thread.
#[derive(Default)]
pub(super) struct Checkpoint {
    thread: Option<JoinHandle<()>>,
}

impl Drop for Checkpoint {
    fn drop(&mut self) {
        self.wait();
    }
}

impl Checkpoint {
    fn wait(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A checkpoint that failed leaves the journal as it is: nothing is lost.
            let _ = thread.join();
        }
    }

    fn is_idle(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl FileStore {
    /// Starts a checkpoint if the journal has grown long. The files are synced by another thread
    /// while commits go on in a new file of the journal.
    pub(super) fn checkpoint_if_due(&mut self, world: &World) -> Result<(), StoreError> {
        if self.journal.position().offset < JOURNAL_BYTES_MAX || !self.checkpoint.is_idle() {
            return Ok(());
        }
        let old = self.journal.rotate(self.version)?;
        self.update_index(world)?;
        let (handle, folder) = (self.disk.handle()?, self.disk.journal());
        let (synced, version) = (self.marker.synced(), self.version.0);
        self.disk.forget_touched();
        self.checkpoint.wait();
        self.checkpoint.thread = Some(std::thread::spawn(move || {
            if sync_all(&handle).is_ok() {
                synced.fetch_max(version, Ordering::SeqCst);
                let _ = journal::remove_up_to(&folder, old);
            }
        }));
        Ok(())
    }

    /// Leaves the folder so that it opens quickly and survives a power cut.
    pub(super) fn rest_at(&mut self, world: &World) -> Result<(), StoreError> {
        self.checkpoint.wait();
        if !self.unindexed.is_empty() || self.index.is_missing() {
            self.update_index(world)?;
        }
        self.disk.sync()?;
        self.marker.synced().fetch_max(self.version.0, Ordering::SeqCst);
        self.marker.write(self.version)
    }

    fn update_index(&mut self, world: &World) -> Result<(), StoreError> {
        let current = Current {
            world,
            known: &self.known,
            owed: &self.owed,
            version: self.version,
            position: self.journal.position(),
        };
        self.index.update(&current, &self.unindexed)?;
        self.unindexed.clear();
        Ok(())
    }
}
