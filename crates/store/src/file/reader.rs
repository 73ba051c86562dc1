//! Reads a folder without ever waiting for a writer.
//!
//! The index and the journal say what was committed, a look at every file says what people did
//! since. What a writer changed during the look is looked at again.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_core::{EventId, Task, TaskId, World};

use super::disk::Disk;
use super::folder::Folder;
use super::index::Index;
use super::journal::{self, Entry, OpWire, Position};
use super::known::Known;
use super::look::{Seen, places, see};
use super::scan::scan;
use crate::store::StoreError;

/// How often what changed meanwhile is looked at again before it is taken as it is.
const LOOKS_MAX: u32 = 100;

/// Reads every task as it is now. Takes no lock and changes nothing.
pub fn read_world(folder: &Folder) -> Result<World, StoreError> {
    let disk = Disk::open(folder)?;
    let mut position = end_of_journal(&disk)?;
    let mut view = View::load(&disk)?;
    for _ in 0..LOOKS_MAX {
        let (changed, end) = changed_since(&disk, position)?;
        if changed.is_empty() {
            break;
        }
        position = end;
        for id in changed {
            let places = places(&disk, &id)?;
            view.take(&id, see(&disk, &id, &places, None)?);
        }
    }
    Ok(view.into_world())
}

struct View {
    tasks: BTreeMap<TaskId, Task>,
    unreadable: BTreeSet<TaskId>,
}

impl View {
    fn load(disk: &Disk) -> Result<Self, StoreError> {
        let (_, indexed) = Index::load(&disk.journal());
        let (mut tasks, known) = indexed.map_or_else(Default::default, |i| (i.tasks, i.known));
        let scan = scan(disk.root())?;
        tasks.retain(|id, _| scan.contains_key(id));
        let mut view = Self { tasks, unreadable: BTreeSet::new() };
        for (id, places) in &scan {
            let before: Option<&Known> = known.get(id);
            let same = matches!((&places[..], before), ([(status, Some(sig))], Some(known))
                if (known.status, known.sig) == (*status, Some(*sig)));
            if !same {
                view.take(id, see(disk, id, places, None)?);
            }
        }
        Ok(view)
    }

    fn take(&mut self, id: &TaskId, seen: Seen) {
        self.unreadable.remove(id);
        match seen {
            Seen::Task(task, _) => {
                self.tasks.insert(id.clone(), *task);
            }
            Seen::Unreadable => {
                self.tasks.remove(id);
                self.unreadable.insert(id.clone());
            }
            Seen::Nothing => {
                self.tasks.remove(id);
            }
            Seen::Same(_) => {}
        }
    }

    fn into_world(self) -> World {
        let mut world = World::load(self.tasks.into_values(), EventId::default());
        self.unreadable.into_iter().for_each(|id| world.set_unreadable(id));
        world
    }
}

fn end_of_journal(disk: &Disk) -> Result<Position, StoreError> {
    let folder = disk.journal();
    let Some(number) = last_number(disk)? else { return Ok(Position::default()) };
    let length = std::fs::metadata(folder.join(format!("{number:08}.wal")));
    Ok(Position { number, offset: length.map_or(0, |meta| meta.len()) })
}

fn last_number(disk: &Disk) -> Result<Option<u64>, StoreError> {
    match journal::numbers(&disk.journal()) {
        Ok(numbers) => Ok(numbers.last().copied()),
        // A folder that was never written to has no journal.
        Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the tasks that commits after a position wrote.
fn changed_since(disk: &Disk, from: Position) -> Result<(BTreeSet<TaskId>, Position), StoreError> {
    let (mut changed, mut position) = (BTreeSet::new(), from);
    while let Ok(stretch) = journal::read(&disk.journal(), position.number, position.offset) {
        changed.extend(stretch.entries.iter().flat_map(written));
        position.offset = stretch.end;
        if last_number(disk)?.is_none_or(|last| last <= position.number) {
            break;
        }
        position = Position { number: position.number + 1, offset: 0 };
    }
    Ok((changed, position))
}

fn written<'a>(entry: &'a Entry<'_>) -> impl Iterator<Item = TaskId> + 'a {
    entry.ops.iter().filter_map(|op| match op {
        OpWire::Task { id, .. } => TaskId::parse(id).ok(),
        OpWire::Put { .. } | OpWire::Move { .. } => None,
    })
}
