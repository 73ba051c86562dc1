//! Applies commits that were made in another folder.
//!
//! A received commit goes into the journal as if a process of this machine had written it and died.
//! Crash recovery then brings the files up to date. So a replica follows the same rules as any
//! other folder: what a person changes in it is not overwritten, and is reported as an edit.
//!
//! A sealed commit says what the files become, not what they were: each folder knows its own files.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use adjutant_model::{EventId, RecordedEvent, Status, TaskId};
use serde::Deserialize;

use super::disk::PathState;
use super::edit_detection::find_task_files;
use super::event_log::events_file;
use super::fingerprint::FileFingerprint;
use super::journal::{JournalEntry, JournalOp};
use super::open::{decode_events, note_files, note_pending_effects, note_unsynced};
use super::pending_commits::removed_tasks;
use super::progress_marker::DataLoss;
use super::recover::{inside_companion, redo_files};
use super::{CommitKeeper, FileStore, StateTrust, WriteTurn};
use crate::batch::{CommitBatch, StoreVersion};
use crate::document_paths::{EVENTS, JOURNAL, companion_folder, task_file};
use crate::event_log::EventChain;
use crate::hash::ShortHash;
use crate::plan::DocumentChange;
use crate::store::{LoadedStore, StoreError};

/// Decides whether a commit comes next, before it is written here. The first argument returns the
/// sealed commit. The second does work that can run while the decision is pending; it must be
/// called at most once. If the decision fails, nothing has changed.
pub type CommitSequencer<'a> =
    &'a mut dyn FnMut(&dyn Fn() -> String, &mut dyn FnMut()) -> Result<(), StoreError>;

impl FileStore {
    /// Commits a batch that the fleet orders: it is written here only after `order`
    /// has accepted it.
    pub fn commit_ordered(
        &mut self,
        batch: &CommitBatch,
        order: CommitSequencer<'_>,
    ) -> Result<StoreVersion, StoreError> {
        self.commit_batch(batch, order, CommitKeeper::Fleet)
    }

    /// Applies commits that were made in another folder, and returns their events. The
    /// caller holds the write lock. `node` is the name of this node: files that agents left
    /// here are here already.
    pub fn apply_commits(
        &mut self,
        commits: &[String],
        node: &str,
    ) -> Result<Vec<RecordedEvent>, StoreError> {
        if self.trust != StateTrust::Good || self.turn != WriteTurn::Ours {
            return Err(StoreError::Stopped);
        }
        let followed = self.apply_all(commits, node);
        match &followed {
            Ok(_) => {}
            Err(StoreError::Stopped) => self.trust = StateTrust::Stopped,
            Err(_) => self.require_reload(),
        }
        followed
    }

    /// Forces a reload before the next commit, because the current one may or may not count.
    pub fn invalidate(&mut self) {
        self.require_reload();
    }

    /// Reloads the folder. The caller holds the write lock.
    pub fn reload_folder(&mut self) -> Result<LoadedStore, StoreError> {
        if self.turn != WriteTurn::Ours {
            return Err(StoreError::Stopped);
        }
        self.reload()
    }

    /// Returns the end of the event log.
    pub fn chain(&self) -> EventChain {
        self.log.chain()
    }

    /// Returns the state of a task's file before any edit that is in no commit yet. The edited text
    /// belongs to a person and must not be overwritten.
    fn fingerprint_before_edit(&self, id: &TaskId) -> Option<FileFingerprint> {
        self.pending_edits.get(id).copied().unwrap_or_else(|| self.fingerprints.get(id).copied())
    }

