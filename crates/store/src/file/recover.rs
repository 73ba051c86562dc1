//! Finishes what was committed and had not come to the files.
//!
//! A task file is written again only if it is one of the texts the journal knows, or was lost; any
//! other text was written by somebody else and is left to be taken in as an edit.

use std::collections::BTreeMap;

use adjutant_core::{Status, TaskId};

use super::disk::{Disk, Look};
use super::journal::{Entry, OpWire};
use super::log::EventLog;
use super::look::places;
use crate::document::{TASKS, companion, task_file};
use crate::hash::Hash;
use crate::store::StoreError;

/// Brings the files to where these commits leave them.
pub(super) fn redo(
    disk: &mut Disk,
    log: &mut EventLog,
    entries: &[Entry<'_>],
) -> Result<(), StoreError> {
    let mut tasks: BTreeMap<TaskId, Chain<'_>> = BTreeMap::new();
    let mut files = Files::default();
    for op in entries.iter().flat_map(|entry| &entry.ops) {
        match op {
            OpWire::Task { id, from, to, was, text } => {
                let (Ok(id), Some(to)) = (TaskId::parse(id), Status::parse(to)) else { continue };
                let from = from.as_deref().and_then(Status::parse);
                let was = was.as_deref().and_then(Hash::parse);
                tasks.entry(id).or_insert_with(|| Chain::new(to)).push(from, to, was, text);
            }
            OpWire::Put { path, text } => files.put(path, text),
            OpWire::Move { from, to } => files.shift(from, to),
        }
    }
    for (id, chain) in &tasks {
        chain.redo(disk, id)?;
    }
    files.redo(disk)?;
    entries.iter().try_for_each(|entry| log.append(entry))
}

/// What the journal says of one task, over several commits.
struct Chain<'a> {
    texts: Vec<Hash>,
    folders: Vec<Status>,
    to: Status,
    text: &'a str,
}

impl<'a> Chain<'a> {
    fn new(to: Status) -> Self {
        Self { texts: vec![], folders: vec![], to, text: "" }
    }

    fn push(&mut self, from: Option<Status>, to: Status, was: Option<Hash>, text: &'a str) {
        self.texts.extend(was);
        self.texts.push(Hash::of(text.as_bytes()));
        self.folders.extend(from);
        (self.to, self.text) = (to, text);
    }

    fn redo(&self, disk: &mut Disk, id: &TaskId) -> Result<(), StoreError> {
        let last = Hash::of(self.text.as_bytes());
        let mut ours = Vec::new();
        let mut foreign = false;
        for (status, _) in places(disk, id)? {
            match disk.read(&task_file(status, id)) {
                Ok(Some((bytes, _))) if bytes.is_empty() => ours.push((status, None)),
                Ok(Some((bytes, _))) if self.texts.contains(&Hash::of(&bytes)) => {
                    ours.push((status, Some(Hash::of(&bytes))));
                }
                _ => foreign = true,
            }
        }
        if foreign {
            return Ok(());
        }
        let target = task_file(self.to, id);
        if !ours.contains(&(self.to, Some(last))) {
            let staged = disk.stage(self.text)?;
            disk.put(&staged, &target)?;
        }
        for (status, _) in ours.into_iter().filter(|(status, _)| *status != self.to) {
            disk.remove(&task_file(status, id))?;
            disk.note(task_file(status, id));
        }
        self.redo_companion(disk, id)
    }

    fn redo_companion(&self, disk: &mut Disk, id: &TaskId) -> Result<(), StoreError> {
        for folder in self.folders.iter().filter(|folder| **folder != self.to) {
            disk.shift(&companion(*folder, id), &companion(self.to, id))?;
        }
        Ok(())
    }
}

/// What the journal says of all other files: what is written where in the end, and what moves.
#[derive(Default)]
struct Files {
    texts: BTreeMap<String, String>,
    moves: Vec<(String, String)>,
}

impl Files {
    fn put(&mut self, path: &str, text: &str) {
        self.texts.insert(path.to_owned(), text.to_owned());
    }

    fn shift(&mut self, from: &str, to: &str) {
        match self.texts.remove(from) {
            Some(text) => {
                self.texts.insert(to.to_owned(), text);
                self.moves.push((from.to_owned(), String::new()));
            }
            None => self.moves.push((from.to_owned(), to.to_owned())),
        }
    }

    fn redo(self, disk: &mut Disk) -> Result<(), StoreError> {
        for (from, to) in &self.moves {
            if to.is_empty() {
                disk.remove(from)?;
            } else if matches!(disk.look(to)?, Look::Nothing) {
                disk.shift(from, to)?;
            }
        }
        for (path, text) in &self.texts {
            let path = present_place(disk, path)?;
            if disk.read_text(&path)?.as_ref() != Some(text) {
                let staged = disk.stage(text)?;
                disk.put(&staged, &path)?;
            }
        }
        Ok(())
    }
}

/// A companion folder moves with its task: what was written into it is looked for where it is now.
fn present_place(disk: &Disk, path: &str) -> Result<String, StoreError> {
    let inside = path.strip_prefix(TASKS).and_then(|rest| {
        let mut parts = rest.trim_start_matches('/').splitn(3, '/');
        let (_, id, rest) = (parts.next()?, parts.next()?, parts.next()?);
        Some((TaskId::parse(id).ok()?, rest))
    });
    let Some((id, rest)) = inside else { return Ok(path.to_owned()) };
    let place = places(disk, &id)?.first().map(|(status, _)| *status);
    Ok(place.map_or_else(|| path.to_owned(), |now| format!("{}/{rest}", companion(now, &id))))
}
