//! The commit that others are asked to order, written down here before they have.
//!
//! Once they have ordered it, it counts: it is answered, and goes into the journal and the files
//! without waiting for the disk once more. Until the journal is synced, which is before the next
//! commit comes here, what a power cut takes of it is made up for from here.
//!
//! Whether it was ordered is not known here. But no file shows a commit before it was ordered: so
//! one that shows, in any part, was. One that does not is left out, and comes from the others.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use adjutant_core::{Status, TaskId};

use super::disk::Disk;
use super::fault;
use super::journal::{Entry, Journal, OpWire, is_named, read_line, sync_folder};
use super::log::{EventLog, ends_in_pieces, number};
use super::look::places;
use super::recover::Texts;
use crate::batch::Version;
use crate::document::task_file;
use crate::hash::Hash;
use crate::store::StoreError;

/// The file that holds the commit: one line, as the journal has it, and whatever an earlier and
/// longer one left behind it.
const AHEAD: &str = "ahead";

/// The file, once there was something to write into it.
pub(super) struct Ahead {
    path: PathBuf,
    file: Option<File>,
}

impl Ahead {
    pub(super) fn new(journal: &Path) -> Self {
        Self { path: journal.join(AHEAD), file: None }
    }

    /// Sees to it that there is a file, whose name survives a power cut.
    pub(super) fn make(&mut self) -> Result<(), StoreError> {
        if self.file.as_ref().is_some_and(|file| is_named(file, &self.path)) {
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

    /// Writes a commit down, so that it survives a power cut, in place of the last one.
    pub(super) fn put(&self, line: &str) -> Result<(), StoreError> {
        let Some(file) = &self.file else { return Err(StoreError::Stopped) };
        fault::point();
        file.write_all_at(line.as_bytes(), 0).map_err(StoreError::io("write", &self.path))?;
        fault::point();
        file.sync_data().map_err(StoreError::io("sync", &self.path))
    }

    /// Forgets a commit that was not ordered, or may not have been: others know.
    pub(super) fn clear(&self) {
        if let Some(file) = &self.file {
            let _ = file.set_len(0);
        }
    }
}

/// Says whether a commit is written down that may have been about to be ordered.
pub(super) fn is_there(root: &Path) -> bool {
    let path = root.join(crate::document::JOURNAL).join(AHEAD);
    fs::metadata(path).is_ok_and(|look| look.len() > 0)
}

/// Forgets what is written down, for good, once the journal has what was committed. What the
/// journal has is left: nobody takes it for what comes next.
pub(super) fn forget(folder: &Path, journal: &Journal, end: Version) -> Result<(), StoreError> {
    let path = folder.join(AHEAD);
    let Ok(bytes) = fs::read(&path) else { return Ok(()) };
    if read_line(&bytes).is_some_and(|entry| entry.version <= end.0) {
        return Ok(());
    }
    let file = OpenOptions::new().write(true).open(&path);
    let file = file.map_err(StoreError::io("open", &path))?;
    journal.settle()?;
    fault::point();
    file.set_len(0).and_then(|()| file.sync_data()).map_err(StoreError::io("cut", path))
}

/// Returns the commit of this version, if it was about to be ordered and the files show it. The
/// commits before it, since the files were last synced, are `earlier`.
pub(super) fn shown(
    disk: &Disk,
    version: Version,
    earlier: &[Entry<'_>],
) -> Result<Option<Entry<'static>>, StoreError> {
    let Some((bytes, _)) = disk.read(&format!("{}/{AHEAD}", crate::document::JOURNAL))? else {
        return Ok(None);
    };
    let entry = read_line(&bytes).filter(|entry| entry.version == version.0);
    match entry.filter(Entry::stays_inside) {
        Some(entry) if is_shown(disk, &entry, earlier)? => Ok(Some(entry)),
        _ => Ok(None),
    }
}

fn is_shown(disk: &Disk, entry: &Entry<'_>, earlier: &[Entry<'_>]) -> Result<bool, StoreError> {
    if is_recorded(disk, entry, earlier)? {
        return Ok(true);
    }
    for op in &entry.ops {
        if let Some(change) = Change::of(op)
            && change.is_shown(disk, &Before::of(&change, earlier))?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Says whether the record has something of a commit, be it what a power cut leaves of a line.
fn is_recorded(disk: &Disk, entry: &Entry<'_>, earlier: &[Entry<'_>]) -> Result<bool, StoreError> {
    let last = EventLog::open(disk.root())?.chain().last;
    let number = |line: &Cow<'_, str>| number(line.as_bytes());
    let is_there = entry.lines.first().and_then(number).is_some_and(|first| first <= last);
    let before = earlier.iter().rev().filter_map(|entry| entry.lines.last()).find_map(number);
    // What follows the last line of all the others can only be of this one.
    let is_whole = before.is_none_or(|before| before <= last);
    Ok(is_there || is_whole && !entry.lines.is_empty() && ends_in_pieces(disk.root())?)
}

/// What a commit does to the file of a task.
struct Change<'a> {
    id: TaskId,
    from: Option<Status>,
    to: Status,
    was: Option<Hash>,
    text: &'a str,
}

impl<'a> Change<'a> {
    fn of(op: &'a OpWire<'_>) -> Option<Self> {
        let OpWire::Task { id, from, to, was, text } = op else { return None };
        Some(Self {
            id: TaskId::parse(id).ok()?,
            from: from.as_deref().and_then(Status::parse),
            to: Status::parse(to)?,
            was: was.as_deref().and_then(Hash::parse),
            text,
        })
    }

