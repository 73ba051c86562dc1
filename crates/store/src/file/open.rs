//! Opens a folder: loads the last known state from index and journal, then compares the files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use adjutant_core::World;
use adjutant_model::run::RunRef;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::{Actor, AgentId, Event, EventId, RecordedEvent, Status, Task, TaskId, Time};
use parking_lot::Mutex;

use super::checkpoint::BackgroundCheckpoint;
use super::disk::FolderDisk;
use super::edit_detection::{FileObservation, compare_files, observe};
use super::event_log::{self, EventLog, LoggedTasks, events_file};
use super::fingerprint::{FileFingerprint, PendingEdits};
use super::folder::{DataFolder, make_folders};
use super::folder_handle::FolderHandle;
use super::format_check::check_format;
use super::index::{IndexContent, TaskIndex};
use super::journal::{
    self, CommitJournal, JournalEntry, JournalOp, JournalPosition, is_not_found, is_same_file,
};
use super::migration::migrate;
use super::prewritten_commit::{self, PrewrittenCommit};
use super::progress_marker::{DataLoss, FileProgress, ProgressMarker};
use super::recover::{clean_temporary, redo};
use super::scan::{TaskScan, scan_tasks};
use super::{FileStore, ReportedEdits, StateTrust, WriteTurn, fault};
use crate::batch::{EffectId, PendingEffect, StoreVersion};
use crate::document_paths::{AOF_RUNS, JOURNAL, RUNS, TASKS, run_folder};
use crate::event_log::{BadLine, decode};
use crate::hash::ShortHash;
use crate::store::{LoadedStore, StoreError};

/// Opens a folder for writing. Waits for the write lock, and releases it again.
pub(super) fn open(folder: &DataFolder) -> Result<(FileStore, LoadedStore), StoreError> {
    check_format(folder)?;
    open_locked(folder, take_lock(folder.root())?)
}

/// Opens a folder for writing; `None` if another process holds the write lock.
pub(super) fn try_open(
    folder: &DataFolder,
) -> Result<Option<(FileStore, LoadedStore)>, StoreError> {
    check_format(folder)?;
    complete_folder(folder.root())?;
    let lock = open_lock(folder.root())?;
    match lock.try_lock() {
        Ok(()) if is_lock_of(&lock, folder.root()) => open_locked(folder, lock).map(Some),
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(StoreError::io("lock", folder.root())(error)),
    }
}

fn open_locked(folder: &DataFolder, lock: File) -> Result<(FileStore, LoadedStore), StoreError> {
    // Checked again: another process may have migrated the folder before the lock was taken.
    migrate(folder.root())?;
    let mut disk = FolderDisk::open(folder)?;
    let handle = FolderHandle::open(folder.root())?;
    let (marker, ahead) =
        (ProgressMarker::open(&disk.journal())?, PrewrittenCommit::new(&disk.journal()));
    let (state, loaded) = load(&mut disk, &marker)?;
    let is_nothing = loaded.edits.is_empty() && loaded.adopted_tasks.is_none();
    let mut store = FileStore {
        disk,
        folder: handle,
        lock,
        turn: WriteTurn::Ours,
        journal: state.journal,
        prewritten: ahead,
        marker,
        log: state.log,
        index: state.index,
        fingerprints: state.fingerprints,
        pending_effects: state.pending_effects,
        version: state.version,
        unindexed: state.unindexed,
        pending_edits: state.pending_edits,
        reread: BTreeSet::new(),
        read_faults: Mutex::default(),
        checkpoint: BackgroundCheckpoint::default(),
        reported: if is_nothing { ReportedEdits::Nothing } else { ReportedEdits::AtOpen },
        trust: StateTrust::Good,
    };
    store.end_turn();
    Ok((store, loaded))
}

/// Creates what is missing in the folder, and waits for the write lock.
pub(super) fn take_lock(root: &Path) -> Result<File, StoreError> {
    loop {
        complete_folder(root)?;
        let lock = open_lock(root)?;
        lock.lock().map_err(StoreError::io("lock", root))?;
        if is_lock_of(&lock, root) {
            return Ok(lock);
        }
    }
}

/// Creates the folders that are missing in a data folder.
fn complete_folder(root: &Path) -> Result<(), StoreError> {
    make_folders(root).map_err(|error| match root.try_exists() {
        Ok(false) => StoreError::FolderGone(root.to_owned()),
        Ok(true) | Err(_) => StoreError::io("create", root)(error),
    })
}

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

