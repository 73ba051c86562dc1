//! The prewritten commit: a commit that is written to disk while the fleet decides on its order.
//!
//! Once the fleet has ordered it, the commit counts: it is answered, and goes to the journal and
//! the files without another wait for the disk. If a power cut takes it from the journal, recovery
//! takes it from this file. That works because the journal is synced before the next commit
//! overwrites the file.
//!
//! This file does not say whether the fleet ordered the commit. But no other file shows a commit
//! before it was ordered. So recovery keeps a commit of which any file shows a part; any other is
//! dropped, and comes from the fleet if it was ordered.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use adjutant_model::{Status, TaskId};

use super::disk::FolderDisk;
use super::edit_detection::find_task_files;
use super::event_log::{EventLog, ends_in_torn_line, event_number};
use super::fault;
use super::journal::{
    CommitJournal, JournalEntry, JournalOp, decode_line, is_same_file, sync_folder,
};
use super::recover::KnownTexts;
use crate::batch::StoreVersion;
use crate::document_paths::task_file;
use crate::hash::ShortHash;
use crate::store::StoreError;

/// The file with the commit: one line in the journal's format. The rest of a longer, earlier commit
/// may follow it.
const PREWRITTEN_FILE: &str = "ahead";

/// The file is opened when the first commit is written.
pub(super) struct PrewrittenCommit {
    path: PathBuf,
    file: Option<File>,
}

impl PrewrittenCommit {
    pub(super) fn new(journal: &Path) -> Self {
        Self { path: journal.join(PREWRITTEN_FILE), file: None }
    }

    /// Opens or creates the file, and syncs the folder so that the name survives a power cut.
    pub(super) fn ensure_file(&mut self) -> Result<(), StoreError> {
        if self.file.as_ref().is_some_and(|file| is_same_file(file, &self.path)) {
            return Ok(());
        }
        let mut options = OpenOptions::new();
        fault::point();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(&self.path);
        let file = file.map_err(StoreError::io("open", &self.path))?;
        self.path.parent().map_or(Ok(()), sync_folder)?;
        self.file = Some(file);
        Ok(())
    }

    /// Replaces the last commit by this one, and syncs it.
    pub(super) fn write(&self, line: &str) -> Result<(), StoreError> {
        let Some(file) = &self.file else { return Err(StoreError::Stopped) };
        fault::point();
        file.write_all_at(line.as_bytes(), 0).map_err(StoreError::io("write", &self.path))?;
        fault::point();
        file.sync_data().map_err(StoreError::io("sync", &self.path))
    }

    /// Drops a commit that was not ordered, or may not have been. The fleet knows.
    pub(super) fn clear(&self) {
        if let Some(file) = &self.file {
            let _ = file.set_len(0);
        }
    }
}

/// Returns true if the file holds a commit that may have been ordered.
pub(super) fn has_prewritten(root: &Path) -> bool {
    let path = root.join(crate::document_paths::JOURNAL).join(PREWRITTEN_FILE);
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0)
}

/// Empties the file, once the journal holds what was committed. A commit that the journal already
/// has may stay: its version is too old to be taken for the next commit.
pub(super) fn clear_prewritten(
    folder: &Path,
    journal: &CommitJournal,
    end: StoreVersion,
) -> Result<(), StoreError> {
    let path = folder.join(PREWRITTEN_FILE);
    let Ok(bytes) = fs::read(&path) else { return Ok(()) };
    if decode_line(&bytes).is_some_and(|entry| entry.version <= end.0) {
        return Ok(());
    }
    let file = OpenOptions::new().write(true).open(&path);
    let file = file.map_err(StoreError::io("open", &path))?;
    journal.wait_synced()?;
    fault::point();
    file.set_len(0).and_then(|()| file.sync_data()).map_err(StoreError::io("cut", path))
}

/// Returns the prewritten commit if it has this version and the files show a part of it. `earlier`
/// are the commits before it since the files were last synced.
pub(super) fn recover_prewritten(
    disk: &FolderDisk,
    version: StoreVersion,
    earlier: &[JournalEntry<'_>],
) -> Result<Option<JournalEntry<'static>>, StoreError> {
    let Some((bytes, _)) =
        disk.read(&format!("{}/{PREWRITTEN_FILE}", crate::document_paths::JOURNAL))?
    else {
        return Ok(None);
    };
    let entry = decode_line(&bytes).filter(|entry| entry.version == version.0);
    match entry.filter(JournalEntry::is_inside_folder) {
        Some(entry) if is_commit_visible(disk, &entry, earlier)? => Ok(Some(entry)),
        _ => Ok(None),
    }
}

