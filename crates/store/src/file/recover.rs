//! Crash recovery: brings the files up to date with commits that only the journal has.
//!
//! A file is overwritten only if its text is known from the journal, or if it was lost. Any other
//! text was written by another program or a person since, and stays. A task file with such a text
//! is reported as an edit.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_model::{Status, TaskId};

use super::disk::{FolderDisk, PathState, TEMPORARY, text_checksum};
use super::edit_detection::find_task_files;
use super::event_log;
use super::exchange_slots::{self, ExchangeMark, is_slot, is_slot_file};
use super::held_tasks::task_of_op;
use super::journal::{JournalEntry, JournalOp};
use super::pending_commits::removed_tasks;
use super::progress_marker::DataLoss;
use crate::batch::StoreVersion;
use crate::document_paths::{JOURNAL, TASKS, companion_folder, task_file};
use crate::hash::ShortHash;
use crate::store::StoreError;
use crate::taskfile;

/// Brings the files and the event log to the state after these commits.
pub(super) fn redo(
    disk: &mut FolderDisk,
    entries: &[JournalEntry<'_>],
    loss: DataLoss,
) -> Result<(), StoreError> {
    redo_files(disk, entries, loss)?;
    event_log::redo(disk, entries)
}

/// Brings the files to the state after these commits. If the files of a task cannot be changed, the
/// task is put on hold with its changes, and the others continue.
pub(super) fn redo_files(
    disk: &mut FolderDisk,
    entries: &[JournalEntry<'_>],
    loss: DataLoss,
) -> Result<(), StoreError> {
    disk.refresh_held()?;
    let last = StoreVersion(entries.last().map_or(0, |entry| entry.version));
    for (task, ops) in ops_by_task(disk, entries) {
        match task {
            None => redo_task(disk, ops, loss)?,
            Some(id) if disk.held.has_waiting_changes(&id) => disk.hold(&id, None, last, &ops)?,
            Some(id) => {
                let redone = redo_task(disk, ops.iter().copied(), loss);
                if let Some(fault) = disk.fault_of(redone)? {
                    disk.hold(&id, Some(fault), last, &ops)?;
                }
            }
        }
    }
    Ok(())
}

/// Groups the changes of commits by the task whose files they change. Leaves out changes that wait
/// with their task already.
fn ops_by_task<'e, 'a>(
    disk: &FolderDisk,
    entries: &'e [JournalEntry<'a>],
) -> BTreeMap<Option<TaskId>, Vec<&'e JournalOp<'a>>> {
    let mut groups: BTreeMap<Option<TaskId>, Vec<&JournalOp<'a>>> = BTreeMap::new();
    for entry in entries {
        for op in &entry.ops {
            let task = task_of_op(op);
            let waits = task.as_ref().is_some_and(|id| disk.held.version(id).0 >= entry.version);
            if !waits {
                groups.entry(task).or_default().push(op);
            }
        }
        // A task that a person removed is not restored.
        for id in removed_tasks(entry) {
            let of_task = groups.entry(Some(id)).or_default();
            of_task.retain(|op| !matches!(op, JournalOp::Task { .. }));
        }
    }
    groups
}

/// Brings the files of one task to the state after these changes, in order.
pub(super) fn redo_task<'e, 'a: 'e>(
    disk: &mut FolderDisk,
    ops: impl IntoIterator<Item = &'e JournalOp<'a>>,
    loss: DataLoss,
) -> Result<(), StoreError> {
    let mut end = ReplayTarget::default();
    ops.into_iter().for_each(|op| end.add(op));
    for (id, chain) in &end.tasks {
        chain.redo(disk, id, loss)?;
    }
    end.files.redo(disk)
}

/// The state of the files after the commits.
#[derive(Default)]
struct ReplayTarget<'a> {
    tasks: BTreeMap<TaskId, TaskReplay<'a>>,
    files: FileReplay<'a>,
}