    fn apply_all(
        &mut self,
        commits: &[String],
        node: &str,
    ) -> Result<Vec<RecordedEvent>, StoreError> {
        let mut stand = ChainPosition { version: self.version, chain: self.chain() };
        let mut local = LocalTranslation { node, ..LocalTranslation::default() };
        let mut entries = Vec::with_capacity(commits.len());
        for commit in commits {
            let mut entry = unseal_commit(commit)?;
            stand.advance(&entry)?;
            local.translate(self, &mut entry)?;
            entries.push(entry);
        }
        for path in &local.removed {
            self.disk.move_to_lost_found(path)?;
        }
        self.journal.append_all(&entries)?;
        // The commits count from here on. If the rest fails, the next process to take the
        // lock finishes it.
        self.write_to_files(&entries)?;
        let mut applied = Vec::new();
        for entry in &entries {
            self.version = StoreVersion(entry.version);
            note_pending_effects(&mut self.pending_effects, entry);
            let events = decode_events(entry)?;
            note_files(&mut self.fingerprints, &mut self.unindexed, entry, &events);
            applied.extend(events);
        }
        for id in local.tasks.keys() {
            self.pending_edits.remove(id);
        }
        for id in local.moved {
            // The next scan reports that the file lies elsewhere than the event log says.
            if let Some(Some((status, _))) = local.tasks.get(&id) {
                self.fingerprints.entry(id).and_modify(|known| known.status = *status);
            }
        }
        Ok(applied)
    }

    pub(super) fn write_to_files(
        &mut self,
        entries: &[JournalEntry<'_>],
    ) -> Result<(), StoreError> {
        let Some(last) = entries.last() else { return Ok(()) };
        note_unsynced(&mut self.disk, entries, StoreVersion(0));
        redo_files(&mut self.disk, entries, DataLoss::Nothing)?;
        for entry in entries {
            self.log.append(entry)?;
            self.disk.note_written(&events_file(&entry.day));
        }
        self.marker.write(StoreVersion(last.version))
    }
}

/// Returns the commit in the form that is sent to other nodes.
pub(super) fn seal_commit(
    entry: &JournalEntry<'_>,
    ops: &[DocumentChange],
    answers: &[(String, String)],
) -> String {
    let sealed = JournalEntry {
        version: entry.version,
        day: Cow::Borrowed(&*entry.day),
        lines: entry.lines.iter().map(|line| Cow::Borrowed(&**line)).collect(),
        ops: ops.iter().map(seal_op).collect(),
        pending_effects: entry.pending_effects.clone(),
        settled: entry.settled.clone(),
        answers: answers.iter().map(|(to, answer)| (to.into(), answer.into())).collect(),
    };
    serde_json::to_string(&sealed).expect("text and numbers always make JSON")
}

/// Includes every move, because another node may have the file where this one has none.
fn seal_op(op: &DocumentChange) -> JournalOp<'_> {
    match op {
        DocumentChange::Task(op) => JournalOp::Task {
            id: op.id.as_str().into(),
            from: op.from.map(|from| from.as_str().into()),
            to: op.to.as_str().into(),
            was: None,
            text: op.text.as_str().into(),
        },
        DocumentChange::Put { path, text } => JournalOp::Put {
            path: path.into(),
            was: None,
            text: text.as_str().into(),
            origin: None,
        },
        DocumentChange::Move { from, to } => {
            JournalOp::Move { from: from.into(), to: to.into(), was: None }
        }
    }
}

fn unseal_commit(commit: &str) -> Result<JournalEntry<'static>, StoreError> {
    let damaged = |what: String| StoreError::Damaged { path: JOURNAL.into(), what };
    let mut entry: JournalEntry<'static> = serde_json::from_str(commit)
        .map_err(|error| damaged(format!("a commit of the fleet cannot be read ({error})")))?;
    // The node that asked reads its answer as the commit arrives; it is not needed later.
    entry.answers.clear();
    if entry.is_inside_folder() {
        return Ok(entry);
    }
    Err(damaged(format!("commit {} of the fleet names a file outside the folder", entry.version)))
}

/// The version and the end of the event log after the commits checked so far.
struct ChainPosition {
    version: StoreVersion,
    chain: EventChain,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LinkedLine {
    event_id: u64,
    prev: Option<String>,
}

impl ChainPosition {
    /// Returns the position right before this line.
    fn before_line(line: &str, version: StoreVersion) -> Option<Self> {
        let linked: LinkedLine = serde_json::from_str(line).ok()?;
        let prev = linked.prev.as_deref().and_then(ShortHash::parse);
        Some(Self {
            version,
            chain: EventChain { last: EventId(linked.event_id.checked_sub(1)?), prev },
        })
    }