/// Returns true if the locked file is still the one that others would lock. A person may have
/// replaced the journal folder.
pub(super) fn is_lock_of(lock: &File, root: &Path) -> bool {
    is_same_file(lock, &lock_path(root))
}

/// Returns the path of the file that is locked for writing.
pub(super) fn lock_path(root: &Path) -> PathBuf {
    root.join(JOURNAL).join("lock")
}

pub(super) const INDEX: &str = "journal/index";

/// Everything that is read when a folder is opened or reloaded.
pub(super) struct LoadedState {
    pub(super) journal: CommitJournal,
    pub(super) log: EventLog,
    pub(super) index: TaskIndex,
    pub(super) fingerprints: HashMap<TaskId, FileFingerprint>,
    pub(super) pending_effects: BTreeMap<EffectId, PendingEffect>,
    pub(super) version: StoreVersion,
    pub(super) unindexed: BTreeSet<TaskId>,
    pub(super) pending_edits: PendingEdits,
}

/// Loads a folder. The caller holds the write lock.
pub(super) fn load(
    disk: &mut FolderDisk,
    marker: &ProgressMarker,
) -> Result<(LoadedState, LoadedStore), StoreError> {
    import_aof_runs(disk)?;
    let (mut scanned, (mut index, indexed)) = thread::scope(|scope| {
        let files = scope.spawn(|| scan_tasks(disk.root()));
        let index = TaskIndex::load(&disk.journal());
        // A panic of the scan must not look like an empty folder.
        (files.join().unwrap_or_else(|panic| resume_unwind(panic)), index)
    });
    let mut journal = CommitJournal::open(&disk.journal())?;
    let mut progress = marker.read()?;
    let mut entries = read_journal(disk, &mut journal, indexed.as_ref(), progress.projected)?;
    let current = indexed.filter(|indexed| indexed.version >= entries.base);
    if current.is_none() {
        // An index that ends before the journal begins is useless, and must not be appended to.
        disk.remove(INDEX)?;
        index = TaskIndex::load(&disk.journal()).0;
    }
    let known_to = current.as_ref().map_or(entries.base, |indexed| indexed.version);
    restore_prewritten(disk, &mut journal, &mut entries, (known_to, progress))?;
    let mut baseline = BaselineState::new(current, &entries)?;
    baseline.replay(&entries.list)?;
    if progress.projected > baseline.version {
        marker.reset()?;
        progress = FileProgress::default();
    }
    let before =
        entries.list.first().map_or(baseline.version.0, |first| first.version.saturating_sub(1));
    if before > progress.synced.0 {
        // These commits are only in the index, so the paths they wrote are unknown.
        disk.note_unknown_writes();
    }
    note_unsynced(disk, &entries.list, progress.synced);
    let shown = entries.list.iter().take_while(|entry| entry.version <= progress.projected.0);
    let behind = &entries.list[shown.count()..];
    clean_temporary(disk, behind)?;
    if !behind.is_empty() {
        // A process that died may have died before it synced the journal.
        journal.sync()?;
        redo(disk, behind, progress.loss)?;
        scanned = scan_tasks(disk.root());
    }
    disk.refresh_held()?;
    if !disk.held.is_empty() {
        disk.retry_held()?;
        scanned = scan_tasks(disk.root());
    }
    marker.write(baseline.version)?;
    let log = EventLog::open(disk.root())?;
    let mut loaded = baseline.compare(disk, &scanned?)?;
    // Events after an older log would hide that some are missing.
    let (end, known) = (log.chain().last, loaded.world.last_event());
    if end < known {
        return Err(StoreError::LogBehind { log: end, store: known });
    }
    loaded.world = loaded.world.with_last_event(log.chain().last);
    if baseline.version == StoreVersion(0) {
        loaded.adopted_tasks = Some(loaded.world.tasks().len() as u64).filter(|tasks| *tasks > 0);
    }
    let BaselineState { fingerprints, pending_effects, version, unindexed, pending_edits, .. } =
        baseline;
    Ok((
        LoadedState {
            journal,
            log,
            index,
            fingerprints,
            pending_effects,
            version,
            unindexed,
            pending_edits,
        },
        loaded,
    ))
}

