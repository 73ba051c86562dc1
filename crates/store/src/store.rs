//! The door every store has.

use std::io::{self, Write};
use std::path::PathBuf;

use adjutant_core::input::{FileChange, Found};
use adjutant_core::path::RelPath;
use adjutant_core::run::Heartbeat;
use adjutant_core::{Recorded, TaskId, World};
use thiserror::Error;

use crate::batch::{Batch, Owed, Version};
use crate::file::{Carried, Packed};
use crate::format::NewerFormat;

/// Keeps what was decided.
///
/// The order of calls is `begin`, then any number of looks and at most one `commit`, then `end`.
/// Between `begin` and `end` nobody else commits to a folder; where a store cannot promise that,
/// `commit` refuses a batch whose `expect` is behind.
pub trait Store {
    /// Takes the turn to write, and returns what others committed since the last look.
    fn begin(&mut self) -> Result<Caught, StoreError>;

    /// Makes a batch durable, all of it or nothing.
    fn commit(&mut self, batch: &Batch) -> Result<Version, StoreError>;

    /// Gives the turn to write back.
    fn end(&mut self);

    /// Says who else is expected to commit from now on. Whoever is alone begins its turn without
    /// asking what others did; should it be mistaken, its commit is refused, and the next turn asks.
    fn presume(&mut self, _company: Company) {}

    /// Returns the version after the last commit this store has seen.
    fn version(&self) -> Version;

    /// Returns what people and other programs did to task files since they were last looked at.
    fn edits(&mut self, scope: Scope<'_>) -> Result<Vec<FileChange>, StoreError>;

    /// Says whether a file that a message on this task names is there.
    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<Presence, StoreError>;

    /// Returns the result somebody left for the task's current run.
    fn result(&mut self, task: &TaskId) -> Result<Option<Found>, StoreError>;

    /// Returns the last sign of life of the task's current run.
    fn heartbeat(&mut self, task: &TaskId) -> Result<Option<Heartbeat>, StoreError>;

    /// Returns the reports that came too late and wait for a person, by task and name.
    fn salvaged(&mut self) -> Result<Vec<(TaskId, String)>, StoreError>;

    /// Returns a report that came too late, by its name under `salvage/`.
    fn salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError>;

    /// Returns a task's document: front matter and body.
    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError>;

    /// Returns the effects that are owed and not settled, by id.
    fn owed(&self) -> Vec<Owed>;

    /// Carries files that agents of a node left to whoever else keeps a folder, in turn, before
    /// anything is decided on what they say. Where there is nobody else there is nothing to do.
    fn carry(&mut self, _files: &[Carried], _from: &str) -> Result<Version, StoreError> {
        Ok(self.version())
    }

    /// Writes everything into an archive, in turn, with a world that has caught up.
    fn pack_into(&mut self, _world: &World, _out: &mut dyn Write) -> Result<Packed, StoreError> {
        let what = "this store has no files to write into an archive".to_owned();
        Err(StoreError::Damaged { path: PathBuf::new(), what })
    }

    /// Keeps a copy of everything where others can join by it, in turn, with a world that has caught
    /// up. Where there are no others there is nothing to do.
    fn snapshot(&mut self, _world: &World) -> Result<(), StoreError> {
        Ok(())
    }

    /// Takes out what was answered to something this node asked others for, if a commit that was
    /// followed says so.
    fn answer(&mut self, _asked: &str) -> Option<String> {
        None
    }

    /// Says whether something that anybody asked for is known to have been done, by a commit from
    /// here or one that was followed.
    fn was_answered(&self, _asked: &str) -> bool {
        false
    }

    /// Does what keeps commits quick in the long run. Called in turn, after a commit.
    fn tend(&mut self, world: &World) -> Result<(), StoreError>;

    /// Brings everything into the state it can be left in: found quickly, safe
    /// from a power cut. Called in turn, with a world that has caught up.
    fn rest(&mut self, world: &World) -> Result<(), StoreError>;
}

/// Who is expected to commit besides this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Company {
    /// Nobody whose commits would not be heard of.
    Alone,
    /// Others, at any time.
    Others,
}

