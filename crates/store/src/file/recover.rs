//! Finishes what was committed and had not come to the files.
//!
//! A file is written again only if it is one of the texts the journal knows, or was lost; any
//! other text was written by somebody else since, and is left: a task's to be taken in as an edit.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_core::{Status, TaskId};

use super::disk::{Disk, Look, TEMPORARY, mark};
use super::journal::{Entry, OpWire};
use super::log;
use super::look::places;
use super::marker::Loss;
use super::marks::{self, Mark, is_marks, is_slot};
use super::underway::removed;
use crate::document::{JOURNAL, TASKS, companion, task_file};
use crate::hash::Hash;
use crate::store::StoreError;
use crate::taskfile;

/// Brings the files and the record to where these commits leave them.
pub(super) fn redo(disk: &mut Disk, entries: &[Entry<'_>], loss: Loss) -> Result<(), StoreError> {
    redo_files(disk, entries, loss)?;
    log::redo(disk, entries)
}

/// Brings the files to where these commits leave them.
pub(super) fn redo_files(
    disk: &mut Disk,
    entries: &[Entry<'_>],
    loss: Loss,
) -> Result<(), StoreError> {
    let mut end = End::default();
    for entry in entries {
        for op in &entry.ops {
            end.take(op);
        }
        // What a person took away is not brought back.
        for id in removed(entry) {
            end.tasks.remove(&id);
        }
    }
    for (id, chain) in &end.tasks {
        chain.redo(disk, id, loss)?;
    }
    end.files.redo(disk)
}

/// Where commits leave the files in the end.
#[derive(Default)]
struct End<'a> {
    tasks: BTreeMap<TaskId, Chain<'a>>,
    files: Files<'a>,
}

impl<'a> End<'a> {
    fn take(&mut self, op: &'a OpWire<'_>) {
        match op {
            OpWire::Task { id, from, to, was, text } => {
                let (Ok(id), Some(to)) = (TaskId::parse(id), Status::parse(to)) else { return };
                let from = from.as_deref().and_then(Status::parse);
                let was = was.as_deref().and_then(Hash::parse);
                let chain = self.tasks.entry(id).or_insert_with(|| Chain::new(from, to));
                chain.push(from, to, was, text);
            }
            OpWire::Put { path, was, text, .. } => {
                self.files.put(path, was.as_deref(), text.as_bytes());
            }
            OpWire::Move { from, to, was } => self.files.shift(from, to, was.as_deref()),
        }
    }
}

/// Removes what a process that died left under temporary names. Only who holds the lock may, and
/// only before these commits, which are not in the files yet, are finished. What is no file was
/// never ours, and is put aside; so is what came out of an exchange and is no text that is known:
/// a person had saved it that very moment.
pub(super) fn clean(disk: &mut Disk, entries: &[Entry<'_>]) -> Result<(), StoreError> {
    for name in disk.names(TEMPORARY)? {
        let path = format!("{TEMPORARY}/{name}");
        let is_ours = match disk.look(&path)? {
            Look::File(_) => !is_a_persons(disk, &path, entries),
            Look::Other => false,
            Look::Nothing => continue,
        };
        if is_ours {
            disk.remove(&path)?;
        } else {
            disk.set_aside(&path)?;
        }
    }
    let marks = disk.names(JOURNAL)?.into_iter().filter(|name| is_marks(name));
    marks.map(|name| format!("{JOURNAL}/{name}")).try_for_each(|path| disk.remove(&path))
}

/// Only a commit that is in the journal and not in the files may have exchanged a file, and all it
/// made was whole before it came to the journal. So what is torn was made by none of these.
fn is_a_persons(disk: &Disk, path: &str, entries: &[Entry<'_>]) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let Mark { committed, own } = match marks::of(&disk.journal(), name) {
        Ok(Some(mark)) => mark,
        // A power cut may have taken what was known of it.
        Ok(None) if is_slot(name) => return is_unknown_task(disk, path, entries),
        Ok(None) => return false,
        // What cannot be told is kept.
        Err(_) => return true,
    };
    let mut known = Texts::default();
    for op in entries.iter().flat_map(|entry| &entry.ops) {
        if let OpWire::Task { was, text, .. } = op {
            known.push(was.as_deref().and_then(Hash::parse), text.as_bytes());
        }
    }
    if !known.texts.iter().any(|text| mark(text) == committed) {
        return false;
    }
    match disk.read(path) {
        Ok(Some((bytes, _))) => mark(&bytes) != own && !known.include(&bytes),
        // We can read what we made.
        Ok(None) | Err(_) => true,
    }
}

/// Says whether a file holds a task that these commits change, in words that none of them knows.
fn is_unknown_task(disk: &Disk, path: &str, entries: &[Entry<'_>]) -> bool {
    let Ok(Some((bytes, _))) = disk.read(path) else { return false };
    let Ok(text) = std::str::from_utf8(&bytes) else { return false };
    let Ok(task) = taskfile::parse(text, None, None) else { return false };
    let mut known = Texts::default();
    let ops = entries.iter().flat_map(|entry| &entry.ops);
    for op in ops {
        let OpWire::Task { id, was, text, .. } = op else { continue };
        if **id == *task.task.id.as_str() {
            known.push(was.as_deref().and_then(Hash::parse), text.as_bytes());
        }
    }
    !known.texts.is_empty() && !known.include(&bytes)
}

/// Texts of one file that the journal knows.
#[derive(Default)]
pub(super) struct Texts<'a> {
    pub(super) hashes: Vec<Hash>,
    texts: Vec<&'a [u8]>,
}

impl<'a> Texts<'a> {
    pub(super) fn push(&mut self, was: Option<Hash>, text: &'a [u8]) {
        self.hashes.extend(was);
        self.hashes.push(Hash::of(text));
        self.texts.push(text);
    }

    /// Says whether this is one of the texts, or what a power cut may leave of one.
    pub(super) fn include(&self, bytes: &[u8]) -> bool {
        // A file that is written anew has one byte before it has its text.
        let is_cut = bytes.len() == 1 || bytes.len().is_multiple_of(BLOCK_BYTES);
        let cut = |text: &&[u8]| is_cut && text.starts_with(bytes);
        let emptied = bytes.last().is_none_or(|last| *last == 0);
        emptied || self.hashes.contains(&Hash::of(bytes)) || self.texts.iter().any(cut)
    }
}

/// A file that was not written to its end is cut off where a block ends.
const BLOCK_BYTES: usize = 512;

/// What the journal says of one task, over several commits.
struct Chain<'a> {
    texts: Texts<'a>,
    /// The folders it lay in, from the first on.
    folders: Vec<Status>,
    is_new: bool,
    to: Status,
    text: &'a str,
}

impl<'a> Chain<'a> {
    fn new(from: Option<Status>, to: Status) -> Self {
        let texts = Texts::default();
        Self { texts, folders: vec![], is_new: from.is_none(), to, text: "" }
    }

    fn push(&mut self, from: Option<Status>, to: Status, was: Option<Hash>, text: &'a str) {
        self.texts.push(was, text.as_bytes());
        self.folders.extend(from);
        (self.to, self.text) = (to, text);
    }

    fn redo(&self, disk: &mut Disk, id: &TaskId, loss: Loss) -> Result<(), StoreError> {
        let (mut ours, places) = (Vec::new(), places(disk, id)?);
        for (status, _) in &places {
            match disk.read(&task_file(*status, id)) {
                Ok(Some((bytes, _))) if self.texts.include(&bytes) => ours.push((*status, bytes)),
                Ok(Some(_)) if places.len() == 1 => return self.take_along(disk, id, *status),
                _ => return Ok(()),
            }
        }
        // A file that was there, and that nothing but a person can have taken away, stays away.
        if ours.is_empty() && !self.is_new && loss == Loss::Nothing {
            return Ok(());
        }
        if !ours.iter().any(|(at, bytes)| *at == self.to && *bytes == self.text.as_bytes()) {
            let staged = disk.stage(self.text)?;
            disk.put(&staged, &task_file(self.to, id))?;
        }
        for (status, _) in ours.into_iter().filter(|(status, _)| *status != self.to) {
            disk.remove(&task_file(status, id))?;
            disk.note(&task_file(status, id));
        }
        self.redo_companion(disk, id)
    }

    /// A text that a person wrote stays as it is, and goes where the record says: it lies where the
    /// task was before. One that lies elsewhere was moved by them, and stays there.
    fn take_along(&self, disk: &mut Disk, id: &TaskId, from: Status) -> Result<(), StoreError> {
        if from == self.to || !self.folders.contains(&from) {
            return Ok(());
        }
        disk.shift(&task_file(from, id), &task_file(self.to, id))?;
        self.redo_companion(disk, id)
    }

    fn redo_companion(&self, disk: &mut Disk, id: &TaskId) -> Result<(), StoreError> {
        let to = companion(self.to, id);
        for folder in self.folders.iter().filter(|folder| **folder != self.to) {
            if matches!(disk.look(&to)?, Look::Nothing) {
                disk.shift(&companion(*folder, id), &to)?;
            }
        }
        Ok(())
    }
}

/// What the journal says of all other files: what is written where in the end, and what moves.
#[derive(Default)]
struct Files<'a> {
    known: BTreeMap<String, Texts<'a>>,
    /// What is written where in the end.
    texts: BTreeMap<String, &'a [u8]>,
    /// Where something was written that has moved on.
    left: BTreeSet<String>,
    moves: Vec<Move<'a>>,
}