    /// Checks that the commit is the next one, and that each of its lines was written after the
    /// last line here. So a diverging event log is detected.
    fn advance(&mut self, entry: &JournalEntry<'_>) -> Result<(), StoreError> {
        if entry.version != self.version.next().0 {
            let what = format!(
                "commit {} of the fleet arrived after commit {}",
                entry.version, self.version
            );
            return Err(StoreError::Damaged { path: JOURNAL.into(), what });
        }
        for line in &entry.lines {
            let linked: Option<LinkedLine> = serde_json::from_str(line).ok();
            let follows = linked.is_some_and(|line| {
                let prev = line.prev.as_deref().and_then(ShortHash::parse);
                line.event_id == self.chain.last.next().0 && prev == self.chain.prev
            });
            if !follows {
                return Err(self.divergence_error(entry.version));
            }
            self.chain.prev = Some(ShortHash::digest(line.as_bytes()));
            self.chain.last = self.chain.last.next();
        }
        self.version = StoreVersion(entry.version);
        Ok(())
    }

    fn divergence_error(&self, version: u64) -> StoreError {
        let what = format!(
            "the event log of this folder differs from the fleet's: commit {version} of the \
             fleet does not follow event {}; copy this folder, then join again with an empty \
             folder, or replace the fleet's data with this folder by `adjutant fleet restore`",
            self.chain.last
        );
        StoreError::Damaged { path: EVENTS.into(), what }
    }
}

/// Translates received commits into changes of this folder's files.
#[derive(Default)]
struct LocalTranslation<'n> {
    node: &'n str,
    /// Where the commits so far leave each task; `None` if they removed it.
    tasks: BTreeMap<TaskId, Option<(Status, ShortHash)>>,
    /// Paths that the commits so far wrote.
    written: BTreeSet<String>,
    /// Files that people removed on another node.
    removed: Vec<String>,
    /// Tasks whose file a person moved here; the next scan reports it.
    moved: BTreeSet<TaskId>,
}

impl LocalTranslation<'_> {
    fn translate(
        &mut self,
        store: &FileStore,
        entry: &mut JournalEntry<'_>,
    ) -> Result<(), StoreError> {
        for id in removed_tasks(entry) {
            self.remove_task(store, id)?;
        }
        let mut ops = Vec::with_capacity(entry.ops.len());
        for op in std::mem::take(&mut entry.ops) {
            ops.extend(self.translate_op(store, op)?);
        }
        entry.ops = ops;
        Ok(())
    }

    /// Keeps a file that differs from its last known text: a person edited it, and the next scan
    /// reports the edit.
    fn remove_task(&mut self, store: &FileStore, id: TaskId) -> Result<(), StoreError> {
        if let Some(known) = store.fingerprint_before_edit(&id) {
            let path = task_file(known.status, &id);
            let there = store.disk.read(&path)?.map(|(bytes, _)| ShortHash::digest(&bytes));
            if there.is_some() && there == known.hash && !self.removed.contains(&path) {
                self.removed.push(path);
            }
        }
        self.tasks.insert(id, None);
        Ok(())
    }

    fn translate_op<'a>(
        &mut self,
        store: &FileStore,
        op: JournalOp<'a>,
    ) -> Result<Option<JournalOp<'a>>, StoreError> {
        Ok(match op {
            JournalOp::Task { id, from, to, text, .. } => {
                Some(self.translate_task(store, id, from, to, text)?)
            }
            JournalOp::Put { origin: Some(origin), .. } if origin == self.node => None,
            JournalOp::Put { path, text, origin, .. } => {
                let was = store.hash_of(&current_path(store, &path));
                self.written.insert(path.clone().into_owned());
                Some(JournalOp::Put { path, was, text, origin })
            }
            JournalOp::Move { from, to, .. } => {
                let lies = current_path(store, &from);
                let nothing = matches!(store.disk.path_state(&lies)?, PathState::Missing);
                let was = store.hash_of(&lies);
                (!nothing || self.written.contains(&*from)).then_some(JournalOp::Move {
                    from,
                    to,
                    was,
                })
            }
        })
    }

    fn translate_task<'a>(
        &mut self,
        store: &FileStore,
        id: Cow<'a, str>,
        from: Option<Cow<'a, str>>,
        to: Cow<'a, str>,
        text: Cow<'a, str>,
    ) -> Result<JournalOp<'a>, StoreError> {
        let (Ok(task), Some(status)) = (TaskId::parse(&id), Status::parse(&to)) else {
            return Ok(JournalOp::Task { id, from, to, was: None, text });
        };
        let before = match self.tasks.get(&task) {
            Some(before) => before.map(|(status, hash)| (status, Some(hash))),
            None => store.fingerprint_before_edit(&task).map(|known| (known.status, known.hash)),
        };
        let left = (status, ShortHash::digest(text.as_bytes()));
        let elsewhere = user_moved_to(store, &task)?;
        self.tasks.insert(task.clone(), Some(left));
        let as_text = |status: Status| Cow::Owned(status.as_str().to_owned());
        let (from, was) = match before {
            Some((status, hash)) => (Some(as_text(status)), hash.map(|hash| hash.to_string())),
            // Unknown here, so it is new, also if the node that has made it found its file in place. A
            // file that a person removed is known until the removal is committed.
            None => (None, None),
        };
        if let Some(place) = elsewhere {
            // The person's move wins: the file is changed where it lies now.
            self.moved.insert(task);
            return Ok(JournalOp::Task {
                id,
                from: Some(as_text(place)),
                to: as_text(place),
                was,
                text,
            });
        }
        Ok(JournalOp::Task { id, from, to, was, text })
    }
}