impl<S: Store + ?Sized> Store for Box<S> {
    fn presume(&mut self, company: Company) {
        (**self).presume(company);
    }

    fn begin(&mut self) -> Result<Caught, StoreError> {
        (**self).begin()
    }

    fn commit(&mut self, batch: &Batch) -> Result<Version, StoreError> {
        (**self).commit(batch)
    }

    fn end(&mut self) {
        (**self).end();
    }

    fn version(&self) -> Version {
        (**self).version()
    }

    fn edits(&mut self, scope: Scope<'_>) -> Result<Vec<FileChange>, StoreError> {
        (**self).edits(scope)
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<Presence, StoreError> {
        (**self).presence(task, path)
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<Found>, StoreError> {
        (**self).result(task)
    }

    fn heartbeat(&mut self, task: &TaskId) -> Result<Option<Heartbeat>, StoreError> {
        (**self).heartbeat(task)
    }

    fn salvaged(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        (**self).salvaged()
    }

    fn salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        (**self).salvage(task, name)
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        (**self).document(task)
    }

    fn owed(&self) -> Vec<Owed> {
        (**self).owed()
    }

    fn carry(&mut self, files: &[Carried], from: &str) -> Result<Version, StoreError> {
        (**self).carry(files, from)
    }

    fn pack_into(&mut self, world: &World, out: &mut dyn Write) -> Result<Packed, StoreError> {
        (**self).pack_into(world, out)
    }

    fn snapshot(&mut self, world: &World) -> Result<(), StoreError> {
        (**self).snapshot(world)
    }

    fn answer(&mut self, asked: &str) -> Option<String> {
        (**self).answer(asked)
    }

    fn was_answered(&self, asked: &str) -> bool {
        (**self).was_answered(asked)
    }

    fn tend(&mut self, world: &World) -> Result<(), StoreError> {
        (**self).tend(world)
    }

    fn rest(&mut self, world: &World) -> Result<(), StoreError> {
        (**self).rest(world)
    }
}

/// What a store holds when it is opened.
#[derive(Debug)]
pub struct Loaded {
    /// The world after the last commit.
    pub world: World,
    /// What people did to the files since, not yet taken in.
    pub edits: Vec<FileChange>,
    /// How many tasks were found in a folder that this program never wrote to before.
    pub adopted: Option<u64>,
}

/// What others committed since the last look.
#[derive(Debug)]
pub enum Caught {
    /// These events, in order.
    Events(Vec<Recorded>),
    /// Too much to tell: start again from here.
    Reload(Box<Loaded>),
}

/// Which tasks to look at.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'a> {
    /// All of them.
    All(&'a World),
    /// These.
    Tasks(&'a World, &'a [TaskId]),
}

/// Whether a file that a message names is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is there.
    Present,
    /// It is not there.
    Missing,
    /// A link on the way leads outside.
    Escapes,
}

/// Why a store could not do what it was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Somebody else committed first.
    #[error("the store is at version {now}, not {expected}")]
    Conflict {
        /// The version the batch was decided on.
        expected: Version,
        /// The version the store is at.
        now: Version,
    },
    /// There is no room left. Nothing was changed.
    #[error("no room left on the device that holds {}", path.display())]
    Full {
        /// What could not be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something about the disk went wrong.
    #[error("cannot {attempt} {}", path.display())]
    Io {
        /// What was tried, as a verb.
        attempt: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something in the folder is not as this program left it, and must be looked at first.
    #[error("{}: {what}", path.display())]
    Damaged {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The folder was written by a newer version. Nothing was changed.
    #[error(transparent)]
    Newer(#[from] NewerFormat),
    /// Another node of the fleet decides. Nothing was changed.
    #[error("another node decides")]
    Fenced,
    /// An earlier commit could not be made durable; nothing more is promised.
    #[error("the store stopped after a commit that could not be made durable")]
    Stopped,
}

impl StoreError {
    /// Says whether the others of a fleet did not answer: they may later.
    pub fn is_silence(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::HostUnreachable)
    }

    /// Makes the error of a failed attempt, and tells a full disk from other failures.
    pub fn io(attempt: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::Full { path, source }
            }
            _ => Self::Io { attempt, path, source },
        }
    }
}