    /// Says whether the file is what this change made of it, or what a power cut leaves of that.
    fn is_shown(&self, disk: &Disk, before: &Before<'_>) -> Result<bool, StoreError> {
        let (files, shifts) = (places(disk, &self.id)?, self.from.is_some_and(|at| at != self.to));
        for (status, _) in &files {
            let Ok(Some((bytes, _))) = disk.read(&task_file(*status, &self.id)) else { continue };
            // What was only moved is as it was: a person can have done that.
            let is_changed = self.was != Some(Hash::of(&bytes));
            let is_new_here = *status == self.to && !before.folders.contains(status);
            let moved = shifts && is_changed && is_new_here;
            if moved || self.made(&bytes, before) {
                return Ok(true);
            }
        }
        // A file that was synced is lost only if it was being moved.
        Ok(files.is_empty() && shifts && before.is_nothing())
    }

    /// Says whether a text is what this change made, and none of those before it.
    fn made(&self, bytes: &[u8], before: &Before<'_>) -> bool {
        let mut made = Texts::default();
        made.push(None, self.text.as_bytes());
        let hash = Hash::of(bytes);
        let is_torn =
            || made.include(bytes) && (before.is_nothing() || !before.texts.include(bytes));
        let is_older = self.was == Some(hash) || before.texts.hashes.contains(&hash);
        !is_older && (bytes == self.text.as_bytes() || is_torn())
    }
}

/// What earlier commits, which may not have come to the disk either, made of the file of a task.
#[derive(Default)]
struct Before<'a> {
    texts: Texts<'a>,
    folders: Vec<Status>,
}

impl<'a> Before<'a> {
    fn of(change: &Change<'_>, earlier: &'a [Entry<'_>]) -> Self {
        let mut before = Self::default();
        let ops = earlier.iter().flat_map(|entry| &entry.ops).filter_map(Change::of);
        for other in ops.filter(|other| other.id == change.id) {
            before.texts.push(other.was, other.text.as_bytes());
            before.folders.extend(other.from);
            before.folders.push(other.to);
        }
        before
    }

    fn is_nothing(&self) -> bool {
        self.folders.is_empty()
    }
}