fn is_commit_visible(
    disk: &FolderDisk,
    entry: &JournalEntry<'_>,
    earlier: &[JournalEntry<'_>],
) -> Result<bool, StoreError> {
    if is_recorded(disk, entry, earlier)? {
        return Ok(true);
    }
    for op in &entry.ops {
        if let Some(change) = TaskFileChange::of(op)
            && change.is_visible(disk, &EarlierChanges::of(&change, earlier))?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if the event log holds a part of the commit, even a line that a power cut tore.
fn is_recorded(
    disk: &FolderDisk,
    entry: &JournalEntry<'_>,
    earlier: &[JournalEntry<'_>],
) -> Result<bool, StoreError> {
    let last = EventLog::open(disk.root())?.chain().last;
    let number = |line: &Cow<'_, str>| event_number(line.as_bytes());
    let is_there = entry.lines.first().and_then(number).is_some_and(|first| first <= last);
    let before = earlier.iter().rev().filter_map(|entry| entry.lines.last()).find_map(number);
    // A torn line after the last line of all earlier commits can only belong to this commit.
    let is_whole = before.is_none_or(|before| before <= last);
    Ok(is_there || is_whole && !entry.lines.is_empty() && ends_in_torn_line(disk.root())?)
}

/// What a commit does to the file of one task.
struct TaskFileChange<'a> {
    id: TaskId,
    from: Option<Status>,
    to: Status,
    was: Option<ShortHash>,
    text: &'a str,
}

impl<'a> TaskFileChange<'a> {
    fn of(op: &'a JournalOp<'_>) -> Option<Self> {
        let JournalOp::Task { id, from, to, was, text } = op else { return None };
        Some(Self {
            id: TaskId::parse(id).ok()?,
            from: from.as_deref().and_then(Status::parse),
            to: Status::parse(to)?,
            was: was.as_deref().and_then(ShortHash::parse),
            text,
        })
    }

    /// Returns true if the file is what this change made, or what a power cut left of it.
    fn is_visible(
        &self,
        disk: &FolderDisk,
        before: &EarlierChanges<'_>,
    ) -> Result<bool, StoreError> {
        let (files, shifts) =
            (find_task_files(disk, &self.id)?, self.from.is_some_and(|at| at != self.to));
        for (status, _) in &files {
            let Ok(Some((bytes, _))) = disk.read(&task_file(*status, &self.id)) else { continue };
            // A file that moved with its old text does not count: a person may have moved it.
            let is_changed = self.was != Some(ShortHash::digest(&bytes));
            let is_new_here = *status == self.to && !before.folders.contains(status);
            let moved = shifts && is_changed && is_new_here;
            if moved || self.has_written(&bytes, before) {
                return Ok(true);
            }
        }
        // A synced file can only be missing because it was being moved.
        Ok(files.is_empty() && shifts && before.is_empty())
    }

    /// Returns true if the text comes from this change and from no earlier one.
    fn has_written(&self, bytes: &[u8], before: &EarlierChanges<'_>) -> bool {
        let mut made = KnownTexts::default();
        made.push(None, self.text.as_bytes());
        let hash = ShortHash::digest(bytes);
        let is_torn =
            || made.contains(bytes) && (before.is_empty() || !before.texts.contains(bytes));
        let is_older = self.was == Some(hash) || before.texts.hashes.contains(&hash);
        !is_older && (bytes == self.text.as_bytes() || is_torn())
    }
}

/// What earlier commits, which may be unsynced as well, did to the file of a task.
#[derive(Default)]
struct EarlierChanges<'a> {
    texts: KnownTexts<'a>,
    folders: Vec<Status>,
}

impl<'a> EarlierChanges<'a> {
    fn of(change: &TaskFileChange<'_>, earlier: &'a [JournalEntry<'_>]) -> Self {
        let mut before = Self::default();
        let ops = earlier.iter().flat_map(|entry| &entry.ops).filter_map(TaskFileChange::of);
        for other in ops.filter(|other| other.id == change.id) {
            before.texts.push(other.was, other.text.as_bytes());
            before.folders.extend(other.from);
            before.folders.push(other.to);
        }
        before
    }

    fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }
}