/// Returns the status folder to which a person moved the task's file since the last scan.
fn user_moved_to(store: &FileStore, id: &TaskId) -> Result<Option<Status>, StoreError> {
    let Some(FileFingerprint { status, .. }) = store.fingerprint_before_edit(id) else {
        return Ok(None);
    };
    match store.disk.path_state(&task_file(status, id))? {
        PathState::Missing => {
            Ok(find_task_files(&store.disk, id)?.first().map(|(place, _)| *place))
        }
        PathState::File(_) | PathState::Other => Ok(None),
    }
}

/// Returns where a file lies before these commits. A companion folder lies next to its task, even
/// if a person has moved that.
fn current_path(store: &FileStore, path: &str) -> String {
    let lies =
        |id: &TaskId| find_task_files(&store.disk, id).ok()?.first().map(|(status, _)| *status);
    let known = |id: &TaskId| store.fingerprints.get(id).map(|known| known.status);
    let inside = inside_companion(path)
        .and_then(|(id, rest)| Some((lies(&id).or_else(|| known(&id))?, id, rest)));
    match inside {
        Some((status, id, rest)) => format!("{}/{rest}", companion_folder(status, &id)),
        None => path.to_owned(),
    }
}

/// Checks that each sealed commit follows the one before.
#[derive(Default)]
pub struct SealedChain {
    position: Option<ChainPosition>,
}

impl SealedChain {
    /// Checks the next commit. The first one with an event is accepted without a check.
    pub fn check_next(&mut self, commit: &str) -> Result<(), StoreError> {
        let entry = unseal_commit(commit)?;
        if self.position.is_none() {
            let before = StoreVersion(entry.version.saturating_sub(1));
            self.position =
                entry.lines.first().and_then(|line| ChainPosition::before_line(line, before));
        }
        match &mut self.position {
            Some(stand) => stand.advance(&entry),
            None => Ok(()),
        }
    }
}

/// Returns the hash of the last event line of a sealed commit; `None` if it has no events.
pub fn last_sealed_hash(commit: &str) -> Option<ShortHash> {
    let entry: JournalEntry<'_> = serde_json::from_str(commit).ok()?;
    entry.lines.last().map(|line| ShortHash::digest(line.as_bytes()))
}
