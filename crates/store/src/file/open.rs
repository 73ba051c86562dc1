//! Opens a folder: the index and the journal say what was known, the files say what is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use adjutant_core::{Event, EventId, Recorded, Status, TaskId, World};

use super::ahead::{self, Ahead};
use super::checkpoint::Checkpoint;
use super::disk::Disk;
use super::folder::{Folder, make_folders};
use super::format_check::check_format;
use super::index::{Index, Indexed};
use super::journal::{self, Entry, Journal, OpWire, Position, is_gone, is_named};
use super::known::{Known, Unsaid};
use super::log::{self, EventLog, events_file};
use super::look::{Seen, compare, see};
use super::marker::{Loss, Marker, Progress};
use super::migration::migrate;
use super::recover::{clean, redo};
use super::scan::{Scan, scan};
use super::{FileStore, Told, Trust, Turn, fault};
use crate::batch::{EffectId, Owed, Version};
use crate::document::{FOREIGN_RUNS, JOURNAL, RUNS, TASKS};
use crate::hash::Hash;
use crate::record::decode;
use crate::store::{Loaded, StoreError};

/// Opens a folder for writing. Waits for the turn, and gives it back.
pub(super) fn open(folder: &Folder) -> Result<(FileStore, Loaded), StoreError> {
    check_format(folder)?;
    open_locked(folder, take_lock(folder.root())?)
}

/// Opens a folder for writing, unless it is somebody else's turn.
pub(super) fn try_open(folder: &Folder) -> Result<Option<(FileStore, Loaded)>, StoreError> {
    check_format(folder)?;
    make_folders(folder.root()).map_err(StoreError::io("make", folder.root()))?;
    let lock = open_lock(folder.root())?;
    match lock.try_lock() {
        Ok(()) if is_lock_of(&lock, folder.root()) => open_locked(folder, lock).map(Some),
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(StoreError::io("lock", folder.root())(error)),
    }
}

fn open_locked(folder: &Folder, lock: File) -> Result<(FileStore, Loaded), StoreError> {
    // Checked again: another process may have migrated the folder before the lock was taken.
    migrate(folder.root())?;
    let mut disk = Disk::open(folder)?;
    let (marker, ahead) = (Marker::open(&disk.journal())?, Ahead::new(&disk.journal()));
    let (state, loaded) = load(&mut disk, &marker)?;
    let is_nothing = loaded.edits.is_empty() && loaded.adopted.is_none();
    let mut store = FileStore {
        disk,
        lock,
        turn: Turn::Ours,
        journal: state.journal,
        ahead,
        marker,
        log: state.log,
        index: state.index,
        known: state.known,
        owed: state.owed,
        version: state.version,
        unindexed: state.unindexed,
        unsaid: state.unsaid,
        doubted: BTreeSet::new(),
        checkpoint: Checkpoint::default(),
        told: if is_nothing { Told::Nothing } else { Told::AtOpening },
        trust: Trust::Good,
    };
    store.end_turn();
    Ok((store, loaded))
}

/// Makes what is missing in a folder, and waits for the turn to write to it.
pub(super) fn take_lock(root: &Path) -> Result<File, StoreError> {
    loop {
        make_folders(root).map_err(StoreError::io("make", root))?;
        let lock = open_lock(root)?;
        lock.lock().map_err(StoreError::io("lock", root))?;
        if is_lock_of(&lock, root) {
            return Ok(lock);
        }
    }
}

/// Opens the file whose lock is the turn to write.
fn open_lock(root: &Path) -> Result<File, StoreError> {
    let path = lock_path(root);
    fault::point();
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(StoreError::io("open", &path))
}

/// Says whether the file that is locked is the one others would lock. A person may have taken the
/// journal away and brought another.
pub(super) fn is_lock_of(lock: &File, root: &Path) -> bool {
    is_named(lock, &lock_path(root))
}

/// Returns where the file lies whose lock is the turn to write.
pub(super) fn lock_path(root: &Path) -> PathBuf {
    root.join(JOURNAL).join("lock")
}

/// Where the index lies.
pub(super) const INDEX: &str = "journal/index";

