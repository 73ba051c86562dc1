//! Writes a commit: checks the disk space first, then the journal, then the files.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::string::FromUtf8Error;

use adjutant_model::mission::EpicId;
use adjutant_model::{Event, RecordedEvent, Status, TaskId, Time};

use super::apply_commits::{CommitSequencer, seal_commit};
use super::disk::{PathState, StagedFile};
use super::edit_detection::{self, TaskText, find_task_files};
use super::event_log::events_file;
use super::fingerprint::{FileFingerprint, FileSignature};
use super::held_tasks::{PathFault, task_of_op};
use super::journal::{JournalEntry, JournalOp, encode_line};
use super::{CommitKeeper, FileStore, StateTrust, WriteTurn, disk_space};
use crate::batch::{CommitBatch, EffectId, StoreVersion};
use crate::document_paths::{
    EVENTS, RUN_FILES, companion_folder, epic_memory_file, run_folder, status_folder, task_file,
    task_of_path,
};
use crate::hash::ShortHash;
use crate::par_map_cpu::par_map_cpu;
use crate::plan::{DocumentChange, DocumentReader, TaskFileUpdate, plan};
use crate::store::StoreError;

impl FileStore {
    pub(super) fn commit_batch(
        &mut self,
        batch: &CommitBatch,
        order: CommitSequencer<'_>,
        keeper: CommitKeeper,
    ) -> Result<StoreVersion, StoreError> {
        if self.trust == StateTrust::Stopped || self.turn != WriteTurn::Ours {
            return Err(StoreError::Stopped);
        }
        if self.trust == StateTrust::Reload || !self.is_next(batch) {
            self.require_reload();
            return Err(StoreError::Conflict {
                expected: batch.expected_version,
                now: self.version,
            });
        }
        let committed = self.write_commit(batch, order, keeper);
        match &committed {
            Ok(_) => {}
            Err(StoreError::Stopped) => self.trust = StateTrust::Stopped,
            Err(StoreError::Conflict { .. }) => {
                self.reread.extend(batch.tasks_after.iter().map(|task| task.id.clone()));
                self.require_reload();
            }
            Err(_) => self.require_reload(),
        }
        committed
    }

    /// Returns true if the batch was decided on the current version and its events directly follow
    /// the event log.
    fn is_next(&self, batch: &CommitBatch) -> bool {
        let next = self.log.chain().last.next();
        batch.expected_version == self.version
            && batch.events.first().is_none_or(|first| first.id == next)
    }

    /// Refuses to reuse an event number. Only a corrupted event log reaches the last number.
    fn expect_numbers_for(&self, batch: &CommitBatch) -> Result<(), StoreError> {
        let last = self.log.chain().last.0;
        let left = u64::MAX - last;
        if (batch.events.len() as u64) <= left {
            return Ok(());
        }
        let what = format!("no event number is left after {last}; run `adjutant doctor`");
        Err(StoreError::Damaged { path: EVENTS.into(), what })
    }

    fn write_commit(
        &mut self,
        batch: &CommitBatch,
        order: CommitSequencer<'_>,
        keeper: CommitKeeper,
    ) -> Result<StoreVersion, StoreError> {
        self.expect_numbers_for(batch)?;
        let ops = plan(batch, self)?;
        self.sync_edited_files(&batch.events)?;
        let faults = self.make_folders_for(&ops)?;
        let version = self.version.next();
        let lines = self.log.chain().append_events(&batch.events);
        let entry = self.journal_entry(batch, version, &lines, &ops);
        self.log.reserve(&entry)?;
        if keeper == CommitKeeper::Fleet {
            // A commit that no fleet orders needs no check: everything is staged before it counts.
            self.disk.expect_free_space(disk_space::bytes_needed(&ops, &lines))?;
            self.prewritten.ensure_file()?;
        }
        let sealed = || seal_commit(&entry, &ops, &batch.answers);
        let prepared =
            self.prepare_ordered(order, &sealed, || self.prepare(&ops, &faults, &entry, keeper));
        let PreparedCommit { staged, line, copy: kept } = prepared?;
        let appended = match kept {
            CommitCopy::Prewritten => self.journal.append_unsynced(&line),
            CommitCopy::Nowhere => self.journal.append_line(&line),
        };
        if let Err(error) = appended {
            self.discard(&staged);
            return Err(error);
        }
        // The commit counts from here on. If the rest fails, the next process to take the
        // lock finishes it.
        self.version = version;
        let projected = self.write_files(&ops, &staged, faults, &entry);
        self.note_commit(batch, &ops);
        if projected.and_then(|()| self.marker.write(version)).is_err() {
            self.require_reload();
        }
        Ok(version)
    }

