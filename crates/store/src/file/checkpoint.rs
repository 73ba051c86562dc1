//! A checkpoint: makes the files safe from a power cut, and drops the journal behind them.

use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use adjutant_core::World;

use super::disk::sync_all;
use super::index::Current;
use super::recover::clean;
use super::{FileStore, Trust, fault, journal};
use crate::store::StoreError;

/// The size from which on the journal is dropped once the files are safe.
const JOURNAL_BYTES_MAX: u64 = 16 << 20;

/// A checkpoint that may be under way in another thread.
#[derive(Default)]
pub(super) struct Checkpoint {
    thread: Option<JoinHandle<Synced>>,
}

/// How a checkpoint ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Synced {
    /// Everything is on disk.
    Everything,
    /// Nobody knows what is.
    Nothing,
}

impl Drop for Checkpoint {
    fn drop(&mut self) {
        self.wait();
    }
}

impl Checkpoint {
    fn wait(&mut self) -> Synced {
        match self.thread.take() {
            Some(thread) => thread.join().unwrap_or(Synced::Nothing),
            None => Synced::Everything,
        }
    }

    fn is_idle(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl FileStore {
    /// Starts a checkpoint if the journal has grown long. One that fails leaves the journal as it
    /// is and is tried again later: nothing is lost, and nobody needs to be told.
    pub(super) fn checkpoint_if_due(&mut self, world: &World) {
        let due = self.journal.position().offset >= fault::journal_bytes_max(JOURNAL_BYTES_MAX);
        if due && self.trust == Trust::Good && self.checkpoint.is_idle() {
            let _ = self.start_checkpoint(world);
        }
    }

    /// The files are synced by another thread while commits go on in a new file of the journal.
    /// The index must know of all that is in the old one before that is dropped.
    fn start_checkpoint(&mut self, world: &World) -> Result<(), StoreError> {
        self.finish_checkpoint();
        let old = self.journal.rotate(self.version)?;
        self.update_index(world)?;
        let (handle, root, folder) =
            (self.disk.handle()?, self.disk.root().to_owned(), self.disk.journal());
        let (synced, version) = (self.marker.synced(), self.version.0);
        self.disk.forget_unsynced();
        self.checkpoint.thread = Some(std::thread::spawn(move || {
            if sync_all(&handle, &root).is_err() {
                return Synced::Nothing;
            }
            synced.fetch_max(version, Ordering::SeqCst);
            // What cannot be removed now is removed by the next checkpoint.
            let _ = journal::remove_up_to(&folder, old);
            Synced::Everything
        }));
        Ok(())
    }

    fn finish_checkpoint(&mut self) {
        if self.checkpoint.wait() == Synced::Nothing {
            self.disk.note_anything();
        }
    }

    /// Leaves the folder so that it opens quickly and survives a power cut.
    pub(super) fn rest_at(&mut self, world: &World) -> Result<(), StoreError> {
        self.finish_checkpoint();
        self.settle_journal()?;
        // Whoever died in the middle of a commit was found when the turn began.
        clean(&mut self.disk, &[])?;
        if !self.unindexed.is_empty() || self.index.is_missing() {
            self.update_index(world)?;
        }
        self.disk.sync()?;
        self.marker.write_synced(self.version)
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
