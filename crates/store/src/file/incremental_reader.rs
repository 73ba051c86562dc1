//! An incremental reader: it keeps a world and reads again only the tasks that changed.
//!
//! It takes no lock and writes nothing. The journal tells what was committed, and the kernel tells
//! which files were touched. If either loses track, everything is read again.

use adjutant_core::World;
use adjutant_model::TaskId;

use super::disk::FolderDisk;
use super::edit_detection::FileObservation;
use super::event_log::EventLog;
use super::folder::DataFolder;
use super::format_check::check_format;
use super::pending_commits::PendingCommits;
use super::progress_marker::ProgressMarker;
use super::reader::{JournalFollower, RECHECKS_MAX, observe_task};
use super::system::TaskWatch;
use crate::batch::StoreVersion;
use crate::store::StoreError;

pub struct IncrementalReader {
    folder: DataFolder,
    /// `None` if everything has to be read again.
    cached: Option<CachedWorld>,
}

struct CachedWorld {
    sources: ChangeSources,
    world: World,
}

/// The sources that report changes from a moment on.
struct ChangeSources {
    watch: TaskWatch,
    journal: JournalFollower,
    underway: PendingCommits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CatchUp {
    /// The world includes every change.
    Complete,
    /// Too much changed: something may be missing.
    Overflowed,
}

impl IncrementalReader {
    /// Nothing is read until the first call of [`Self::with_current_world`].
    pub fn new(folder: &DataFolder) -> Self {
        Self { folder: folder.clone(), cached: None }
    }

    /// Calls `f` with the world including every commit and edit made before this call. `reload`
    /// reads everything: on the first call, and when change tracking has lost track.
    pub fn with_current_world<T, E: From<StoreError>>(
        &mut self,
        reload: impl FnOnce() -> Result<World, E>,
        f: impl FnOnce(&World) -> Result<T, E>,
    ) -> Result<T, E> {
        check_format(&self.folder)?;
        let mut disk = FolderDisk::open(&self.folder)?;
        disk.refresh_held()?;
        // Put back only when complete: a failure must not leave a half-updated world.
        if let Some(mut cached) = self.cached.take()
            && matches!(cached.catch_up(&disk), Ok(CatchUp::Complete))
        {
            return f(&self.cached.insert(cached).world);
        }
        // Tracking begins before the reload, so that no change falls between the two.
        let sources = ChangeSources::start(&disk)?;
        let world = reload()?;
        let Some(sources) = sources else { return f(&world) };
        let mut cached = CachedWorld { sources, world };
        match cached.catch_up(&disk)? {
            CatchUp::Complete => f(&self.cached.insert(cached).world),
            CatchUp::Overflowed => f(&cached.world),
        }
    }
}

impl ChangeSources {
    /// Starts change tracking; `None` if the system has none.
    fn start(disk: &FolderDisk) -> Result<Option<Self>, StoreError> {
        let Some(watch) = TaskWatch::start(disk.root()) else { return Ok(None) };
        let projected = projected_version(disk);
        let journal = JournalFollower::after(disk, projected)?;
        Ok(Some(Self { watch, journal, underway: PendingCommits::after(projected) }))
    }
}

impl CachedWorld {
    /// Reads changed tasks again until nothing changes any more.
    fn catch_up(&mut self, disk: &FolderDisk) -> Result<CatchUp, StoreError> {
        let ChangeSources { watch, journal, underway } = &mut self.sources;
        underway.drop_projected(projected_version(disk));
        // While tasks are on hold, their files are not enough, and everything is read again.
        if !disk.held.is_empty() || !self.world.file_faults().is_empty() {
            return Ok(CatchUp::Overflowed);
        }
        for _ in 0..RECHECKS_MAX {
            // Journal first: a commit is in the journal before it touches any file.
            let Some(entries) = journal.next(disk)? else { return Ok(CatchUp::Overflowed) };
            let Some(mut changed) = watch.touched_tasks(disk.root()) else {
                return Ok(CatchUp::Overflowed);
            };
            changed.extend(underway.add(&entries));
            if changed.is_empty() && entries.is_empty() {
                return Ok(CatchUp::Complete);
            }
            for id in changed {
                let observed = observe_task(disk, underway, &id)?;
                apply_observation(&mut self.world, id, observed);
            }
            let last = EventLog::open(disk.root())?.chain().last.max(self.world.last_event());
            self.world = std::mem::take(&mut self.world).with_last_event(last);
        }
        Ok(CatchUp::Overflowed)
    }
}

/// Returns the last commit that the files show. An unreadable marker counts as version 0.
fn projected_version(disk: &FolderDisk) -> StoreVersion {
    ProgressMarker::peek(&disk.journal()).unwrap_or_default().projected
}

fn apply_observation(world: &mut World, id: TaskId, observed: FileObservation) {
    match observed {
        FileObservation::Task(task, _) => world.set_task_on_disk(task),
        FileObservation::Unreadable => world.set_unreadable(id),
        FileObservation::Missing => world.set_missing_on_disk(&id),
        FileObservation::Unchanged(_) => {}
    }
}
