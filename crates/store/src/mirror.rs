//! A folder that shares its record with others: something orders the commits, every folder
//! follows.
//!
//! [`Sequence`] is the order: a list of sealed commits that only grows, at the end, and only for
//! who knows where it ends. [`Mirror`] is a folder with such an order. A process that dies after
//! its commit was ordered and before its folder shows it is made up for by the next turn.

mod answers;

use std::io::Write;

use adjutant_core::input::{FileChange, Found};
use adjutant_core::path::RelPath;
use adjutant_core::run::Heartbeat;
use adjutant_core::{Recorded, TaskId, World};

use self::answers::Answers;
use crate::batch::{Batch, Owed, Version};
use crate::file::{Carried, FileStore, Folder, Order, Packed, Parcel, Way};
use crate::store::{Caught, Company, Loaded, Presence, Scope, Store, StoreError};

/// Orders the commits of many folders.
pub trait Sequence {
    /// Returns the sealed commits after a version, in order; the first of them are enough, where
    /// there are many.
    fn after(&self, version: Version) -> Result<Vec<String>, StoreError>;

    /// Puts a commit after the version it was decided on, or fails with a conflict if something
    /// else is there. Any other error leaves open whether it was put there. While it waits, it does
    /// what can be done `meanwhile`, once at most.
    fn append(
        &self,
        expect: Version,
        commit: String,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<(), StoreError>;

    /// Keeps a folder as it was at a version, for others to join by, and drops what nobody needs
    /// from then on.
    fn keep(&self, _version: Version, _archive: Vec<u8>) -> Result<(), StoreError> {
        Ok(())
    }

    /// Checks that a folder which ends here can go on with this order.
    fn check(&self, folder: &FileStore) -> Result<(), StoreError>;
}

/// A folder whose commits are ordered together with those of other folders.
pub struct Mirror<Q> {
    folder: FileStore,
    /// What this node is called.
    node: String,
    sequence: Q,
    told: Told,
    standing: Standing,
    company: Company,
    end: End,
    answers: Answers,
}

/// Whether people's doings were told outside a turn, and must be told anew if others commit first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    AtOpening,
}

/// Whether the folder shows everything that was ordered by this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Level,
    /// A commit was ordered that the folder does not show: the next turn makes up for it.
    Behind,
}

/// Whether it is known where the order ends, unless somebody else has gone on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Known,
    /// The last commit from here was refused, or may or may not have been taken.
    Doubtful,
}

impl<Q: Sequence> Mirror<Q> {
    /// Opens a folder, and brings it to where the order ends.
    pub fn open(
        folder: &Folder,
        node: impl Into<String>,
        sequence: Q,
    ) -> Result<(Self, Loaded), StoreError> {
        let (folder, loaded) = FileStore::open(folder)?;
        sequence.check(&folder)?;
        let (told, standing) = (Told::Nothing, Standing::Level);
        let (company, end) = (Company::Others, End::Doubtful);
        let (node, answers) = (node.into(), Answers::default());
        let mut mirror = Self { folder, node, sequence, told, standing, company, end, answers };
        let caught = mirror.begin();
        mirror.end();
        let loaded = match caught? {
            Caught::Events(events) if events.is_empty() => loaded,
            Caught::Events(_) => mirror.load_anew()?,
            Caught::Reload(loaded) => *loaded,
        };
        if !loaded.edits.is_empty() || loaded.adopted.is_some() {
            mirror.told = Told::AtOpening;
        }
        Ok((mirror, loaded))
    }

    fn load_anew(&mut self) -> Result<Loaded, StoreError> {
        self.folder.doubt();
        let caught = self.begin();
        self.end();
        match caught? {
            Caught::Reload(loaded) => Ok(*loaded),
            Caught::Events(_) => Err(StoreError::Stopped),
        }
    }

    /// Returns what orders the commits.
    pub fn sequence(&self) -> &Q {
        &self.sequence
    }

    /// Writes the folder into an archive. Called in turn, with a world that has caught up.
    pub fn pack(
        &mut self,
        world: &World,
        parcel: Parcel,
        out: impl Write,
    ) -> Result<Packed, StoreError> {
        match self.standing {
            Standing::Level => self.folder.pack(world, parcel, out),
            Standing::Behind => Err(StoreError::Stopped),
        }
    }

    /// Takes in what others committed.
    fn follow(&mut self) -> Result<Vec<Recorded>, StoreError> {
        let mut events = Vec::new();
        loop {
            let commits = self.sequence.after(self.folder.version())?;
            if commits.is_empty() {
                (self.standing, self.end) = (Standing::Level, End::Known);
                return Ok(events);
            }
            self.answers.hear(&commits, &self.node);
            events.extend(self.folder.follow(&commits, &self.node)?);
        }
    }