impl<'a> ReplayTarget<'a> {
    fn add(&mut self, op: &'a JournalOp<'_>) {
        match op {
            JournalOp::Task { id, from, to, was, text } => {
                let (Ok(id), Some(to)) = (TaskId::parse(id), Status::parse(to)) else { return };
                let from = from.as_deref().and_then(Status::parse);
                let was = was.as_deref().and_then(ShortHash::parse);
                let chain = self.tasks.entry(id).or_insert_with(|| TaskReplay::new(from, to));
                chain.push(from, to, was, text);
            }
            JournalOp::Put { path, was, text, .. } => {
                self.files.put(path, was.as_deref(), text.as_bytes());
            }
            JournalOp::Move { from, to, was } => self.files.move_file(from, to, was.as_deref()),
        }
    }
}

/// Removes the temporary files of a dead process. Only the holder of the lock may call it, and only
/// before the pending `entries` are written to the files. Anything that is not a file was never
/// ours, and goes to `lost+found`. So does an unknown text that came out of an exchange: a person
/// had saved it just then.
pub(super) fn clean_temporary(
    disk: &mut FolderDisk,
    entries: &[JournalEntry<'_>],
) -> Result<(), StoreError> {
    for name in disk.names(TEMPORARY)? {
        let path = format!("{TEMPORARY}/{name}");
        let is_ours = match disk.path_state(&path)? {
            PathState::File(_) => !is_user_text(disk, &path, entries),
            PathState::Other => false,
            PathState::Missing => continue,
        };
        if is_ours {
            disk.remove(&path)?;
        } else {
            disk.move_to_lost_found(&path)?;
        }
    }
    let slot_files = disk.names(JOURNAL)?.into_iter().filter(|name| is_slot_file(name));
    slot_files.map(|name| format!("{JOURNAL}/{name}")).try_for_each(|path| disk.remove(&path))
}

/// Returns true if a temporary file holds a person's text. Only a pending commit can have exchanged
/// a file, and its staged files were complete before it was in the journal. So a torn file comes
/// from no pending commit.
fn is_user_text(disk: &FolderDisk, path: &str, entries: &[JournalEntry<'_>]) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ExchangeMark { committed, own } = match exchange_slots::read_mark(&disk.journal(), name) {
        Ok(Some(mark)) => mark,
        // A power cut may have taken the record of the slot.
        Ok(None) if is_slot(name) => return is_unknown_task(disk, path, entries),
        Ok(None) => return false,
        // If it cannot be told, the file is kept.
        Err(_) => return true,
    };
    let mut known = KnownTexts::default();
    for op in entries.iter().flat_map(|entry| &entry.ops) {
        if let JournalOp::Task { was, text, .. } = op {
            known.push(was.as_deref().and_then(ShortHash::parse), text.as_bytes());
        }
    }
    if !known.texts.iter().any(|text| text_checksum(text) == committed) {
        return false;
    }
    match disk.read(path) {
        Ok(Some((bytes, _))) => text_checksum(&bytes) != own && !known.contains(&bytes),
        // A file of ours would be readable.
        Ok(None) | Err(_) => true,
    }
}

/// Returns true if a file holds a task that these commits change, with a text that none
/// of them knows.
fn is_unknown_task(disk: &FolderDisk, path: &str, entries: &[JournalEntry<'_>]) -> bool {
    let Ok(Some((bytes, _))) = disk.read(path) else { return false };
    let Ok(text) = std::str::from_utf8(&bytes) else { return false };
    let Ok(task) = taskfile::parse(text, None, None) else { return false };
    let mut known = KnownTexts::default();
    let ops = entries.iter().flat_map(|entry| &entry.ops);
    for op in ops {
        let JournalOp::Task { id, was, text, .. } = op else { continue };
        if **id == *task.task.id.as_str() {
            known.push(was.as_deref().and_then(ShortHash::parse), text.as_bytes());
        }
    }
    !known.texts.is_empty() && !known.contains(&bytes)
}

/// The texts of one file that the journal knows.
#[derive(Default)]
pub(super) struct KnownTexts<'a> {
    pub(super) hashes: Vec<ShortHash>,
    texts: Vec<&'a [u8]>,
}

impl<'a> KnownTexts<'a> {
    pub(super) fn push(&mut self, was: Option<ShortHash>, text: &'a [u8]) {
        self.hashes.extend(was);
        self.hashes.push(ShortHash::digest(text));
        self.texts.push(text);
    }

    /// Returns true if this is one of the texts, or what a power cut may leave of one.
    pub(super) fn contains(&self, bytes: &[u8]) -> bool {
        // A reused file has one byte before it has its text.
        let is_cut = bytes.len() == 1 || bytes.len().is_multiple_of(BLOCK_BYTES);
        let cut = |text: &&[u8]| is_cut && text.starts_with(bytes);
        let emptied = bytes.last().is_none_or(|last| *last == 0);
        emptied || self.hashes.contains(&ShortHash::digest(bytes)) || self.texts.iter().any(cut)
    }
}

/// A file that was not completely written ends at a block boundary.
const BLOCK_BYTES: usize = 512;

/// What the journal says about one task, over several commits.
struct TaskReplay<'a> {
    texts: KnownTexts<'a>,
    /// The folders in which the task's file lay, in order.
    folders: Vec<Status>,
    is_new: bool,
    to: Status,
    text: &'a str,
}