    /// Lets `order` decide whether the commit comes next, and stages the files meanwhile. Without a
    /// fleet, the files are staged before anything is committed, so a full disk is found in time.
    fn prepare_ordered(
        &self,
        order: CommitSequencer<'_>,
        sealed: &dyn Fn() -> String,
        prepare: impl Fn() -> Result<PreparedCommit, StoreError>,
    ) -> Result<PreparedCommit, StoreError> {
        let mut prepared = None;
        let ordered = order(sealed, &mut || prepared = Some(prepare()));
        match (ordered, prepared) {
            (Ok(()), Some(prepared)) => prepared,
            (Ok(()), None) => prepare(),
            // The commit before may be missing in the journal, so its prewritten copy must stay.
            (Err(_), Some(Err(StoreError::Stopped))) => Err(StoreError::Stopped),
            (Err(error), None) => Err(error),
            (Err(error), Some(prepared)) => {
                if let Ok(prepared) = prepared {
                    self.discard(&prepared.staged);
                }
                self.prewritten.clear();
                Err(error)
            }
        }
    }

    fn prepare(
        &self,
        ops: &[DocumentChange],
        faults: &TaskFaults,
        entry: &JournalEntry<'_>,
        keeper: CommitKeeper,
    ) -> Result<PreparedCommit, StoreError> {
        let line = encode_line(entry);
        let kept = match keeper {
            CommitKeeper::ThisFolder => CommitCopy::Nowhere,
            CommitKeeper::Fleet => self.write_prewritten(&line)?,
        };
        Ok(PreparedCommit { staged: self.stage(ops, faults)?, line, copy: kept })
    }

    /// Syncs the journal first, because this commit overwrites the prewritten copy of the one
    /// before. If the copy cannot be written, the journal is synced instead.
    fn write_prewritten(&self, line: &str) -> Result<CommitCopy, StoreError> {
        self.journal.wait_synced()?;
        Ok(self.prewritten.write(line).map_or(CommitCopy::Nowhere, |()| CommitCopy::Prewritten))
    }

