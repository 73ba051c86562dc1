//! Opens a folder: the index and the journal say what was known, the files say what is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::thread;

use adjutant_core::{EventId, Recorded, Status, TaskId, World};

use super::checkpoint::Checkpoint;
use super::disk::Disk;
use super::folder::{Folder, make_folders};
use super::index::{Index, Indexed};
use super::journal::{self, Entry, Journal, OpWire, Position};
use super::known::Known;
use super::log::EventLog;
use super::look::{Seen, compare, see};
use super::marker::Marker;
use super::recover::redo;
use super::scan::{Scan, scan};
use super::{FileStore, Trust, Turn};
use crate::batch::{EffectId, Owed, Version};
use crate::document::{FOREIGN_RUNS, JOURNAL, RUNS};
use crate::hash::Hash;
use crate::record::decode;
use crate::store::{Loaded, StoreError};

/// Opens a folder for writing. Waits for the turn, and gives it back.
pub(super) fn open(folder: &Folder) -> Result<(FileStore, Loaded), StoreError> {
    let fresh = !folder.root().join(JOURNAL).is_dir();
    make_folders(folder.root()).map_err(StoreError::io("make", folder.root()))?;
    let lock = open_lock(folder.root())?;
    lock.lock().map_err(StoreError::io("lock", folder.root()))?;
    let mut disk = Disk::open(folder)?;
    let marker = Marker::open(&disk.journal())?;
    let (state, loaded) = load(&mut disk, &marker, fresh)?;
    let mut store = FileStore {
        disk,
        lock,
        turn: Turn::Ours,
        journal: state.journal,
        marker,
        log: state.log,
        index: state.index,
        known: state.known,
        owed: state.owed,
        version: state.version,
        unindexed: state.unindexed,
        checkpoint: Checkpoint::default(),
        trust: Trust::Good,
    };
    store.end_turn();
    Ok((store, loaded))
}

/// Opens the file whose lock is the turn to write.
pub(super) fn open_lock(root: &Path) -> Result<File, StoreError> {
    let path = root.join(JOURNAL).join("lock");
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(StoreError::io("open", &path))
}

/// Everything that is read when a folder is opened, or read again.
pub(super) struct State {
    pub(super) journal: Journal,
    pub(super) log: EventLog,
    pub(super) index: Index,
    pub(super) known: HashMap<TaskId, Known>,
    pub(super) owed: BTreeMap<EffectId, Owed>,
    pub(super) version: Version,
    pub(super) unindexed: BTreeSet<TaskId>,
}

/// Reads a folder whose turn to write this process has.
pub(super) fn load(
    disk: &mut Disk,
    marker: &Marker,
    fresh: bool,
) -> Result<(State, Loaded), StoreError> {
    disk.clean()?;
    take_over_runs(disk)?;
    let mut log = EventLog::open(disk.root())?;
    let (mut scanned, (index, indexed)) = thread::scope(|scope| {
        let files = scope.spawn(|| scan(disk.root()));
        let index = Index::load(&disk.journal());
        (files.join().unwrap_or_else(|_| Ok(Scan::new())), index)
    });
    let mut journal = Journal::open(&disk.journal())?;
    let progress = marker.read()?;
    let entries = read_journal(disk, &mut journal, indexed.as_ref(), progress.projected)?;
    let mut baseline = Baseline::new(indexed, &log);
    baseline.version = baseline.version.max(entries.base);
    baseline.replay(&entries.list)?;
    let behind: Vec<&Entry<'_>> =
        entries.list.iter().filter(|entry| entry.version > progress.projected.0).collect();
    if let Some(first) = behind.first() {
        let start = entries.list.iter().position(|entry| entry.version == first.version);
        redo(disk, &mut log, &entries.list[start.unwrap_or(0)..])?;
        scanned = scan(disk.root());
    }
    marker.write(baseline.version)?;
    let loaded = baseline.compare(disk, &scanned?, fresh)?;
    let Baseline { known, owed, version, unindexed, .. } = baseline;
    Ok((State { journal, log, index, known, owed, version, unindexed }, loaded))
}

/// Runs that the original AOF left elsewhere are moved to where runs are.
fn take_over_runs(disk: &mut Disk) -> Result<(), StoreError> {
    for name in disk.names(FOREIGN_RUNS)? {
        if TaskId::parse(&name).is_ok() {
            let (from, to) = (format!("{FOREIGN_RUNS}/{name}"), format!("{RUNS}/{name}"));
            if matches!(disk.look(&to)?, super::disk::Look::Nothing) {
                disk.shift(&from, &to)?;
            }
        }
    }
    Ok(())
}

struct Entries {
    list: Vec<Entry<'static>>,
    /// The version before the oldest file of the journal, or 0.
    base: Version,
}

/// Reads the journal from where the index ends, or from its start if the files are further behind.
fn read_journal(
    disk: &Disk,
    journal: &mut Journal,
    indexed: Option<&Indexed>,
    projected: Version,
) -> Result<Entries, StoreError> {
    let folder = disk.journal();
    let numbers = journal::numbers(&folder)?;
    let start = indexed
        .filter(|indexed| {
            indexed.version <= projected && numbers.contains(&indexed.position.number)
        })
        .map(|indexed| indexed.position);
    let start =
        start.unwrap_or(Position { number: numbers.first().copied().unwrap_or(1), offset: 0 });
    let mut entries = Entries { list: vec![], base: Version(0) };
    for number in numbers.into_iter().filter(|number| *number >= start.number) {
        let offset = if number == start.number { start.offset } else { 0 };
        let stretch = journal::read(&folder, number, offset)?;
        entries.base = entries.base.max(stretch.base.unwrap_or_default());
        entries.list.extend(stretch.entries);
        if number == journal.position().number {
            journal.seek(stretch.end);
        }
    }
    journal.cut_torn_tail()?;
    Ok(entries)
}

