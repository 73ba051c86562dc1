//! Turns: take the write lock, catch up with other processes' commits, and release the lock.

use std::collections::BTreeMap;

use adjutant_model::{RecordedEvent, TaskId};

use super::event_log::EventLog;
use super::journal::{JournalEntry, JournalOp};
use super::migration::migrate_if_due;
use super::open::{
    decode_events, is_lock_of, load, note_files, note_pending_effects, note_unsynced, take_lock,
};
use super::prewritten_commit::PrewrittenCommit;
use super::progress_marker::ProgressMarker;
use super::recover::{clean_temporary, redo};
use super::{FileStore, ReportedEdits, StateTrust, WriteTurn};
use crate::batch::StoreVersion;
use crate::store::{LoadedStore, StoreError, StoreUpdate};

impl FileStore {
    pub(super) fn begin_turn(&mut self) -> Result<StoreUpdate, StoreError> {
        if self.trust == StateTrust::Stopped {
            return Err(StoreError::Stopped);
        }
        self.lock_for_writing()?;
        let update = self.catch_up().and_then(|update| self.disk.retry_held().map(|()| update));
        if let Err(error) = &update {
            match error {
                // It will never be known whether the journal was synced.
                StoreError::Stopped => self.trust = StateTrust::Stopped,
                _ => self.require_reload(),
            }
            self.end_turn();
        }
        update
    }

    /// Waits for the write lock. If the journal folder or its lock file was removed, both are
    /// created again and everything is reloaded.
    fn lock_for_writing(&mut self) -> Result<(), StoreError> {
        self.folder.check()?;
        self.lock.lock().map_err(StoreError::io("lock", self.disk.root()))?;
        self.turn = WriteTurn::Ours;
        // Checked again, because waiting for the lock may have taken long.
        if let Err(gone) = self.folder.check() {
            self.end_turn();
            return Err(gone);
        }
        if !is_lock_of(&self.lock, self.disk.root()) {
            self.lock = take_lock(self.disk.root())?;
            self.marker = ProgressMarker::open(&self.disk.journal())?;
            self.prewritten = PrewrittenCommit::new(&self.disk.journal());
            self.require_reload();
        }
        Ok(())
    }

    pub(super) fn end_turn(&mut self) {
        if self.turn == WriteTurn::Ours {
            self.turn = WriteTurn::Others;
            // If this fails, closing the file releases the lock.
            let _ = self.lock.unlock();
        }
    }

    /// Forces a reload before the next commit.
    pub(super) fn require_reload(&mut self) {
        if self.trust == StateTrust::Good {
            self.trust = StateTrust::Reload;
        }
    }

    fn catch_up(&mut self) -> Result<StoreUpdate, StoreError> {
        if migrate_if_due(self.disk.root())? {
            self.require_reload();
        }
        if self.trust == StateTrust::Reload {
            return self.reload().map(into_reload);
        }
        let reported = std::mem::replace(&mut self.reported, ReportedEdits::Nothing);
        let Some(entries) = self.journal.catch_up()? else { return self.reload().map(into_reload) };
        let Some(first) = entries.first() else { return Ok(StoreUpdate::Events(vec![])) };
        let is_next = first.version == self.version.next().0;
        if !is_next || reported == ReportedEdits::AtOpen || self.has_unreported_move(&entries) {
            return self.reload().map(into_reload);
        }
        self.finish_commits(&entries)?;
        let mut all: Vec<RecordedEvent> = Vec::new();
        for entry in &entries {
            self.version = StoreVersion(entry.version);
            self.log.note_appended(entry);
            note_pending_effects(&mut self.pending_effects, entry);
            let events = decode_events(entry)?;
            note_files(&mut self.fingerprints, &mut self.unindexed, entry, &events);
            for id in events.iter().filter_map(|recorded| recorded.new_event.task.as_ref()) {
                self.pending_edits.remove(id);
            }
            all.extend(events);
        }
        Ok(StoreUpdate::Events(all))
    }

    /// Returns true if one of these commits changed a task in a folder to which a person had moved
    /// it, and no event tells of that move. Then this process has the wrong folder.
    fn has_unreported_move(&self, entries: &[JournalEntry<'_>]) -> bool {
        let mut places: BTreeMap<TaskId, &str> = BTreeMap::new();
        for op in entries.iter().flat_map(|entry| &entry.ops) {
            let JournalOp::Task { id, from, to, .. } = op else { continue };
            let Ok(id) = TaskId::parse(id) else { continue };
            let known = || self.fingerprints.get(&id).map(|known| known.status.as_str());
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
    fn finish_commits(&mut self, entries: &[JournalEntry<'_>]) -> Result<(), StoreError> {
        let progress = self.marker.read()?;
        note_unsynced(&mut self.disk, entries, progress.synced);
        let last = entries.last().map_or(self.version, |entry| StoreVersion(entry.version));
        if progress.projected >= last {
            return Ok(());
        }
        let behind = entries.iter().position(|entry| entry.version > progress.projected.0);
        let behind = &entries[behind.unwrap_or(0)..];
        // A process that died may have died before it synced the journal.
        self.journal.sync()?;
        clean_temporary(&mut self.disk, behind)?;
        redo(&mut self.disk, behind, progress.loss)?;
        let before = self.log.chain().last;
        self.log = EventLog::open(self.disk.root())?;
        self.log.note_last_event(before);
        self.marker.write(last)
    }

    pub(super) fn reload(&mut self) -> Result<LoadedStore, StoreError> {
        self.wait_journal_synced()?;
        let (state, loaded) = load(&mut self.disk, &self.marker)?;
        self.journal = state.journal;
        self.log = state.log;
        self.index = state.index;
        self.fingerprints = state.fingerprints;
        self.pending_effects = state.pending_effects;
        self.version = state.version;
        self.unindexed = state.unindexed;
        self.pending_edits = state.pending_edits;
        for id in std::mem::take(&mut self.reread) {
            self.fingerprints.entry(id).and_modify(|known| known.sig = None);
        }
        self.trust = StateTrust::Good;
        Ok(loaded)
    }

    /// Waits until the journal survives a power cut. If that fails, the store stops.
    pub(super) fn wait_journal_synced(&mut self) -> Result<(), StoreError> {
        let settled = self.journal.wait_synced();
        if settled.is_err() {
            self.trust = StateTrust::Stopped;
        }
        settled
    }
}

fn into_reload(loaded: LoadedStore) -> StoreUpdate {
    StoreUpdate::Reload(Box::new(loaded))
}
