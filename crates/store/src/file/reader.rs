//! Reads a folder without ever waiting for a writer.
//!
//! The index says what was read before, a look at every file says what is there now, and the
//! journal says what a writer moves about meanwhile: a file that moves while its folders are gone
//! through can be missed, so what the journal names is looked at again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;

use adjutant_core::{EventId, Task, TaskId, World};

use super::disk::Disk;
use super::folder::Folder;
use super::index::{Index, Indexed};
use super::journal::{self, Entry, OpWire, Position, is_gone};
use super::log::EventLog;
use super::look::{Seen, places, see};
use super::marker::Marker;
use super::scan::scan;
use crate::batch::Version;
use crate::store::StoreError;

/// How often the whole is read again because the journal was dropped meanwhile.
const TRIES_MAX: u32 = 10;
/// How much of the end of the journal is read at first.
const WINDOW_BYTES: u64 = 64 << 10;
/// How often what changed meanwhile is looked at again before it is taken as it is.
const LOOKS_MAX: u32 = 100;

/// Reads every task as it is now. Takes no lock and changes nothing.
pub fn read_world(folder: &Folder) -> Result<World, StoreError> {
    let disk = Disk::open(folder)?;
    let mut view = View::default();
    for _ in 0..TRIES_MAX {
        let mut journal = Follower::after(&disk, projected(&disk))?;
        let (_, indexed) = Index::load(&disk.journal());
        view = View::default();
        if view.read(&disk, indexed, &mut journal)? == Read::Whole {
            break;
        }
    }
    let last = EventLog::open(disk.root())?.chain().last;
    Ok(view.into_world(last))
}

/// How a reading of the whole folder went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    /// Everything that was there is in it.
    Whole,
    /// The journal was dropped before it could be read on: something may be missing.
    CutOff,
}

/// What has been seen so far.
#[derive(Default)]
struct View {
    tasks: BTreeMap<TaskId, Box<Task>>,
    unreadable: BTreeSet<TaskId>,
    last_event: EventId,
    highest: Option<TaskId>,
}

impl View {
    fn read(
        &mut self,
        disk: &Disk,
        indexed: Option<Indexed>,
        journal: &mut Follower<'_>,
    ) -> Result<Read, StoreError> {
        // What is committed and may be on its way to the files while they are looked at.
        let Some(mut again) = journal.next()? else { return Ok(Read::CutOff) };
        again.extend(self.scan(disk, indexed)?);
        for _ in 0..LOOKS_MAX {
            for id in &again {
                self.look(disk, id)?;
            }
            match journal.next()? {
                Some(changed) if changed.is_empty() => break,
                Some(changed) => again = changed,
                None => return Ok(Read::CutOff),
            }
        }
        Ok(Read::Whole)
    }

    /// Goes through all folders, and returns the tasks that should be there and were not seen.
    fn scan(
        &mut self,
        disk: &Disk,
        indexed: Option<Indexed>,
    ) -> Result<BTreeSet<TaskId>, StoreError> {
        let mut known = HashMap::new();
        if let Some(indexed) = indexed {
            (self.tasks, known) = (indexed.tasks, indexed.known);
            (self.last_event, self.highest) = (indexed.last_event, indexed.highest);
        }
        let scan = scan(disk.root())?;
        let mut missing: BTreeSet<TaskId> =
            self.tasks.keys().filter(|id| !scan.contains_key(*id)).cloned().collect();
        for (id, places) in &scan {
            if matches!((&places[..], known.get(id)), ([place], Some(known)) if known.is_at(place))
            {
                continue;
            }
            match see(disk, id, places, None)? {
                // It has moved on since its folder was gone through.
                Seen::Nothing => drop(missing.insert(id.clone())),
                seen => self.take(id, seen),
            }
        }
        Ok(missing)
    }

    /// Looks for one task in every folder. Twice, if it is in none: it may be on its way from one
    /// to another. Should it be on its way again at the second look, the journal will say so.
    fn look(&mut self, disk: &Disk, id: &TaskId) -> Result<(), StoreError> {
        let mut seen = see(disk, id, &places(disk, id)?, None)?;
        if matches!(seen, Seen::Nothing) {
            seen = see(disk, id, &places(disk, id)?, None)?;
        }
        self.take(id, seen);
        Ok(())
    }