/// What was known before anybody looked at the files.
struct Baseline {
    /// None if there was no index: then the files are all there is.
    world: Option<World>,
    known: HashMap<TaskId, Known>,
    owed: BTreeMap<EffectId, Owed>,
    version: Version,
    unindexed: BTreeSet<TaskId>,
    last_event: EventId,
}

impl Baseline {
    fn new(indexed: Option<Indexed>, log: &EventLog) -> Self {
        let last = log.chain().last;
        let Some(indexed) = indexed else {
            return Self {
                world: None,
                known: HashMap::new(),
                owed: BTreeMap::new(),
                version: Version(0),
                unindexed: BTreeSet::new(),
                last_event: last,
            };
        };
        let last_event = indexed.last_event.max(last);
        let mut world = World::load(indexed.tasks.into_values(), indexed.last_event);
        if let Some(highest) = &indexed.highest {
            world.note_number(highest);
        }
        Self {
            world: Some(world),
            known: indexed.known,
            owed: indexed.owed,
            version: indexed.version,
            unindexed: BTreeSet::new(),
            last_event,
        }
    }

    /// Goes through the commits the index does not know.
    fn replay(&mut self, entries: &[Entry<'_>]) -> Result<(), StoreError> {
        let from = self.version;
        for entry in entries {
            let new = entry.version > from.0;
            if new || self.world.is_none() {
                note_owed(&mut self.owed, entry)?;
            }
            if !new {
                continue;
            }
            self.version = Version(entry.version);
            for recorded in events(entry)? {
                self.last_event = self.last_event.max(recorded.id);
                if let Some(world) = &mut self.world {
                    world.apply(&recorded);
                }
            }
            if self.world.is_some() {
                note_files(&mut self.known, &mut self.unindexed, entry);
            }
        }
        Ok(())
    }

    /// Compares with the files. Without an index they are believed as they are.
    fn compare(&mut self, disk: &Disk, scan: &Scan, fresh: bool) -> Result<Loaded, StoreError> {
        match self.world.take() {
            Some(world) => {
                let edits = compare(disk, scan, &mut self.known, &world)?;
                Ok(Loaded { world: with_last_event(world, self.last_event), edits, adopted: None })
            }
            None => self.read_all(disk, scan, fresh),
        }
    }

    fn read_all(&mut self, disk: &Disk, scan: &Scan, fresh: bool) -> Result<Loaded, StoreError> {
        let mut tasks = Vec::with_capacity(scan.len());
        let mut unreadable = Vec::new();
        for (id, places) in scan {
            match see(disk, id, places, None)? {
                Seen::Task(task, known) => {
                    self.known.insert(id.clone(), known);
                    tasks.push(*task);
                }
                Seen::Unreadable => unreadable.push(id.clone()),
                Seen::Same(_) | Seen::Nothing => {}
            }
        }
        let adopted = (fresh && !tasks.is_empty()).then_some(tasks.len() as u64);
        let mut world = World::load(tasks, self.last_event);
        unreadable.into_iter().for_each(|id| world.set_unreadable(id));
        Ok(Loaded { world, edits: vec![], adopted })
    }
}

fn with_last_event(world: World, last: EventId) -> World {
    if world.last_event() < last { world.after(last) } else { world }
}

/// Reads the events of a commit.
pub(super) fn events(entry: &Entry<'_>) -> Result<Vec<Recorded>, StoreError> {
    let damaged = |error: crate::wire::BadWire| StoreError::Damaged {
        path: JOURNAL.into(),
        what: format!("commit {} cannot be read back: {error}", entry.version),
    };
    entry.lines.iter().map(|line| decode(line).map_err(damaged)).collect()
}

/// Takes note of what a commit owes and has settled.
pub(super) fn note_owed(
    owed: &mut BTreeMap<EffectId, Owed>,
    entry: &Entry<'_>,
) -> Result<(), StoreError> {
    for wire in &entry.owed {
        let one: Owed = wire.clone().try_into().map_err(|error| StoreError::Damaged {
            path: JOURNAL.into(),
            what: format!("an effect of commit {} cannot be read back: {error}", entry.version),
        })?;
        owed.insert(one.id, one);
    }
    for (event, place) in &entry.settled {
        owed.remove(&EffectId { event: EventId(*event), place: *place });
    }
    Ok(())
}

/// Takes note of the task files a commit wrote.
pub(super) fn note_files(
    known: &mut HashMap<TaskId, Known>,
    unindexed: &mut BTreeSet<TaskId>,
    entry: &Entry<'_>,
) {
    for op in &entry.ops {
        let OpWire::Task { id, to, text, .. } = op else { continue };
        if let (Ok(id), Some(status)) = (TaskId::parse(id), Status::parse(to)) {
            let hash = Some(Hash::of(text.as_bytes()));
            known.insert(id.clone(), Known { status, sig: None, hash });
            unindexed.insert(id);
        }
    }
}