    fn journal_entry<'a>(
        &self,
        batch: &CommitBatch,
        version: StoreVersion,
        lines: &'a [String],
        ops: &'a [DocumentChange],
    ) -> JournalEntry<'a> {
        let now = batch.events.last().map_or(Time::from_millis(0), |recorded| recorded.at);
        JournalEntry {
            version: version.0,
            day: self.log.day(now).into(),
            lines: lines.iter().map(|line| Cow::from(line.as_str())).collect(),
            ops: ops.iter().filter_map(|op| self.to_journal_op(op, ops)).collect(),
            pending_effects: batch.new_effects.clone(),
            settled: batch.settled_effects.iter().map(|id| (id.event.0, id.place)).collect(),
            answers: vec![],
        }
    }

    /// Syncs edits that people made before the event log mentions them. The journal does not know
    /// the text before an edit, so after a power cut the old text would look like a new edit.
    fn sync_edited_files(&self, events: &[RecordedEvent]) -> Result<(), StoreError> {
        let mut paths = BTreeSet::new();
        for recorded in events.iter().filter(|recorded| may_report_edit(&recorded.new_event.event))
        {
            let id = recorded.new_event.task.as_ref();
            let known = id.and_then(|id| Some((id, self.fingerprints.get(id)?)));
            match known {
                Some((id, known)) => paths.extend([task_file(known.status, id)]),
                None => paths.extend(Status::ALL.map(status_folder)),
            }
            if let Event::TaskTransitioned { from, .. } = recorded.new_event.event {
                paths.insert(status_folder(from));
            }
        }
        self.disk.sync_now(&paths)
    }

    /// Creates every folder that the commit writes to, and the file for exchange slots. Returns the
    /// tasks whose files cannot be changed.
    fn make_folders_for(&mut self, ops: &[DocumentChange]) -> Result<TaskFaults, StoreError> {
        self.disk.prepare_slots();
        let mut faults = std::mem::take(&mut *self.read_faults.lock());
        for op in ops {
            let task = task_of_change(op);
            if task.as_ref().is_some_and(|id| self.must_wait(id, &faults)) {
                continue;
            }
            let made = self.make_folder_for(op, ops);
            self.note_fault(task, made, &mut faults)?;
        }
        Ok(faults)
    }

    /// Returns true if changes of the task's files have to wait.
    fn must_wait(&self, id: &TaskId, faults: &TaskFaults) -> bool {
        faults.contains_key(id) || self.disk.held.has_waiting_changes(id)
    }

    /// Notes a failure that comes from the files of one task. Any other failure is returned.
    fn note_fault(
        &self,
        task: Option<TaskId>,
        done: Result<(), StoreError>,
        faults: &mut TaskFaults,
    ) -> Result<(), StoreError> {
        match (task, done) {
            (Some(task), done) => {
                if let Some(fault) = self.disk.fault_of(done)? {
                    faults.insert(task, fault);
                }
                Ok(())
            }
            (None, done) => done,
        }
    }

    /// Writes every text under a temporary name, so that a full disk is found before
    /// the commit counts.
    fn stage(
        &self,
        ops: &[DocumentChange],
        faults: &TaskFaults,
    ) -> Result<Vec<Option<StagedFile>>, StoreError> {
        match self.stage_all(ops, faults) {
            // The pooled files may be what fills the disk.
            Err(StoreError::Full { .. }) if self.disk.drain_pool() => self.stage_all(ops, faults),
            staged => staged,
        }
    }

    fn stage_all(
        &self,
        ops: &[DocumentChange],
        faults: &TaskFaults,
    ) -> Result<Vec<Option<StagedFile>>, StoreError> {
        let is_any = !faults.is_empty() || !self.disk.held.is_empty();
        let waits = |op: &DocumentChange| {
            is_any && task_of_change(op).is_some_and(|id| self.must_wait(&id, faults))
        };
        let staged = par_map_cpu(ops, |op| if waits(op) { Ok(None) } else { self.stage_one(op) });
        if staged.iter().any(Result::is_err) {
            for one in staged.iter().flatten().flatten() {
                let _ = self.disk.discard(one);
            }
        }
        staged.into_iter().collect()
    }

    fn make_folder_for(
        &mut self,
        op: &DocumentChange,
        ops: &[DocumentChange],
    ) -> Result<(), StoreError> {
        match op {
            DocumentChange::Put { path, .. } => {
                self.disk.make_folder_of(&path_before_moves(path, ops))
            }
            DocumentChange::Move { from, to }
                if !matches!(self.disk.path_state(from)?, PathState::Missing) =>
            {
                self.disk.make_folder_of(to)
            }
            DocumentChange::Task(_) | DocumentChange::Move { .. } => Ok(()),
        }
    }

    fn stage_one(&self, op: &DocumentChange) -> Result<Option<StagedFile>, StoreError> {
        match op {
            // A file that a person already left with the right text is not written again.
            DocumentChange::Task(op) if !op.is_change() => Ok(None),
            DocumentChange::Task(op) if op.from.is_none() => self.disk.stage(&op.text).map(Some),
            DocumentChange::Task(op) => self.disk.stage_for_exchange(&op.text, &op.text).map(Some),
            DocumentChange::Put { text, .. } => self.disk.stage(text).map(Some),
            DocumentChange::Move { .. } => Ok(None),
        }
    }

    /// A file that cannot be removed now is removed when the folder is next opened.
    fn discard(&self, staged: &[Option<StagedFile>]) {
        for one in staged.iter().flatten() {
            let _ = self.disk.discard(one);
        }
    }

    fn write_files(
        &mut self,
        ops: &[DocumentChange],
        staged: &[Option<StagedFile>],
        mut faults: TaskFaults,
        entry: &JournalEntry<'_>,
    ) -> Result<(), StoreError> {
        for (op, staged) in ops.iter().zip(staged) {
            let task = task_of_change(op);
            if task.as_ref().is_some_and(|id| self.must_wait(id, &faults)) {
                if let Some(staged) = staged {
                    self.disk.discard(staged)?;
                }
                continue;
            }
            let written = self.write_file(op, staged.as_ref());
            self.note_fault(task, written, &mut faults)?;
        }
        self.hold_tasks(ops, faults, entry)?;
        self.log.append(entry)?;
        self.disk.note_written(&events_file(&entry.day));
        Ok(())
    }

    fn write_file(
        &mut self,
        op: &DocumentChange,
        staged: Option<&StagedFile>,
    ) -> Result<(), StoreError> {
        match (op, staged) {
            (DocumentChange::Task(op), Some(staged)) => self.install(op, staged),
            (DocumentChange::Put { path, .. }, Some(staged)) => self.disk.install(staged, path),
            (DocumentChange::Move { from, to }, _) => self.disk.move_path(from, to).map(|_| ()),
            (DocumentChange::Task(_) | DocumentChange::Put { .. }, None) => Ok(()),
        }
    }

    /// Puts the tasks whose files could not be changed on hold, with their changes.
    fn hold_tasks(
        &mut self,
        ops: &[DocumentChange],
        mut faults: TaskFaults,
        entry: &JournalEntry<'_>,
    ) -> Result<(), StoreError> {
        if faults.is_empty() && self.disk.held.is_empty() {
            return Ok(());
        }
        let tasks: BTreeSet<TaskId> = ops.iter().filter_map(task_of_change).collect();
        for id in tasks.into_iter().filter(|id| self.must_wait(id, &faults)).collect::<Vec<_>>() {
            let is_its = |op: &&JournalOp<'_>| task_of_op(op).as_ref() == Some(&id);
            let waiting: Vec<&JournalOp<'_>> = entry.ops.iter().filter(is_its).collect();
            self.disk.hold(&id, faults.remove(&id), StoreVersion(entry.version), &waiting)?;
            if let Some((status, text)) = self.disk.held.final_text(&id) {
                let hash = Some(ShortHash::digest(text.as_bytes()));
                self.fingerprints.insert(id, FileFingerprint { status, sig: None, hash });
            }
        }
        Ok(())
    }

    /// Puts a task's file in its place without losing an edit that a person just made. The
    /// companion folder moves first: if it cannot be moved, nothing of the task has changed.
    fn install(&mut self, op: &TaskFileUpdate, staged: &StagedFile) -> Result<(), StoreError> {
        let to = task_file(op.to, &op.id);
        let Some(from) = op.from else {
            let sig = self.install_new(staged, &to)?;
            self.remember_file(op, op.to, sig);
            return Ok(());
        };
        let file = task_file(from, &op.id);
        let companion = companion_folder(from, &op.id);
        let new_companion = companion_folder(op.to, &op.id);
        let has_moved = from != op.to && self.disk.move_path(&companion, &new_companion)?;
        let replaced = self.replace(op, staged, &file).and_then(|replaced| {
            if from != op.to && matches!(replaced, ReplaceResult::Replaced(_)) {
                self.disk.move_path(&file, &to)?;
            }
            Ok(replaced)
        });
        if has_moved && !matches!(replaced, Ok(ReplaceResult::Replaced(_))) {
            self.disk.move_path(&new_companion, &companion)?;
        }
        match replaced? {
            ReplaceResult::Replaced(sig) => self.remember_file(op, op.to, sig),
            ReplaceResult::Missing => self.install_elsewhere(op, staged)?,
            ReplaceResult::KeptEdit => self.remember_file(op, from, None),
        }
        Ok(())
    }

    /// Remembers the file's state. Without a signature, the text counts as unknown.
    fn remember_file(&mut self, op: &TaskFileUpdate, status: Status, sig: Option<FileSignature>) {
        let hash = sig.map(|_| op.hash);
        self.fingerprints.insert(op.id.clone(), FileFingerprint { status, sig, hash });
    }

    /// A person just moved the file: it is changed where it lies now, and the next scan reports the
    /// move. If the person removed the file, it stays removed.
    fn install_elsewhere(
        &mut self,
        op: &TaskFileUpdate,
        staged: &StagedFile,
    ) -> Result<(), StoreError> {
        let place = find_task_files(&self.disk, &op.id)?.first().map(|(status, _)| *status);
        if let Some(status) = place {
            let path = task_file(status, &op.id);
            self.replace(op, staged, &path)?;
        }
        self.disk.discard(staged)?;
        self.remember_file(op, place.unwrap_or(op.to), None);
        Ok(())
    }

    /// If a person just created a file of the same name, their file stays.
    fn install_new(
        &mut self,
        staged: &StagedFile,
        to: &str,
    ) -> Result<Option<FileSignature>, StoreError> {
        if self.disk.install_new(staged, to)? {
            return Ok(staged.sig);
        }
        self.disk.discard(staged)?;
        Ok(None)
    }

    /// Exchanges the new text with the old file and checks the file that came out. If it is
    /// not what was read before, a person saved it in between: the change is applied again to
    /// their text, as often as they save. If the change cannot be applied to their text, their
    /// file goes back.
    fn replace(
        &mut self,
        op: &TaskFileUpdate,
        staged: &StagedFile,
        path: &str,
    ) -> Result<ReplaceResult, StoreError> {
        let mut out = self.disk.exchange(staged, path)?;
        let mut expected = self.fingerprints.get(&op.id).and_then(|known| known.sig);
        // A saved text is kept until the text merged from it is in place.
        let (mut saved, mut merged): (Option<StagedFile>, Option<StagedFile>) = (None, None);
        loop {
            let ours = merged.as_ref().unwrap_or(staged);
            let Some(came_out) = out else {
                return self.keep_merged(merged.zip(saved), path);
            };
            if let Some(saved) = saved.take() {
                self.disk.discard(&saved)?;
            }
            let theirs = match came_out {
                PathState::File(sig) if Some(sig) == expected => None,
                PathState::File(_) => Some(self.disk.read_staged(ours)?),
                PathState::Other | PathState::Missing => return self.restore_edit(ours, path),
            };
            let was = op.text_before.as_deref().map(str::as_bytes);
            let Some(theirs) = theirs.filter(|theirs| merged.is_some() || was != Some(theirs))
            else {
                self.disk.add_to_pool(ours)?;
                return Ok(ReplaceResult::Replaced(staged.sig.filter(|_| merged.is_none())));
            };
            let text = String::from_utf8(theirs).ok().and_then(|text| op.patch.apply(&text).ok());
            let Some(text) = text else { return self.restore_edit(ours, path) };
            expected = ours.sig;
            let next = self.disk.stage_for_exchange(&op.text, &text)?;
            out = self.disk.exchange(&next, path)?;
            saved = Some(merged.replace(next).unwrap_or_else(|| staged.clone()));
        }
    }

    /// The file was removed right after it was saved: the merged text goes to `lost+found`.
    fn keep_merged(
        &mut self,
        merged: Option<(StagedFile, StagedFile)>,
        path: &str,
    ) -> Result<ReplaceResult, StoreError> {
        if let Some((merged, saved)) = merged {
            self.disk.keep_in_lost_found(&merged, &path.replace('/', "-"))?;
            self.disk.discard(&saved)?;
        }
        Ok(ReplaceResult::Missing)
    }

    /// Puts the person's file back and removes ours. If a person edited ours meanwhile, it
    /// goes to `lost+found`.
    fn restore_edit(&mut self, ours: &StagedFile, path: &str) -> Result<ReplaceResult, StoreError> {
        match self.disk.exchange(ours, path)? {
            Some(PathState::File(sig)) if Some(sig) == ours.sig => self.disk.discard(ours)?,
            Some(_) | None => drop(self.disk.keep_in_lost_found(ours, &path.replace('/', "-"))?),
        }
        Ok(ReplaceResult::KeptEdit)
    }

    /// Converts a change for the journal, together with the hash of the text before it. A move of a
    /// missing file is left out: a replay would move a file that was created there later.
    fn to_journal_op<'a>(
        &self,
        op: &'a DocumentChange,
        ops: &[DocumentChange],
    ) -> Option<JournalOp<'a>> {
        Some(match op {
            DocumentChange::Task(op) => JournalOp::Task {
                id: op.id.as_str().into(),
                from: op.from.map(|from| from.as_str().into()),
                to: op.to.as_str().into(),
                was: op.text_before.as_ref().and_then(|_| self.known_hash(&op.id)),
                text: op.text.as_str().into(),
            },
            DocumentChange::Put { path, text } => {
                let was = self.hash_of(&path_before_moves(path, ops));
                JournalOp::Put { path: path.into(), was, text: text.as_str().into(), origin: None }
            }
            DocumentChange::Move { from, to } => {
                let mut before = ops.iter().take_while(|other| !std::ptr::eq(*other, op));
                let put =
                    before.any(|op| matches!(op, DocumentChange::Put { path, .. } if path == from));
                if !put && matches!(self.disk.path_state(from), Ok(PathState::Missing)) {
                    return None;
                }
                JournalOp::Move { from: from.into(), to: to.into(), was: self.hash_of(from) }
            }
        })
    }

    /// Returns the hash of a plain file; `None` if there is none.
    pub(super) fn hash_of(&self, path: &str) -> Option<String> {
        let (bytes, _) = self.disk.read(path).ok().flatten()?;
        Some(ShortHash::digest(&bytes).to_string())
    }

    /// Returns the hash of the task's text when it was last read.
    fn known_hash(&self, id: &TaskId) -> Option<String> {
        self.fingerprints.get(id)?.hash.map(|hash| hash.to_string())
    }

    fn note_commit(&mut self, batch: &CommitBatch, ops: &[DocumentChange]) {
        for task in &batch.tasks_after {
            self.unindexed.insert(task.id.clone());
            self.pending_edits.remove(&task.id);
        }
        for id in batch.events.iter().filter_map(|recorded| recorded.new_event.task.as_ref()) {
            self.unindexed.insert(id.clone());
            self.pending_edits.remove(id);
        }
        for op in ops {
            if let DocumentChange::Task(op) = op {
                self.unindexed.insert(op.id.clone());
            }
        }
        self.pending_effects
            .extend(batch.new_effects.iter().map(|effect| (effect.id, effect.clone())));
        for id in &batch.settled_effects {
            self.pending_effects.remove(&EffectId { event: id.event, place: id.place });
        }
    }
}