/// Everything that is read when a folder is opened, or read again.
pub(super) struct State {
    pub(super) journal: Journal,
    pub(super) log: EventLog,
    pub(super) index: Index,
    pub(super) known: HashMap<TaskId, Known>,
    pub(super) owed: BTreeMap<EffectId, Owed>,
    pub(super) version: Version,
    pub(super) unindexed: BTreeSet<TaskId>,
    pub(super) unsaid: Unsaid,
}

/// Reads a folder whose turn to write this process has.
pub(super) fn load(disk: &mut Disk, marker: &Marker) -> Result<(State, Loaded), StoreError> {
    take_over_runs(disk)?;
    let (mut scanned, (mut index, indexed)) = thread::scope(|scope| {
        let files = scope.spawn(|| scan(disk.root()));
        let index = Index::load(&disk.journal());
        // Nothing seen is not nothing there: a panic must not pass for an empty folder.
        (files.join().unwrap_or_else(|panic| resume_unwind(panic)), index)
    });
    let mut journal = Journal::open(&disk.journal())?;
    let mut progress = marker.read()?;
    let mut entries = read_journal(disk, &mut journal, indexed.as_ref(), progress.projected)?;
    let current = indexed.filter(|indexed| indexed.version >= entries.base);
    if current.is_none() {
        // What ends before the journal begins is of no use, and must not be added to.
        disk.remove(INDEX)?;
        index = Index::load(&disk.journal()).0;
    }
    let known_to = current.as_ref().map_or(entries.base, |indexed| indexed.version);
    take_from_ahead(disk, &mut journal, &mut entries, (known_to, progress))?;
    let mut baseline = Baseline::new(current, &entries)?;
    baseline.replay(&entries.list)?;
    if progress.projected > baseline.version {
        marker.forget()?;
        progress = Progress::default();
    }
    let before =
        entries.list.first().map_or(baseline.version.0, |first| first.version.saturating_sub(1));
    if before > progress.synced.0 {
        // What these commits wrote is in the index, and no longer known one by one.
        disk.note_anything();
    }
    note_unsynced(disk, &entries.list, progress.synced);
    let shown = entries.list.iter().take_while(|entry| entry.version <= progress.projected.0);
    let behind = &entries.list[shown.count()..];
    clean(disk, behind)?;
    if !behind.is_empty() {
        // Who died may have died before the journal was synced.
        journal.sync()?;
        redo(disk, behind, progress.loss)?;
        scanned = scan(disk.root());
    }
    marker.write(baseline.version)?;
    let mut log = EventLog::open(disk.root())?;
    let mut loaded = baseline.compare(disk, &scanned?)?;
    // A person may have taken the record back to an earlier day; no number is given out twice.
    log.go_on_after(loaded.world.last_event());
    loaded.world = loaded.world.after(log.chain().last);
    if baseline.version == Version(0) {
        loaded.adopted = Some(loaded.world.tasks().len() as u64).filter(|tasks| *tasks > 0);
    }
    let Baseline { known, owed, version, unindexed, unsaid, .. } = baseline;
    Ok((State { journal, log, index, known, owed, version, unindexed, unsaid }, loaded))
}

/// Makes up for a commit that a power cut took from the end of the journal, and forgets what was
/// written down of it: later nobody could tell what shows it from what a person did since.
fn take_from_ahead(
    disk: &Disk,
    journal: &mut Journal,
    entries: &mut Entries,
    (known_to, progress): (Version, Progress),
) -> Result<(), StoreError> {
    let mut end = entries.list.last().map_or(known_to, |last| known_to.max(Version(last.version)));
    let is_lost = progress.loss == Loss::Unsynced || progress.projected > end;
    if is_lost && let Some(entry) = ahead::shown(disk, end.next(), entries.after(progress.synced))?
    {
        journal.append(&entry)?;
        end = Version(entry.version);
        entries.list.push(entry);
    }
    ahead::forget(&disk.journal(), journal, end)
}

/// Runs that the original AOF left elsewhere are moved to where runs are, for good: the journal
/// knows nothing of it, and could not move them again after a power cut.
fn take_over_runs(disk: &mut Disk) -> Result<(), StoreError> {
    let mut moved = BTreeSet::new();
    for name in disk.names(FOREIGN_RUNS)? {
        if TaskId::parse(&name).is_ok() {
            let (from, to) = (format!("{FOREIGN_RUNS}/{name}"), format!("{RUNS}/{name}"));
            if matches!(disk.look(&to)?, super::disk::Look::Nothing) && disk.shift(&from, &to)? {
                moved.extend([from, to]);
            }
        }
    }
    disk.sync_now(&moved)
}