/// Restores a commit that a power cut took from the end of the journal, then empties the prewritten
/// file: later, its traces in the files could not be told from a person's edits.
fn restore_prewritten(
    disk: &FolderDisk,
    journal: &mut CommitJournal,
    entries: &mut JournalEntries,
    (known_to, progress): (StoreVersion, FileProgress),
) -> Result<(), StoreError> {
    let mut end =
        entries.list.last().map_or(known_to, |last| known_to.max(StoreVersion(last.version)));
    let is_lost = progress.loss == DataLoss::Unsynced || progress.projected > end;
    if is_lost
        && let Some(entry) =
            prewritten_commit::recover_prewritten(disk, end.next(), entries.after(progress.synced))?
    {
        journal.append(&entry)?;
        end = StoreVersion(entry.version);
        entries.list.push(entry);
    }
    prewritten_commit::clear_prewritten(&disk.journal(), journal, end)
}

/// Moves runs that the original AOF left elsewhere to `runs`. The moves are synced, because the
/// journal does not record them and could not repeat them after a power cut.
fn import_aof_runs(disk: &mut FolderDisk) -> Result<(), StoreError> {
    let mut moved = BTreeSet::new();
    for name in disk.names(AOF_RUNS)? {
        if TaskId::parse(&name).is_ok() {
            let (from, to) = (format!("{AOF_RUNS}/{name}"), format!("{RUNS}/{name}"));
            if matches!(disk.path_state(&to)?, super::disk::PathState::Missing)
                && disk.move_path(&from, &to)?
            {
                moved.extend([from, to]);
            }
        }
    }
    disk.sync_now(&moved)
}

struct JournalEntries {
    list: Vec<JournalEntry<'static>>,
    /// The version before the first entry, if the journal was read from its start.
    base: StoreVersion,
}

impl JournalEntries {
    /// Returns the entries after a version.
    fn after(&self, version: StoreVersion) -> &[JournalEntry<'static>] {
        let first = self.list.partition_point(|entry| entry.version <= version.0);
        &self.list[first..]
    }

    /// Returns true if these commits created every task: they reach back to version 1, and the
    /// first one neither adopted an existing folder nor stands for an unpacked archive.
    fn is_complete_history(&self) -> Result<bool, StoreError> {
        let first = self.list.first().filter(|first| first.version == 1);
        let Some(first) = first.filter(|first| !first.lines.is_empty()) else { return Ok(false) };
        let adopts = |recorded: &RecordedEvent| {
            matches!(recorded.new_event.event, Event::FolderAdopted { .. })
        };
        Ok(!decode_events(first)?.iter().any(adopts))
    }
}

/// Reads the journal from the end of the index, or from its start if the files are further behind.
fn read_journal(
    disk: &FolderDisk,
    journal: &mut CommitJournal,
    indexed: Option<&IndexContent>,
    projected: StoreVersion,
) -> Result<JournalEntries, StoreError> {
    let folder = disk.journal();
    let current = indexed.filter(|indexed| indexed.version <= projected);
    if let Some((next, position)) = current.map(|now| (now.version.next(), now.position))
        && let Some(entries) = read_from(&folder, journal, Some(position))?
        && entries.list.first().is_none_or(|first| first.version == next.0)
    {
        return Ok(entries);
    }
    loop {
        // A checkpoint of another process may be removing files that are no longer needed.
        if let Some(entries) = read_from(&folder, journal, None)? {
            return Ok(entries);
        }
    }
}

/// Reads the journal from a position, or from its start. Returns `None` if a file is missing or
/// shorter than expected.
fn read_from(
    folder: &Path,
    journal: &mut CommitJournal,
    from: Option<JournalPosition>,
) -> Result<Option<JournalEntries>, StoreError> {
    let numbers = journal::numbers(folder)?;
    let first = JournalPosition { number: numbers.first().copied().unwrap_or(1), offset: 0 };
    let start = from.unwrap_or(first);
    if !numbers.contains(&start.number) {
        return Ok(None);
    }
    let mut entries = JournalEntries { list: vec![], base: StoreVersion(0) };
    for number in numbers.into_iter().filter(|number| *number >= start.number) {
        let offset = if number == start.number { start.offset } else { 0 };
        let stretch = match journal::read(folder, number, offset) {
            Ok(stretch) if stretch.is_short => return Ok(None),
            Err(error) if is_not_found(&error) => return Ok(None),
            other => other?,
        };
        if number == journal.position().number {
            journal.continue_after(&stretch)?;
        }
        if number == start.number {
            entries.base = stretch.base.unwrap_or_default();
        }
        entries.list.extend(stretch.entries);
    }
    Ok(Some(entries))
}