/// Returns true if the event may report an edit that a person made to a file.
fn may_report_edit(event: &Event) -> bool {
    match event {
        Event::TaskCreated { body, .. } | Event::TaskEdited { body, .. } => body.is_none(),
        Event::TaskTransitioned { manner, .. } => !manner.is_by_request(),
        Event::TaskRemoved {} => true,
        _ => false,
    }
}

/// The tasks whose files a commit cannot change.
type TaskFaults = BTreeMap<TaskId, PathFault>;

/// Returns the task whose files a change is about.
fn task_of_change(op: &DocumentChange) -> Option<TaskId> {
    match op {
        DocumentChange::Task(op) => Some(op.id.clone()),
        DocumentChange::Put { path, .. } => task_of_path(path),
        DocumentChange::Move { from, .. } => task_of_path(from),
    }
}

/// A commit whose files are staged.
struct PreparedCommit {
    staged: Vec<Option<StagedFile>>,
    /// The journal line.
    line: String,
    copy: CommitCopy,
}

/// Where the commit is safe before it is in the journal.
enum CommitCopy {
    /// In the synced file of the prewritten commit.
    Prewritten,
    Nowhere,
}

enum ReplaceResult {
    /// The file has the new text. `None` if a person's edit was merged into it.
    Replaced(Option<FileSignature>),
    /// The file keeps a person's text, to which the change could not be applied.
    KeptEdit,
    /// The file is missing.
    Missing,
}