struct Entries {
    list: Vec<Entry<'static>>,
    /// The version before the first of them, if they are all there are.
    base: Version,
}

impl Entries {
    /// Returns those after a version.
    fn after(&self, version: Version) -> &[Entry<'static>] {
        let first = self.list.partition_point(|entry| entry.version <= version.0);
        &self.list[first..]
    }

    /// Says whether every task was made by one of these commits: they are all there ever were, and
    /// the first neither adopted what lay in the folder nor stands for what was unpacked into it.
    fn tell_all(&self) -> Result<bool, StoreError> {
        let first = self.list.first().filter(|first| first.version == 1);
        let Some(first) = first.filter(|first| !first.lines.is_empty()) else { return Ok(false) };
        let adopts = |told: &Recorded| matches!(told.happened.event, Event::FolderAdopted { .. });
        Ok(!events(first)?.iter().any(adopts))
    }
}

/// Reads the journal from where the index ends, or from its start if the files are further behind.
fn read_journal(
    disk: &Disk,
    journal: &mut Journal,
    indexed: Option<&Indexed>,
    projected: Version,
) -> Result<Entries, StoreError> {
    let folder = disk.journal();
    let current = indexed.filter(|indexed| indexed.version <= projected);
    if let Some((next, position)) = current.map(|now| (now.version.next(), now.position))
        && let Some(entries) = read_from(&folder, journal, Some(position))?
        && entries.list.first().is_none_or(|first| first.version == next.0)
    {
        return Ok(entries);
    }
    loop {
        // A checkpoint of another process may be removing files it has made superfluous.
        if let Some(entries) = read_from(&folder, journal, None)? {
            return Ok(entries);
        }
    }
}

/// Reads the journal from a position on, or from its start. Returns none if a file is not there,
/// or not as long as it should be.
fn read_from(
    folder: &Path,
    journal: &mut Journal,
    from: Option<Position>,
) -> Result<Option<Entries>, StoreError> {
    let numbers = journal::numbers(folder)?;
    let first = Position { number: numbers.first().copied().unwrap_or(1), offset: 0 };
    let start = from.unwrap_or(first);
    if !numbers.contains(&start.number) {
        return Ok(None);
    }
    let mut entries = Entries { list: vec![], base: Version(0) };
    for number in numbers.into_iter().filter(|number| *number >= start.number) {
        let offset = if number == start.number { start.offset } else { 0 };
        let stretch = match journal::read(folder, number, offset) {
            Ok(stretch) if stretch.is_short => return Ok(None),
            Err(error) if is_gone(&error) => return Ok(None),
            other => other?,
        };
        if number == journal.position().number {
            journal.go_on_after(&stretch)?;
        }
        if number == start.number {
            entries.base = stretch.base.unwrap_or_default();
        }
        entries.list.extend(stretch.entries);
    }
    Ok(Some(entries))
}

/// What was known before anybody looked at the files.
struct Baseline {
    /// None if neither an index nor the journal tells: then the files are all there is.
    world: Option<World>,
    known: HashMap<TaskId, Known>,
    owed: BTreeMap<EffectId, Owed>,
    version: Version,
    unindexed: BTreeSet<TaskId>,
    unsaid: Unsaid,
}

impl Baseline {
    fn new(indexed: Option<Indexed>, entries: &Entries) -> Result<Self, StoreError> {
        let (unindexed, unsaid) = (BTreeSet::new(), Unsaid::new());
        let Some(indexed) = indexed else {
            let (known, owed) = (HashMap::new(), BTreeMap::new());
            let world = entries.tell_all()?.then(World::default);
            return Ok(Self { world, known, owed, version: entries.base, unindexed, unsaid });
        };
        let mut world = World::load(indexed.tasks.into_values(), indexed.last_event);
        indexed.spent.iter().for_each(|id| world.note_number(id));
        let Indexed { known, owed, version, .. } = indexed;
        Ok(Self { world: Some(world), known, owed, version, unindexed, unsaid })
    }

