//! Reads a folder without waiting for a writer.
//!
//! The index says what was read before, a look at every file says what is there now, and the
//! journal says what a writer moves about meanwhile: a file that moves while its folders are gone
//! through can be missed, so what the journal names is looked at again. Only who is outrun by
//! writers again and again asks them to wait, once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use adjutant_core::{EventId, Task, TaskId, World};

use super::disk::Disk;
use super::folder::Folder;
use super::format_check::check_format;
use super::index::Index;
use super::journal::{self, Entry, Position, is_gone};
use super::known::Known;
use super::log::EventLog;
use super::look::{Seen, places, see};
use super::marker::Marker;
use super::open::lock_path;
use super::scan::scan;
use super::underway::Underway;
use crate::batch::Version;
use crate::hash::Hash;
use crate::store::StoreError;

/// How often the whole is read again, because writers were quicker, before they are asked to wait.
const TRIES_MAX: u32 = 5;
/// How much of the end of the journal is read at first.
const WINDOW_BYTES: u64 = 64 << 10;
/// How often what changed meanwhile is looked at again before the whole is.
pub(super) const LOOKS_MAX: u32 = 100;

/// Reads every task as it is now, all of them or an error. Changes nothing, and takes no lock
/// unless writers outrun it.
pub fn read_world(folder: &Folder) -> Result<World, StoreError> {
    check_format(folder)?;
    let disk = Disk::open(folder)?;
    for _ in 0..TRIES_MAX {
        if let Read::Whole(view) = View::read(&disk)? {
            return view.into_world(&disk);
        }
    }
    let _turn = shared_turn(&disk);
    loop {
        // Without writers only a checkpoint can still drop a file of the journal that is about to
        // be read, and it does so once for each there is.
        if let Read::Whole(view) = View::read(&disk)? {
            return view.into_world(&disk);
        }
    }
}

/// Returns where a folder ends: its version, and the hash of the last line of its record. Changes
/// nothing, and has writers wait meanwhile.
pub fn ending(folder: &Folder) -> Result<(Version, Option<Hash>), StoreError> {
    check_format(folder)?;
    let disk = Disk::open(folder)?;
    let _turn = shared_turn(&disk);
    let projected = Marker::peek(&disk.journal())?.projected;
    let entries = Follower::after(&disk, projected)?.next(&disk)?.unwrap_or_default();
    let pending = entries.iter().filter(|entry| entry.version > projected.0);
    let version = pending.clone().map(|entry| entry.version).max();
    // What is in the files is read there: that is what people see.
    let line = pending.filter_map(|entry| entry.lines.last()).next_back();
    let end = match line {
        Some(line) => Some(Hash::of(line.as_bytes())),
        None => EventLog::open(disk.root())?.chain().prev,
    };
    Ok((version.map_or(projected, Version), end))
}

/// Waits until nobody writes, and has writers wait in turn. Where that cannot be, nobody writes,
/// or reading goes on as before.
fn shared_turn(disk: &Disk) -> Option<File> {
    let lock = File::open(lock_path(disk.root())).ok()?;
    lock.lock_shared().ok().map(|()| lock)
}

/// How a reading of the whole folder went.
enum Read {
    /// Everything that was there is in it.
    Whole(View),
    /// Writers were quicker: something may be missing.
    Outrun,
}

/// What has been seen so far.
#[derive(Default)]
struct View {
    tasks: BTreeMap<TaskId, Arc<Task>>,
    unreadable: BTreeSet<TaskId>,
    underway: Underway,
    last_event: EventId,
    spent: Vec<TaskId>,
}

impl View {
    fn read(disk: &Disk) -> Result<Read, StoreError> {
        // What is not known to be in the files counts as on its way.
        let projected = Marker::peek(&disk.journal()).unwrap_or_default().projected;
        let mut view = Self { underway: Underway::after(projected), ..Self::default() };
        let mut journal = Follower::after(disk, projected)?;
        // What is committed and may be on its way to the files while they are looked at.
        let Some(entries) = journal.next(disk)? else { return Ok(Read::Outrun) };
        let mut again = view.underway.take(&entries);
        again.extend(view.scan(disk)?);
        for _ in 0..LOOKS_MAX {
            for id in &again {
                view.look(disk, id)?;
            }
            match journal.next(disk)? {
                Some(entries) if entries.is_empty() => return Ok(Read::Whole(view)),
                Some(entries) => again = view.underway.take(&entries),
                None => break,
            }
        }
        Ok(Read::Outrun)
    }