/// Returns where a path lies before the tasks of the commit move with their companion folders.
fn path_before_moves(path: &str, ops: &[DocumentChange]) -> String {
    let moved = ops.iter().find_map(|op| {
        let DocumentChange::Task(TaskFileUpdate { id, from: Some(from), to, .. }) = op else {
            return None;
        };
        let inside = path.strip_prefix(&companion_folder(*to, id))?;
        Some(format!("{}{inside}", companion_folder(*from, id)))
    });
    moved.unwrap_or_else(|| path.to_owned())
}

impl DocumentReader for FileStore {
    /// Returns a conflict if the file was saved, moved or removed since it was last read: the
    /// caller must take that edit in and decide again.
    fn task(&self, id: &TaskId) -> Result<Option<(Status, String)>, StoreError> {
        if let Some((status, text)) = self.disk.held.final_text(id) {
            return Ok(Some((status, text.to_owned())));
        }
        let conflict = StoreError::Conflict { expected: self.version, now: self.version };
        let Some(known) = self.fingerprints.get(id).copied() else {
            return if find_task_files(&self.disk, id)?.is_empty() {
                Ok(None)
            } else {
                Err(conflict)
            };
        };
        match edit_detection::read_task_file(&self.disk, &task_file(known.status, id))? {
            TaskText::Bytes(bytes, _) if known.hash == Some(ShortHash::digest(&bytes)) => {
                let text = String::from_utf8(bytes);
                let lossy = |bad: FromUtf8Error| String::from_utf8_lossy(bad.as_bytes()).into();
                Ok(Some((known.status, text.unwrap_or_else(lossy))))
            }
            TaskText::Bytes(..) | TaskText::Unreadable(_) | TaskText::Missing => Err(conflict),
        }
    }

