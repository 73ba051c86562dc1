//! A store that fails: before a commit, after it, and when it is only looked at.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use adjutant_core::input::{FileChange, Found};
use adjutant_core::path::RelPath;
use adjutant_core::run::Heartbeat;
use adjutant_core::{TaskId, World};
use adjutant_store::{
    Batch, Caught, MemoryStore, Owed, Presence, Scope, Store, StoreError, Version,
};

use super::plug::Plug;
use crate::dice::Dice;

/// How the disk does. Clones speak of the same disk.
#[derive(Clone)]
pub(super) struct Health(Rc<Inner>);

struct Inner {
    dice: RefCell<Dice>,
    full: Cell<bool>,
    /// Once in how many commits something goes wrong; 0 for never. A look fails less often.
    odds: Cell<usize>,
}

/// What can go wrong with a commit.
#[derive(Clone, Copy)]
enum Mishap {
    /// Nothing is committed, and the program goes on.
    Failed,
    /// Nothing is committed, for want of room.
    Full,
    /// All is committed, and the program is told that it is not.
    AnswerLost,
    /// The program is killed before anything is committed.
    KilledBefore,
    /// The program is killed when all is committed.
    KilledAfter,
}

const MISHAPS: [Mishap; 5] =
    [Mishap::Failed, Mishap::Full, Mishap::AnswerLost, Mishap::KilledBefore, Mishap::KilledAfter];

/// How many times less often a look fails than a commit.
const LOOKS: usize = 20;

impl Health {
    pub(super) fn new(dice: Dice, odds: usize) -> Self {
        let (dice, full, odds) = (RefCell::new(dice), Cell::new(false), Cell::new(odds));
        Self(Rc::new(Inner { dice, full, odds }))
    }

    /// Fills the disk, or makes room.
    pub(super) fn set_full(&self, full: bool) {
        self.0.full.set(full);
    }

    /// Lets nothing more go wrong.
    pub(super) fn calm(&self) {
        self.0.odds.set(0);
        self.set_full(false);
    }

    fn mishap(&self) -> Option<Mishap> {
        if self.0.full.get() {
            return Some(Mishap::Full);
        }
        let mut dice = self.0.dice.borrow_mut();
        dice.once_in(self.0.odds.get()).then(|| *dice.one_of(&MISHAPS))
    }

    fn look_fails(&self) -> bool {
        self.0.dice.borrow_mut().once_in(self.0.odds.get() * LOOKS)
    }
}

/// What one program holds of the disk.
pub(super) struct Disk {
    memory: MemoryStore,
    health: Health,
    plug: Plug,
    /// Whoever holds this may have gone ahead of the record, and must be told everything anew.
    ahead: bool,
    /// Whether something was committed since somebody last asked, be it said or not.
    kept: bool,
}

impl Disk {
    pub(super) fn new(memory: MemoryStore, health: Health, plug: Plug) -> Self {
        Self { memory, health, plug, ahead: false, kept: false }
    }

    /// Says whether something was committed since the last time, whatever its holder was told.
    pub(super) fn has_kept(&mut self) -> bool {
        std::mem::take(&mut self.kept)
    }

    fn keep(&mut self, batch: &Batch) -> Result<Version, StoreError> {
        let version = self.memory.commit(batch)?;
        self.kept = true;
        Ok(version)
    }

    /// Says whether what its holder knows may be more than what is committed.
    pub(super) fn is_ahead(&self) -> bool {
        self.ahead
    }

    fn look<T>(
        &mut self,
        look: impl FnOnce(&mut MemoryStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.plug.is_out() || self.health.look_fails() {
            self.ahead = true;
            return Err(broken("read"));
        }
        look(&mut self.memory)
    }
}

fn broken(attempt: &'static str) -> StoreError {
    StoreError::Io { attempt, path: PathBuf::from("disk"), source: io::Error::other("it failed") }
}

fn full() -> StoreError {
    let source = io::ErrorKind::StorageFull.into();
    StoreError::Full { path: PathBuf::from("disk"), source }
}

impl Store for Disk {
    fn begin(&mut self) -> Result<Caught, StoreError> {
        self.look(|_| Ok(()))?;
        if std::mem::take(&mut self.ahead) {
            return Ok(Caught::Reload(Box::new(self.memory.open())));
        }
        self.memory.begin()
    }

    fn commit(&mut self, batch: &Batch) -> Result<Version, StoreError> {
        let mishap = self.health.mishap();
        self.ahead = mishap.is_some() || self.plug.is_out();
        if self.plug.is_out() {
            return Err(StoreError::Stopped);
        }
        match mishap {
            None => self.keep(batch),
            Some(Mishap::Failed) => Err(broken("write")),
            Some(Mishap::Full) => Err(full()),
            Some(Mishap::AnswerLost) => {
                self.keep(batch)?;
                Err(broken("write"))
            }
            Some(Mishap::KilledBefore) => {
                self.plug.pull();
                Err(StoreError::Stopped)
            }
            Some(Mishap::KilledAfter) => {
                self.keep(batch)?;
                self.plug.pull();
                Err(StoreError::Stopped)
            }
        }
    }

    fn end(&mut self) {
        self.memory.end();
    }

    fn version(&self) -> Version {
        self.memory.version()
    }

    fn edits(&mut self, scope: Scope<'_>) -> Result<Vec<FileChange>, StoreError> {
        self.look(|memory| memory.edits(scope))
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<Presence, StoreError> {
        self.look(|memory| memory.presence(task, path))
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<Found>, StoreError> {
        self.look(|memory| memory.result(task))
    }

    fn heartbeat(&mut self, task: &TaskId) -> Result<Option<Heartbeat>, StoreError> {
        self.look(|memory| memory.heartbeat(task))
    }

    fn salvaged(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        self.memory.salvaged()
    }

    fn salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        self.look(|memory| memory.salvage(task, name))
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        self.look(|memory| memory.document(task))
    }

    fn owed(&self) -> Vec<Owed> {
        self.memory.owed()
    }

    fn tend(&mut self, world: &World) -> Result<(), StoreError> {
        self.memory.tend(world)
    }

    fn rest(&mut self, world: &World) -> Result<(), StoreError> {
        self.memory.rest(world)
    }
}

#[cfg(test)]
mod tests {
    use adjutant_core::command::Start;
    use adjutant_core::{Command, Policy, Status};
    use adjutant_runtime::Engine;

    use super::*;
    use crate::clock::SetClock;
    use crate::project::{add, id_of, operator};

    #[test]
    fn what_could_not_be_committed_is_not_shown() {
        let (health, plug) = (Health::new(Dice::from_seed(1), 0), Plug::new(Dice::from_seed(2), 0));
        let mut memory = MemoryStore::default();
        let loaded = memory.open();
        let disk = Disk::new(memory, health.clone(), plug);
        let clock = Box::new(SetClock::at("2026-02-09T21:00:00.000Z"));
        let mut engine = Engine::start(disk, loaded, clock, Policy::default()).expect("an engine");
        let id = id_of(&engine.submit_one(add("One", Start::Ready)).expect("room"));
        health.set_full(true);
        let cancel = operator(Command::Cancel { id: id.clone(), reason: String::new() });
        engine.submit_one(cancel).expect_err("no room");
        let world = engine.committed().expect("it can be read");
        assert_eq!(world.count(Status::Cancelled), 0);
        assert_eq!(world.task(&id).map(adjutant_core::Task::status), Some(Status::Ready));
    }
}