/// A file of somebody else's that was moved, or a folder.
struct Move<'a> {
    from: &'a str,
    to: &'a str,
    /// What the file said; none of a folder, and in older journals.
    was: Option<Hash>,
}

impl<'a> Files<'a> {
    fn put(&mut self, path: &str, was: Option<&str>, text: &'a [u8]) {
        let place = anywhere(path);
        self.known.entry(place.clone()).or_default().push(was.and_then(Hash::parse), text);
        self.left.remove(&place);
        self.texts.insert(place, text);
    }

    fn shift(&mut self, from: &'a str, to: &'a str, was: Option<&str>) {
        match self.texts.remove(from) {
            Some(text) => {
                self.known.entry(to.to_owned()).or_default().push(None, text);
                self.texts.insert(to.to_owned(), text);
                self.left.insert(from.to_owned());
            }
            None => self.moves.push(Move { from, to, was: was.and_then(Hash::parse) }),
        }
    }

    fn redo(&self, disk: &mut Disk) -> Result<(), StoreError> {
        for Move { from, to, was } in &self.moves {
            let there = || disk.read(from).ok().flatten().map(|(bytes, _)| Hash::of(&bytes));
            let is_the_same = was.is_none_or(|was| there() == Some(was));
            if is_the_same && matches!(disk.look(to)?, Look::Nothing) {
                disk.shift(from, to)?;
            }
        }
        for path in &self.left {
            if self.is_ours(disk, path, path) {
                disk.remove(path)?;
                disk.note(path);
            }
        }
        for (place, text) in &self.texts {
            let Some(path) = present_place(disk, place)? else { continue };
            if self.is_ours(disk, place, &path) {
                let staged = disk.stage(text)?;
                disk.put(&staged, &path)?;
            }
        }
        Ok(())
    }