    fn take(&mut self, id: &TaskId, seen: Seen) {
        self.unreadable.remove(id);
        match seen {
            Seen::Task(task, _) => drop(self.tasks.insert(id.clone(), task)),
            Seen::Unreadable => {
                self.tasks.remove(id);
                self.unreadable.insert(id.clone());
            }
            Seen::Nothing => drop(self.tasks.remove(id)),
            Seen::Same(_) => {}
        }
    }

    fn into_world(self, last: EventId) -> World {
        let mut world = World::load(self.tasks.into_values(), self.last_event.max(last));
        for id in self.unreadable {
            world.set_unreadable(id);
        }
        if let Some(highest) = &self.highest {
            world.note_number(highest);
        }
        world
    }
}

/// Follows the journal while others write it.
struct Follower<'a> {
    disk: &'a Disk,
    /// None while there is no journal.
    position: Option<Position>,
}

impl<'a> Follower<'a> {
    /// Stands before the first commit after `version`, or further back.
    fn after(disk: &'a Disk, version: Version) -> Result<Self, StoreError> {
        let numbers = numbers(disk)?;
        let Some(number) = numbers.last().copied() else {
            return Ok(Self { disk, position: None });
        };
        let mut window = WINDOW_BYTES;
        while let Ok(offset) = line_start(&disk.journal(), number, window) {
            let Ok(stretch) = journal::read(&disk.journal(), number, offset) else { break };
            let reaches = match stretch.entries.first() {
                Some(first) => first.version <= version.next().0,
                None => stretch.base.is_some_and(|base| base <= version),
            };
            if reaches {
                return Ok(Self { disk, position: Some(Position { number, offset }) });
            }
            if offset == 0 {
                break;
            }
            window *= 4;
        }
        let start = numbers.first().map(|number| Position { number: *number, offset: 0 });
        Ok(Self { disk, position: start })
    }

    /// Returns the tasks that were written since the last call; none if that cannot be told any
    /// more, because a file was dropped before it was read.
    fn next(&mut self) -> Result<Option<BTreeSet<TaskId>>, StoreError> {
        let mut changed = BTreeSet::new();
        let Some(position) = &mut self.position else { return Ok(Some(changed)) };
        loop {
            // Asked first: a file that has a successor is not added to any more.
            let last = numbers(self.disk)?.last().copied();
            match journal::read(&self.disk.journal(), position.number, position.offset) {
                Ok(stretch) if stretch.is_short => return Ok(None),
                Ok(stretch) => {
                    changed.extend(stretch.entries.iter().flat_map(written));
                    position.offset = stretch.end;
                }
                Err(error) if is_gone(&error) => return Ok(None),
                // What cannot be read is for `doctor`; the files are there to be read.
                Err(StoreError::Damaged { .. }) => return Ok(Some(changed)),
                Err(error) => return Err(error),
            }
            if last.is_none_or(|last| last <= position.number) {
                return Ok(Some(changed));
            }
            *position = Position { number: position.number + 1, offset: 0 };
        }
    }
}

/// Returns the version that the files are known to show. What is not known counts as nothing.
fn projected(disk: &Disk) -> Version {
    let known = disk.journal().join("state").exists();
    let marker = known.then(|| Marker::open(&disk.journal()).ok()).flatten();
    marker.and_then(|marker| marker.read().ok()).unwrap_or_default().projected
}

/// Returns where the first line begins in the last `window` bytes of a file of the journal; 0 if
/// that is all of it.
fn line_start(folder: &Path, number: u64, window: u64) -> io::Result<u64> {
    let mut file = File::open(folder.join(format!("{number:08}.wal")))?;
    let start = file.metadata()?.len().saturating_sub(window);
    if start == 0 {
        return Ok(0);
    }
    file.seek(SeekFrom::Start(start))?;
    let mut rest = Vec::new();
    let skipped = BufReader::new(file).read_until(b'\n', &mut rest)?;
    Ok(start + skipped as u64)
}

/// Returns the numbers of the files of the journal; a folder nobody wrote to has none.
fn numbers(disk: &Disk) -> Result<Vec<u64>, StoreError> {
    match journal::numbers(&disk.journal()) {
        Err(error) if is_gone(&error) => Ok(vec![]),
        numbers => numbers,
    }
}

fn written<'a>(entry: &'a Entry<'_>) -> impl Iterator<Item = TaskId> + 'a {
    entry.ops.iter().filter_map(|op| match op {
        OpWire::Task { id, .. } => TaskId::parse(id).ok(),
        OpWire::Put { .. } | OpWire::Move { .. } => None,
    })
}