    /// Says whether nobody can have committed of whom it would not be heard.
    fn is_level(&self) -> bool {
        (self.company, self.end, self.standing) == (Company::Alone, End::Known, Standing::Level)
    }

    fn catch_up(&mut self, caught: Caught) -> Result<Caught, StoreError> {
        let is_news =
            |caught: &Caught| matches!(caught, Caught::Events(events) if !events.is_empty());
        let outdated = self.told == Told::AtOpening && is_news(&caught);
        if self.is_level() && matches!(caught, Caught::Events(_)) && !outdated {
            return Ok(caught);
        }
        let told = std::mem::replace(&mut self.told, Told::Nothing);
        let before = self.folder.version();
        let followed = self.follow()?;
        if self.folder.version() == before && !outdated {
            return Ok(caught);
        }
        match caught {
            Caught::Events(mut events) if told == Told::Nothing => {
                events.extend(followed);
                Ok(Caught::Events(events))
            }
            Caught::Events(_) | Caught::Reload(_) => {
                Ok(Caught::Reload(Box::new(self.folder.read_again()?)))
            }
        }
    }

    /// Has a commit ordered and written. Once it is ordered it counts, whatever becomes of it here.
    fn through(
        &mut self,
        expect: Version,
        write: impl FnOnce(&mut FileStore, Order<'_>) -> Result<Version, StoreError>,
    ) -> Result<Version, StoreError> {
        let (sequence, mut ordered) = (&self.sequence, false);
        let written = write(&mut self.folder, &mut |sealed, meanwhile| {
            sequence.append(expect, sealed(), meanwhile)?;
            ordered = true;
            Ok(())
        });
        self.end = if written.is_ok() { End::Known } else { End::Doubtful };
        if written.is_err() && ordered {
            self.standing = Standing::Behind;
            self.folder.doubt();
            return Ok(expect.next());
        }
        written
    }
}

impl<Q: Sequence> Store for Mirror<Q> {
    fn begin(&mut self) -> Result<Caught, StoreError> {
        let caught = self.folder.begin()?;
        let caught = self.catch_up(caught);
        if caught.is_err() {
            self.folder.doubt();
            self.folder.end();
        }
        caught
    }

    fn presume(&mut self, company: Company) {
        self.company = company;
    }

    fn commit(&mut self, batch: &Batch) -> Result<Version, StoreError> {
        let done = self.through(batch.expect, |folder, order| folder.commit_through(batch, order));
        if done.is_ok() {
            self.answers.note(&batch.answers);
        }
        done
    }

    fn end(&mut self) {
        self.folder.end();
    }

    fn version(&self) -> Version {
        self.folder.version()
    }

    fn edits(&mut self, scope: Scope<'_>) -> Result<Vec<FileChange>, StoreError> {
        self.folder.edits(scope)
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<Presence, StoreError> {
        self.folder.presence(task, path)
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<Found>, StoreError> {
        self.folder.result(task)
    }

    fn heartbeat(&mut self, task: &TaskId) -> Result<Option<Heartbeat>, StoreError> {
        self.folder.heartbeat(task)
    }

    fn salvaged(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        self.folder.salvaged()
    }

    fn salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        self.folder.salvage(task, name)
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        self.folder.document(task)
    }

    fn owed(&self) -> Vec<Owed> {
        self.folder.owed()
    }

    /// A commit of its own, without an event.
    fn carry(&mut self, files: &[Carried], from: &str) -> Result<Version, StoreError> {
        let (expect, here) = (self.folder.version(), self.node.clone());
        let way = Way { from, here: &here };
        self.through(expect, |folder, order| folder.carry_through(files, way, order))
    }

    fn pack_into(&mut self, world: &World, out: &mut dyn Write) -> Result<Packed, StoreError> {
        self.pack(world, Parcel::Export, out)
    }

    fn snapshot(&mut self, world: &World) -> Result<(), StoreError> {
        let mut archive = Vec::new();
        let packed = self.pack(world, Parcel::Snapshot, &mut archive)?;
        self.sequence.keep(packed.version, archive)
    }

    fn answer(&mut self, asked: &str) -> Option<String> {
        self.answers.take(asked)
    }

    fn was_answered(&self, asked: &str) -> bool {
        self.answers.has(asked)
    }

    /// A folder that is behind shows another world than the one that is given.
    fn tend(&mut self, world: &World) -> Result<(), StoreError> {
        match self.standing {
            Standing::Level => self.folder.tend(world),
            Standing::Behind => Ok(()),
        }
    }

    fn rest(&mut self, world: &World) -> Result<(), StoreError> {
        match self.standing {
            Standing::Level => self.folder.rest(world),
            Standing::Behind => Ok(()),
        }
    }
}