impl<'a> TaskReplay<'a> {
    fn new(from: Option<Status>, to: Status) -> Self {
        let texts = KnownTexts::default();
        Self { texts, folders: vec![], is_new: from.is_none(), to, text: "" }
    }

    fn push(&mut self, from: Option<Status>, to: Status, was: Option<ShortHash>, text: &'a str) {
        self.texts.push(was, text.as_bytes());
        self.folders.extend(from);
        (self.to, self.text) = (to, text);
    }

    fn redo(&self, disk: &mut FolderDisk, id: &TaskId, loss: DataLoss) -> Result<(), StoreError> {
        let (mut ours, places) = (Vec::new(), find_task_files(disk, id)?);
        for (status, _) in &places {
            match disk.read(&task_file(*status, id)) {
                Ok(Some((bytes, _))) if self.texts.contains(&bytes) => ours.push((*status, bytes)),
                Ok(Some(_)) if places.len() == 1 => return self.move_user_text(disk, id, *status),
                Ok(_) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        // Only a person can have removed an existing file, so it stays removed.
        if ours.is_empty() && !self.is_new && loss == DataLoss::Nothing {
            return Ok(());
        }
        // In this order, a folder or file that cannot be moved leaves everything where it was.
        self.redo_companion(disk, id)?;
        let is_there = ours.iter().any(|(at, _)| *at == self.to);
        if let Some((from, _)) = ours.iter().find(|_| !is_there) {
            self.move_file(disk, id, *from)?;
        }
        if !ours.iter().any(|(at, bytes)| *at == self.to && *bytes == self.text.as_bytes()) {
            let staged = disk.stage(self.text)?;
            disk.install(&staged, &task_file(self.to, id))?;
        }
        for (status, _) in ours.into_iter().filter(|(status, _)| *status != self.to) {
            disk.remove(&task_file(status, id))?;
            disk.note_written(&task_file(status, id));
        }
        Ok(())
    }

    /// Keeps a text that a person wrote, and moves it to the folder that the event log says,
    /// if it lies where the task was before. If it lies elsewhere, the person moved it, and
    /// it stays there.
    fn move_user_text(
        &self,
        disk: &mut FolderDisk,
        id: &TaskId,
        from: Status,
    ) -> Result<(), StoreError> {
        if from == self.to || !self.folders.contains(&from) {
            return Ok(());
        }
        self.redo_companion(disk, id)?;
        self.move_file(disk, id, from)
    }

    /// Moves the task's file to its folder, or else the companion folder back to the file.
    fn move_file(
        &self,
        disk: &mut FolderDisk,
        id: &TaskId,
        from: Status,
    ) -> Result<(), StoreError> {
        let moved = disk.move_path(&task_file(from, id), &task_file(self.to, id));
        if moved.is_err() {
            disk.move_path(&companion_folder(self.to, id), &companion_folder(from, id))?;
        }
        moved.map(|_| ())
    }

    fn redo_companion(&self, disk: &mut FolderDisk, id: &TaskId) -> Result<(), StoreError> {
        let to = companion_folder(self.to, id);
        for folder in self.folders.iter().filter(|folder| **folder != self.to) {
            if matches!(disk.path_state(&to)?, PathState::Missing) {
                disk.move_path(&companion_folder(*folder, id), &to)?;
            }
        }
        Ok(())
    }
}

/// What the journal says about all other files: their final texts, and the moves.
#[derive(Default)]
struct FileReplay<'a> {
    known: BTreeMap<String, KnownTexts<'a>>,
    /// The final text of each path.
    texts: BTreeMap<String, &'a [u8]>,
    /// Paths whose file was written and then moved on.
    vacated: BTreeSet<String>,
    moves: Vec<ReplayMove<'a>>,
}

/// A move of a folder, or of a file that these commits did not write.
struct ReplayMove<'a> {
    from: &'a str,
    to: &'a str,
    /// The hash of the file; `None` for a folder, and in older journals.
    was: Option<ShortHash>,
}

