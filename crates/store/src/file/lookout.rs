//! A reader that stays: it looks again at what changed since it last looked, and at nothing else.
//!
//! It takes no lock and writes nothing. The journal says what was committed, the system says which
//! files somebody touched; where either cannot tell any more, everything is read anew.

use adjutant_core::{TaskId, World};

use super::disk::Disk;
use super::folder::Folder;
use super::format_check::check_format;
use super::log::EventLog;
use super::look::Seen;
use super::marker::Marker;
use super::reader::{Follower, LOOKS_MAX, look_for};
use super::system::Watch;
use super::underway::Underway;
use crate::batch::Version;
use crate::store::StoreError;

/// A folder that is looked at again and again.
pub struct Lookout {
    folder: Folder,
    /// None if everything is to be read anew.
    kept: Option<Kept>,
}

/// What was seen, and what tells what changed since.
struct Kept {
    sight: Sight,
    world: World,
}

/// What tells of changes from a moment on.
struct Sight {
    watch: Watch,
    journal: Follower,
    underway: Underway,
}

/// How catching up went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caught {
    /// Everything that had happened is in it.
    Up,
    /// Too much has happened: something may be missing.
    Outrun,
}

impl Lookout {
    /// Stands before a folder. Nothing is read yet.
    pub fn new(folder: &Folder) -> Self {
        Self { folder: folder.clone(), kept: None }
    }

    /// Looks at every task as it is now: whatever was answered or written before is seen. `read`
    /// reads all of them; it is asked the first time, and when what changed cannot be told.
    pub fn look<T, E: From<StoreError>>(
        &mut self,
        read: impl FnOnce() -> Result<World, E>,
        look: impl FnOnce(&World) -> Result<T, E>,
    ) -> Result<T, E> {
        check_format(&self.folder)?;
        let disk = Disk::open(&self.folder)?;
        // Put back when it is whole: what fails on the way leaves nothing half done to be shown.
        if let Some(mut kept) = self.kept.take()
            && matches!(kept.catch_up(&disk), Ok(Caught::Up))
        {
            return look(&self.kept.insert(kept).world);
        }
        // From before the reading, so that nothing falls between the two.
        let sight = Sight::begin(&disk)?;
        let world = read()?;
        let Some(sight) = sight else { return look(&world) };
        let mut kept = Kept { sight, world };
        match kept.catch_up(&disk)? {
            Caught::Up => look(&self.kept.insert(kept).world),
            Caught::Outrun => look(&kept.world),
        }
    }
}

impl Sight {
    /// Begins to tell of changes; none if the system cannot.
    fn begin(disk: &Disk) -> Result<Option<Self>, StoreError> {
        let Some(watch) = Watch::start(disk.root()) else { return Ok(None) };
        let projected = projected(disk);
        let journal = Follower::after(disk, projected)?;
        Ok(Some(Self { watch, journal, underway: Underway::after(projected) }))
    }
}

impl Kept {
    /// Looks again at what changed, until nothing does.
    fn catch_up(&mut self, disk: &Disk) -> Result<Caught, StoreError> {
        let Sight { watch, journal, underway } = &mut self.sight;
        underway.go_on_after(projected(disk));
        for _ in 0..LOOKS_MAX {
            // The journal first: what is committed is in it before any file is touched.
            let Some(entries) = journal.next(disk)? else { return Ok(Caught::Outrun) };
            let Some(mut changed) = watch.touched(disk.root()) else { return Ok(Caught::Outrun) };
            changed.extend(underway.take(&entries));
            if changed.is_empty() && entries.is_empty() {
                return Ok(Caught::Up);
            }
            for id in changed {
                let seen = look_for(disk, underway, &id)?;
                show(&mut self.world, id, seen);
            }
            let last = EventLog::open(disk.root())?.chain().last.max(self.world.last_event());
            self.world = std::mem::take(&mut self.world).after(last);
        }
        Ok(Caught::Outrun)
    }
}

/// Returns up to where the files show what was committed. What is not known counts as not shown.
fn projected(disk: &Disk) -> Version {
    Marker::peek(&disk.journal()).unwrap_or_default().projected
}

fn show(world: &mut World, id: TaskId, seen: Seen) {
    match seen {
        Seen::Task(task, _) => world.set_seen(task),
        Seen::Unreadable => world.set_unreadable(id),
        Seen::Nothing => world.set_gone(&id),
        Seen::Same(_) => {}
    }
}