    /// Says whether what is there is neither anybody else's nor already as it should be.
    fn is_ours(&self, disk: &Disk, place: &str, path: &str) -> bool {
        match disk.read(path) {
            Ok(Some((bytes, _))) => {
                let is_last = self.texts.get(place).is_some_and(|text| **text == bytes);
                !is_last && self.known.get(place).is_some_and(|known| known.include(&bytes))
            }
            Ok(None) => true,
            Err(_) => false,
        }
    }
}

/// A companion folder moves with its task: what is written into it is known by the task alone.
fn anywhere(path: &str) -> String {
    match inside_companion(path) {
        Some((id, rest)) => format!("{TASKS}/*/{id}/{rest}"),
        None => path.to_owned(),
    }
}

/// What was written into a companion folder belongs where the folder is now; nowhere, if somebody
/// took the task away.
fn present_place(disk: &Disk, place: &str) -> Result<Option<String>, StoreError> {
    let Some((id, rest)) = inside_companion(place) else { return Ok(Some(place.to_owned())) };
    let now = places(disk, &id)?.first().map(|(status, _)| *status);
    Ok(now.map(|now| format!("{}/{rest}", companion(now, &id))))
}

pub(super) fn inside_companion(path: &str) -> Option<(TaskId, &str)> {
    let mut parts = path.strip_prefix(TASKS)?.strip_prefix('/')?.splitn(3, '/');
    let (_, id, rest) = (parts.next()?, parts.next()?, parts.next()?);
    Some((TaskId::parse(id).ok()?, rest))
}