impl<'a> FileReplay<'a> {
    fn put(&mut self, path: &str, was: Option<&str>, text: &'a [u8]) {
        let place = path_without_status(path);
        self.known.entry(place.clone()).or_default().push(was.and_then(ShortHash::parse), text);
        self.vacated.remove(&place);
        self.texts.insert(place, text);
    }

    fn move_file(&mut self, from: &'a str, to: &'a str, was: Option<&str>) {
        match self.texts.remove(from) {
            Some(text) => {
                self.known.entry(to.to_owned()).or_default().push(None, text);
                self.texts.insert(to.to_owned(), text);
                self.vacated.insert(from.to_owned());
            }
            None => self.moves.push(ReplayMove { from, to, was: was.and_then(ShortHash::parse) }),
        }
    }

    fn redo(&self, disk: &mut FolderDisk) -> Result<(), StoreError> {
        for ReplayMove { from, to, was } in &self.moves {
            let there =
                || disk.read(from).ok().flatten().map(|(bytes, _)| ShortHash::digest(&bytes));
            let is_the_same = was.is_none_or(|was| there() == Some(was));
            if is_the_same && matches!(disk.path_state(to)?, PathState::Missing) {
                disk.move_path(from, to)?;
            }
        }
        for path in &self.vacated {
            if self.is_ours(disk, path, path) {
                disk.remove(path)?;
                disk.note_written(path);
            }
        }
        for (place, text) in &self.texts {
            let Some(path) = current_companion_path(disk, place)? else { continue };
            if self.is_ours(disk, place, &path) {
                let staged = disk.stage(text)?;
                disk.install(&staged, &path)?;
            }
        }
        Ok(())
    }

    /// Returns true if the file may be overwritten: it is missing, or has a known text that
    /// is not final.
    fn is_ours(&self, disk: &FolderDisk, place: &str, path: &str) -> bool {
        match disk.read(path) {
            Ok(Some((bytes, _))) => {
                let is_last = self.texts.get(place).is_some_and(|text| **text == bytes);
                !is_last && self.known.get(place).is_some_and(|known| known.contains(&bytes))
            }
            Ok(None) => true,
            Err(_) => false,
        }
    }
}

/// A companion folder moves with its task, so its files are tracked without the status.
fn path_without_status(path: &str) -> String {
    match inside_companion(path) {
        Some((id, rest)) => format!("{TASKS}/*/{id}/{rest}"),
        None => path.to_owned(),
    }
}

/// Returns the current path of a file; one in a companion folder lies where its task is now. `None`
/// if that task's file is gone.
fn current_companion_path(disk: &FolderDisk, place: &str) -> Result<Option<String>, StoreError> {
    let Some((id, rest)) = inside_companion(place) else { return Ok(Some(place.to_owned())) };
    let now = find_task_files(disk, &id)?.first().map(|(status, _)| *status);
    Ok(now.map(|now| format!("{}/{rest}", companion_folder(now, &id))))
}

pub(super) fn inside_companion(path: &str) -> Option<(TaskId, &str)> {
    let mut parts = path.strip_prefix(TASKS)?.strip_prefix('/')?.splitn(3, '/');
    let (_, id, rest) = (parts.next()?, parts.next()?, parts.next()?);
    Some((TaskId::parse(id).ok()?, rest))
}