/// The state that index and journal describe, before the files are looked at.
struct BaselineState {
    /// `None` if neither index nor journal can tell: then the files are the only source.
    world: Option<World>,
    fingerprints: HashMap<TaskId, FileFingerprint>,
    pending_effects: BTreeMap<EffectId, PendingEffect>,
    version: StoreVersion,
    unindexed: BTreeSet<TaskId>,
    pending_edits: PendingEdits,
}

impl BaselineState {
    fn new(indexed: Option<IndexContent>, entries: &JournalEntries) -> Result<Self, StoreError> {
        let (unindexed, pending_edits) = (BTreeSet::new(), PendingEdits::new());
        let Some(indexed) = indexed else {
            let world = entries.is_complete_history()?.then(World::default);
            return Ok(Self {
                world,
                fingerprints: HashMap::new(),
                pending_effects: BTreeMap::new(),
                version: entries.base,
                unindexed,
                pending_edits,
            });
        };
        let mut world = World::load(indexed.tasks.into_values(), indexed.last_event);
        indexed.used_ids.iter().for_each(|id| world.note_number(id));
        indexed.retired.into_iter().for_each(|task| world.retire_task(task.into()));
        let IndexContent { fingerprints, pending_effects, version, .. } = indexed;
        Ok(Self {
            world: Some(world),
            fingerprints,
            pending_effects,
            version,
            unindexed,
            pending_edits,
        })
    }