    /// Goes through the commits the index does not know.
    fn replay(&mut self, entries: &[Entry<'_>]) -> Result<(), StoreError> {
        let from = self.version;
        for entry in entries.iter().filter(|entry| entry.version > from.0) {
            self.version = Version(entry.version);
            note_owed(&mut self.owed, entry)?;
            if let Some(world) = &mut self.world {
                let events = events(entry)?;
                for recorded in &events {
                    world.apply(recorded);
                }
                note_files(&mut self.known, &mut self.unindexed, entry, &events);
            }
        }
        self.doubt_moved();
        Ok(())
    }

    /// A commit of others changes a file where a person has put it: that they moved it is still to
    /// be told.
    fn doubt_moved(&mut self) {
        let Some(world) = &self.world else { return };
        for task in self.unindexed.iter().filter_map(|id| world.task(id)) {
            if let Some(known) =
                self.known.get_mut(&task.id).filter(|it| it.status != task.status())
            {
                (known.status, known.sig) = (task.status(), None);
            }
        }
    }

    /// Compares with the files. Without an index they are believed as they are.
    fn compare(&mut self, disk: &Disk, scan: &Scan) -> Result<Loaded, StoreError> {
        match self.world.take() {
            Some(world) => {
                let edits = compare(disk, scan, &mut self.known, &mut self.unsaid, &world)?;
                Ok(Loaded { world, edits, adopted: None })
            }
            None => self.read_all(disk, scan),
        }
    }

    fn read_all(&mut self, disk: &Disk, scan: &Scan) -> Result<Loaded, StoreError> {
        let mut tasks = Vec::with_capacity(scan.len());
        let mut unreadable = Vec::new();
        for (id, places) in scan {
            match see(disk, id, places, None)? {
                Seen::Task(task, known) => {
                    // Its own id, not the one of the look, which is forgotten.
                    self.known.insert(task.id.clone(), known);
                    tasks.push(task);
                }
                Seen::Unreadable => unreadable.push(id.clone()),
                Seen::Same(_) | Seen::Nothing => {}
            }
        }
        let mut world = World::load(tasks, EventId::default());
        for id in unreadable {
            world.set_unreadable(id);
        }
        // A number is never given out twice, even if its task has been taken away since.
        for id in log::created(disk.root())? {
            world.note_number(&id);
        }
        Ok(Loaded { world, edits: vec![], adopted: None })
    }
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

/// Takes note of the task files a commit wrote, or found gone.
pub(super) fn note_files(
    known: &mut HashMap<TaskId, Known>,
    unindexed: &mut BTreeSet<TaskId>,
    entry: &Entry<'_>,
    events: &[Recorded],
) {
    let gone = |recorded: &&Recorded| matches!(recorded.happened.event, Event::TaskRemoved);
    for id in events.iter().filter(gone).filter_map(|recorded| recorded.happened.task.clone()) {
        known.remove(&id);
        unindexed.insert(id);
    }
    for op in &entry.ops {
        let OpWire::Task { id, to, text, .. } = op else { continue };
        if let (Ok(id), Some(status)) = (TaskId::parse(id), Status::parse(to)) {
            let hash = Some(Hash::of(text.as_bytes()));
            known.insert(id.clone(), Known { status, sig: None, hash });
            unindexed.insert(id);
        }
    }
}

/// Takes note of what commits of others wrote and may not have synced.
pub(super) fn note_unsynced(disk: &mut Disk, entries: &[Entry<'_>], synced: Version) {
    let unsynced = entries.iter().filter(|entry| entry.version > synced.0);
    for entry in unsynced {
        disk.note(&events_file(&entry.day));
        for op in &entry.ops {
            match op {
                OpWire::Task { id, from, to, .. } => note_task(disk, id, from.as_deref(), to),
                OpWire::Put { path, .. } => disk.note(path),
                OpWire::Move { from, to, .. } => disk.note_move(from, to),
            }
        }
    }
}

fn note_task(disk: &mut Disk, id: &str, from: Option<&str>, to: &str) {
    let file = |status: &str| format!("{TASKS}/{status}/{id}.md");
    disk.note(&file(to));
    if let Some(from) = from.filter(|from| *from != to) {
        disk.note(&file(from));
        disk.note_move(&format!("{TASKS}/{from}/{id}"), &format!("{TASKS}/{to}/{id}"));
    }
}
