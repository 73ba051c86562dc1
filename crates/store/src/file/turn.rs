//! A turn to write: taken by a lock, begun with what others committed since, and given back.

use std::collections::BTreeMap;

use adjutant_core::{Recorded, TaskId};

use super::ahead::Ahead;
use super::journal::{Entry, OpWire};
use super::log::EventLog;
use super::marker::Marker;
use super::migration::migrate_if_due;
use super::open::{events, is_lock_of, load, note_files, note_owed, note_unsynced, take_lock};
use super::recover::{clean, redo};
use super::{FileStore, Told, Trust, Turn};
use crate::batch::Version;
use crate::store::{Caught, Loaded, StoreError};

impl FileStore {
    pub(super) fn begin_turn(&mut self) -> Result<Caught, StoreError> {
        if self.trust == Trust::Stopped {
            return Err(StoreError::Stopped);
        }
        self.take_turn()?;
        let caught = self.catch_up();
        if let Err(error) = &caught {
            match error {
                // Nobody will ever know whether it was synced.
                StoreError::Stopped => self.trust = Trust::Stopped,
                _ => self.distrust(),
            }
            self.end_turn();
        }
        caught
    }

    /// Waits for the turn to write. If somebody took the journal away, all of it or the file that
    /// is locked, everything about it is made and read anew.
    fn take_turn(&mut self) -> Result<(), StoreError> {
        self.lock.lock().map_err(StoreError::io("lock", self.disk.root()))?;
        self.turn = Turn::Ours;
        if !is_lock_of(&self.lock, self.disk.root()) {
            self.lock = take_lock(self.disk.root())?;
            self.marker = Marker::open(&self.disk.journal())?;
            self.ahead = Ahead::new(&self.disk.journal());
            self.distrust();
        }
        Ok(())
    }

    pub(super) fn end_turn(&mut self) {
        if self.turn == Turn::Ours {
            self.turn = Turn::Others;
            // Closing the file gives the turn back as well, should this fail.
            let _ = self.lock.unlock();
        }
    }

    /// Has everything read again before the next commit.
    pub(super) fn distrust(&mut self) {
        if self.trust == Trust::Good {
            self.trust = Trust::Reload;
        }
    }

    fn catch_up(&mut self) -> Result<Caught, StoreError> {
        if migrate_if_due(self.disk.root())? {
            self.distrust();
        }
        if self.trust == Trust::Reload {
            return self.reload().map(told_anew);
        }
        let told = std::mem::replace(&mut self.told, Told::Nothing);
        let Some(entries) = self.journal.catch_up()? else { return self.reload().map(told_anew) };
        let Some(first) = entries.first() else { return Ok(Caught::Events(vec![])) };
        let is_next = first.version == self.version.next().0;
        if !is_next || told == Told::AtOpening || self.shows_a_move(&entries) {
            return self.reload().map(told_anew);
        }
        self.finish(&entries)?;
        let mut caught: Vec<Recorded> = Vec::new();
        for entry in &entries {
            self.version = Version(entry.version);
            self.log.follow(entry);
            note_owed(&mut self.owed, entry)?;
            let events = events(entry)?;
            note_files(&mut self.known, &mut self.unindexed, entry, &events);
            for id in events.iter().filter_map(|recorded| recorded.happened.task.as_ref()) {
                self.unsaid.remove(id);
            }
            caught.extend(events);
        }
        Ok(Caught::Events(caught))
    }

    /// Says whether one of these commits changed a task where a person had put it, which whoever wrote
    /// it has not told: then the file lies elsewhere than this process knows.
    fn shows_a_move(&self, entries: &[Entry<'_>]) -> bool {
        let mut places: BTreeMap<TaskId, &str> = BTreeMap::new();
        for op in entries.iter().flat_map(|entry| &entry.ops) {
            let OpWire::Task { id, from, to, .. } = op else { continue };
            let Ok(id) = TaskId::parse(id) else { continue };
            let known = || self.known.get(&id).map(|known| known.status.as_str());
            let before = places.get(&id).copied().or_else(known);
            let stays = from.as_deref() == Some(&**to);
            if stays && before.is_some_and(|before| before != &**to) {
                return true;
            }
            places.insert(id, to);
        }
        false
    }

    /// Writes the files of commits whose process died before it could.
    fn finish(&mut self, entries: &[Entry<'_>]) -> Result<(), StoreError> {
        let progress = self.marker.read()?;
        note_unsynced(&mut self.disk, entries, progress.synced);
        let last = entries.last().map_or(self.version, |entry| Version(entry.version));
        if progress.projected >= last {
            return Ok(());
        }
        let behind = entries.iter().position(|entry| entry.version > progress.projected.0);
        let behind = &entries[behind.unwrap_or(0)..];
        // Who died may have died before the journal was synced.
        self.journal.sync()?;
        clean(&mut self.disk, behind)?;
        redo(&mut self.disk, behind, progress.loss)?;
        let before = self.log.chain().last;
        self.log = EventLog::open(self.disk.root())?;
        self.log.go_on_after(before);
        self.marker.write(last)
    }

    pub(super) fn reload(&mut self) -> Result<Loaded, StoreError> {
        self.settle_journal()?;
        let (state, loaded) = load(&mut self.disk, &self.marker)?;
        self.journal = state.journal;
        self.log = state.log;
        self.index = state.index;
        self.known = state.known;
        self.owed = state.owed;
        self.version = state.version;
        self.unindexed = state.unindexed;
        self.unsaid = state.unsaid;
        for id in std::mem::take(&mut self.doubted) {
            self.known.entry(id).and_modify(|known| known.sig = None);
        }
        self.trust = Trust::Good;
        Ok(loaded)
    }

    /// Waits until the journal survives a power cut. If nobody knows, nothing more is promised.
    pub(super) fn settle_journal(&mut self) -> Result<(), StoreError> {
        let settled = self.journal.settle();
        if settled.is_err() {
            self.trust = Trust::Stopped;
        }
        settled
    }
}

fn told_anew(loaded: Loaded) -> Caught {
    Caught::Reload(Box::new(loaded))
}