    /// Goes through all folders, and returns the tasks that should be there and were not seen.
    fn scan(&mut self, disk: &Disk) -> Result<BTreeSet<TaskId>, StoreError> {
        let known = self.take_index(disk);
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

    fn take_index(&mut self, disk: &Disk) -> HashMap<TaskId, Known> {
        let (_, Some(indexed)) = Index::load(&disk.journal()) else { return HashMap::new() };
        self.tasks = indexed.tasks;
        (self.last_event, self.spent) = (indexed.last_event, indexed.spent);
        indexed.known
    }

    fn look(&mut self, disk: &Disk, id: &TaskId) -> Result<(), StoreError> {
        let seen = look_for(disk, &self.underway, id)?;
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

    fn into_world(self, disk: &Disk) -> Result<World, StoreError> {
        let last = EventLog::open(disk.root())?.chain().last;
        let mut world = World::load(self.tasks.into_values(), self.last_event.max(last));
        for id in self.unreadable {
            world.set_unreadable(id);
        }
        self.spent.iter().for_each(|id| world.note_number(id));
        Ok(world)
    }
}

/// Looks for one task in every folder. Twice, if it is in none: it may be on its way from one to
/// another. Should it be on its way again at the second look, the journal will say so.
pub(super) fn look_for(disk: &Disk, underway: &Underway, id: &TaskId) -> Result<Seen, StoreError> {
    let mut seen = see(disk, id, &places(disk, id)?, None)?;
    if matches!(seen, Seen::Nothing) {
        seen = see(disk, id, &places(disk, id)?, None)?;
    }
    Ok(underway.settle(id, seen))
}

/// Follows the journal while others write it.
pub(super) struct Follower {
    /// None while there is no journal.
    position: Option<Position>,
}

impl Follower {
    /// Stands before the first commit after `version`, or further back.
    pub(super) fn after(disk: &Disk, version: Version) -> Result<Self, StoreError> {
        let numbers = numbers(disk)?;
        let Some(number) = numbers.last().copied() else {
            return Ok(Self { position: None });
        };
        let mut window = WINDOW_BYTES;
        while let Ok(offset) = line_start(&disk.journal(), number, window) {
            let Ok(stretch) = journal::read(&disk.journal(), number, offset) else { break };
            let reaches = match stretch.entries.first() {
                Some(first) => first.version <= version.next().0,
                None => stretch.base.is_some_and(|base| base <= version),
            };
            if reaches {
                return Ok(Self { position: Some(Position { number, offset }) });
            }
            if offset == 0 {
                break;
            }
            window *= 4;
        }
        let start = numbers.first().map(|number| Position { number: *number, offset: 0 });
        Ok(Self { position: start })
    }

    /// Returns what was committed since the last call; none if that cannot be told any more,
    /// because a file was dropped before it was read, or the journal was only now begun.
    pub(super) fn next(&mut self, disk: &Disk) -> Result<Option<Vec<Entry<'static>>>, StoreError> {
        let mut entries = Vec::new();
        loop {
            // Asked first: a file that has a successor is not added to any more.
            let numbers = numbers(disk)?;
            let Some(position) = &mut self.position else {
                return Ok(numbers.is_empty().then_some(entries));
            };
            match journal::read(&disk.journal(), position.number, position.offset) {
                Ok(stretch) if stretch.is_short => return Ok(None),
                Ok(stretch) => {
                    entries.extend(stretch.entries);
                    position.offset = stretch.end;
                }
                Err(error) if is_gone(&error) => return Ok(None),
                // What cannot be read is for `doctor`; the files are there to be read.
                Err(StoreError::Damaged { .. }) => return Ok(Some(entries)),
                Err(error) => return Err(error),
            }
            // One that is missing between two that are there was not dropped, and never comes.
            let Some(next) = numbers.into_iter().find(|number| *number > position.number) else {
                return Ok(Some(entries));
            };
            *position = Position { number: next, offset: 0 };
        }
    }
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