    /// An unreadable run file cannot be marked, but it is no reason to fail.
    fn run(&self, id: &TaskId) -> Result<Option<String>, StoreError> {
        Ok(self.disk.read_text(&format!("{}/run.json", run_folder(id))).unwrap_or_default())
    }

    fn memory(&self, epic: &EpicId) -> Result<Option<String>, StoreError> {
        self.disk.read_text(&epic_memory_file(epic))
    }

    fn has_run_files(&self, id: &TaskId) -> Result<bool, StoreError> {
        // A folder that cannot be read may have some.
        let Some(names) = self.names_of_run(id, &run_folder(id))? else { return Ok(true) };
        Ok(names.iter().any(|name| RUN_FILES.contains(&name.as_str())))
    }

    fn is_attempt_taken(&self, id: &TaskId, number: u32) -> Result<bool, StoreError> {
        let names = self.names_of_run(id, &format!("{}/attempts/{number}", run_folder(id)))?;
        Ok(names.is_some_and(|names| names.iter().any(|name| RUN_FILES.contains(&name.as_str()))))
    }
}

impl FileStore {
    /// Returns the names in a folder of a task's runs. If it cannot be read, the task is put on
    /// hold with the commit, and the answer is `None`.
    fn names_of_run(&self, id: &TaskId, folder: &str) -> Result<Option<Vec<String>>, StoreError> {
        match self.disk.names(folder) {
            Ok(names) => Ok(Some(names)),
            Err(error) => {
                let fault = self.disk.fault_of::<()>(Err(error))?;
                self.read_faults.lock().extend(fault.map(|fault| (id.clone(), fault)));
                Ok(None)
            }
        }
    }
}