    /// Applies the commits that the index does not have.
    fn replay(&mut self, entries: &[JournalEntry<'_>]) -> Result<(), StoreError> {
        let from = self.version;
        for entry in entries.iter().filter(|entry| entry.version > from.0) {
            self.version = StoreVersion(entry.version);
            note_pending_effects(&mut self.pending_effects, entry);
            if let Some(world) = &mut self.world {
                let events = decode_events(entry)?;
                for recorded in &events {
                    world.apply(recorded);
                }
                note_files(&mut self.fingerprints, &mut self.unindexed, entry, &events);
            }
        }
        self.mark_moved();
        Ok(())
    }

    /// A received commit changes a file in the folder to which a person moved it. Sets these tasks
    /// up so that the comparison with the files reports the move.
    fn mark_moved(&mut self) {
        let Some(world) = &self.world else { return };
        for task in self.unindexed.iter().filter_map(|id| world.task(id)) {
            if let Some(known) =
                self.fingerprints.get_mut(&task.id).filter(|it| it.status != task.status())
            {
                (known.status, known.sig) = (task.status(), None);
            }
        }
    }

    /// Compares with the files. Without a known world, the files are taken as they are.
    fn compare(&mut self, disk: &FolderDisk, scan: &TaskScan) -> Result<LoadedStore, StoreError> {
        match self.world.take() {
            Some(world) => {
                let edits = compare_files(
                    disk,
                    scan,
                    &mut self.fingerprints,
                    &mut self.pending_edits,
                    &world,
                )?;
                Ok(LoadedStore { world, edits, adopted_tasks: None })
            }
            None => self.read_all(disk, scan),
        }
    }

    fn read_all(&mut self, disk: &FolderDisk, scan: &TaskScan) -> Result<LoadedStore, StoreError> {
        let mut logged = event_log::logged_tasks(disk.root())?;
        let mut tasks = Vec::with_capacity(scan.len());
        let mut unreadable = Vec::new();
        for (id, places) in scan {
            match observe(disk, id, places, None)? {
                FileObservation::Task(mut task, known) => {
                    keep_logged_consent(Arc::make_mut(&mut task), &mut logged);
                    keep_logged_run(disk, Arc::make_mut(&mut task), &mut logged);
                    // Shares the id's memory with the task; the scan's id would keep a
                    // second allocation alive.
                    self.fingerprints.insert(task.id.clone(), known);
                    tasks.push(task);
                }
                FileObservation::Unreadable => unreadable.push(id.clone()),
                FileObservation::Unchanged(_) | FileObservation::Missing => {}
            }
        }
        let mut world = World::load(tasks, EventId::default());
        for id in unreadable {
            world.set_unreadable(id);
        }
        // An id is never reused, even if its task is gone.
        for id in &logged.created {
            world.note_number(id);
        }
        for (id, run) in logged.last_runs {
            let mut gone = Task::new(id, "", &Actor::System, Time::from_millis(0));
            gone.last_run = Some(run);
            world.retire_task(gone.into());
        }
        Ok(LoadedStore { world, edits: vec![], adopted_tasks: None })
    }
}

/// Replaces what a file says about a person's consent by what the event log says.
fn keep_logged_consent(task: &mut Task, logged: &mut LoggedTasks) {
    task.history.accepted_checks = logged.accepted_checks.remove(&task.id);
    let allowed = logged.allowed_files.remove(&task.id).unwrap_or_default();
    task.history.change_work(|work| work.allowed = allowed);
}

/// Continues attempts and fences from the largest value in file, event log and folders of attempts.
fn keep_logged_run(disk: &FolderDisk, task: &mut Task, logged: &mut LoggedTasks) {
    if let Some(run) = logged.last_runs.remove(&task.id)
        && run.fence >= task.next_fence()
    {
        task.last_run = Some(run);
    }
    let folders = disk.names(&format!("{}/attempts", run_folder(&task.id))).unwrap_or_default();
    let last = folders.iter().filter_map(|name| name.parse::<u32>().ok()).max().unwrap_or(0);
    if last < task.next_attempt() {
        return;
    }
    if let Some(run) = &mut task.last_run {
        run.attempt = last;
    } else {
        let agent = task.routing.agent.clone().map_or_else(|| AgentId::parse("unknown"), Ok);
        let fence = task.next_fence().max(u64::from(last));
        task.last_run = agent.ok().map(|agent| RunRef {
            agent,
            attempt: last,
            fence,
            nonce: Some(RunNonce::REVOKED),
        });
    }
}

/// Decodes the events of a commit.
pub(super) fn decode_events(entry: &JournalEntry<'_>) -> Result<Vec<RecordedEvent>, StoreError> {
    let damaged = |error: BadLine| StoreError::Damaged {
        path: JOURNAL.into(),
        what: format!("commit {} cannot be read back: {error}", entry.version),
    };
    entry.lines.iter().map(|line| decode(line).map_err(damaged)).collect()
}

/// Adds the effects of a commit, and removes those that it settled.
pub(super) fn note_pending_effects(
    effects: &mut BTreeMap<EffectId, PendingEffect>,
    entry: &JournalEntry<'_>,
) {
    effects.extend(entry.pending_effects.iter().map(|one| (one.id, one.clone())));
    for (event, place) in &entry.settled {
        effects.remove(&EffectId { event: EventId(*event), place: *place });
    }
}

/// Updates the known state of the task files that a commit wrote or found gone.
pub(super) fn note_files(
    known: &mut HashMap<TaskId, FileFingerprint>,
    unindexed: &mut BTreeSet<TaskId>,
    entry: &JournalEntry<'_>,
    events: &[RecordedEvent],
) {
    let gone =
        |recorded: &&RecordedEvent| matches!(recorded.new_event.event, Event::TaskRemoved {});
    for id in events.iter().filter(gone).filter_map(|recorded| recorded.new_event.task.clone()) {
        known.remove(&id);
        unindexed.insert(id);
    }
    for op in &entry.ops {
        let JournalOp::Task { id, to, text, .. } = op else { continue };
        if let (Ok(id), Some(status)) = (TaskId::parse(id), Status::parse(to)) {
            let hash = Some(ShortHash::digest(text.as_bytes()));
            known.insert(id.clone(), FileFingerprint { status, sig: None, hash });
            unindexed.insert(id);
        }
    }
}

/// Records what commits of other processes wrote and may not have synced.
pub(super) fn note_unsynced(
    disk: &mut FolderDisk,
    entries: &[JournalEntry<'_>],
    synced: StoreVersion,
) {
    let unsynced = entries.iter().filter(|entry| entry.version > synced.0);
    for entry in unsynced {
        disk.note_written(&events_file(&entry.day));
        for op in &entry.ops {
            match op {
                JournalOp::Task { id, from, to, .. } => note_task(disk, id, from.as_deref(), to),
                JournalOp::Put { path, .. } => disk.note_written(path),
                JournalOp::Move { from, to, .. } => disk.note_move(from, to),
            }
        }
    }
}

fn note_task(disk: &mut FolderDisk, id: &str, from: Option<&str>, to: &str) {
    let file = |status: &str| format!("{TASKS}/{status}/{id}.md");
    disk.note_written(&file(to));
    if let Some(from) = from.filter(|from| *from != to) {
        disk.note_written(&file(from));
        disk.note_move(&format!("{TASKS}/{from}/{id}"), &format!("{TASKS}/{to}/{id}"));
    }
}
