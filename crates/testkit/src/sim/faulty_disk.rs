//! A store that fails: before a commit, after it, and on reads.

use std::cell::{Cell, RefCell};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use adjutant_core::World;
use adjutant_core::input::{FileChange, FoundResult};
use adjutant_model::TaskId;
use adjutant_model::relative_path::RelPath;
use adjutant_model::run::RunHeartbeat;
use adjutant_store::{
    CommitBatch, EditScope, FileAvailability, MemoryStore, PendingEffect, Store, StoreError,
    StoreUpdate, StoreVersion,
};

use super::power::PowerSwitch;
use crate::seeded_rng::SeededRng;

/// The state of the simulated disk. Clones share it.
#[derive(Clone)]
pub(super) struct DiskHealth(Rc<DiskHealthState>);

struct DiskHealthState {
    rng: RefCell<SeededRng>,
    full: Cell<bool>,
    /// One in this many commits fails; 0 for none. Reads fail less often.
    odds: Cell<usize>,
}

/// Ways in which a commit fails.
#[derive(Clone, Copy)]
enum CommitFault {
    /// Nothing is committed, and the program continues.
    Failed,
    /// Nothing is committed, because the disk is full.
    Full,
    /// Everything is committed, but the program gets an error.
    AnswerLost,
    /// The program is killed before anything is committed.
    KilledBefore,
    /// The program is killed after everything is committed.
    KilledAfter,
}

const COMMIT_FAULTS: [CommitFault; 5] = [
    CommitFault::Failed,
    CommitFault::Full,
    CommitFault::AnswerLost,
    CommitFault::KilledBefore,
    CommitFault::KilledAfter,
];

/// Reads fail this many times less often than commits.
const READ_FAULT_RATIO: usize = 20;

impl DiskHealth {
    pub(super) fn new(rng: SeededRng, odds: usize) -> Self {
        let (rng, full, odds) = (RefCell::new(rng), Cell::new(false), Cell::new(odds));
        Self(Rc::new(DiskHealthState { rng, full, odds }))
    }

    pub(super) fn set_full(&self, full: bool) {
        self.0.full.set(full);
    }

    /// Ends all faults.
    pub(super) fn stop_faults(&self) {
        self.0.odds.set(0);
        self.set_full(false);
    }

    fn next_fault(&self) -> Option<CommitFault> {
        if self.0.full.get() {
            return Some(CommitFault::Full);
        }
        let mut rng = self.0.rng.borrow_mut();
        rng.one_in(self.0.odds.get()).then(|| *rng.choose(&COMMIT_FAULTS))
    }

    fn read_fails(&self) -> bool {
        self.0.rng.borrow_mut().one_in(self.0.odds.get() * READ_FAULT_RATIO)
    }
}

/// One program's view of the disk.
pub(super) struct FaultyDisk {
    memory: MemoryStore,
    health: DiskHealth,
    power: PowerSwitch,
    /// Set when the holder may be ahead of the event log and must reload everything.
    ahead: bool,
    /// Whether anything was committed since the last query, even if the answer was lost.
    has_committed: bool,
}

impl FaultyDisk {
    pub(super) fn new(memory: MemoryStore, health: DiskHealth, power: PowerSwitch) -> Self {
        Self { memory, health, power, ahead: false, has_committed: false }
    }

    /// Tells whether anything was committed since the last call, even if the answer was lost.
    pub(super) fn take_has_committed(&mut self) -> bool {
        std::mem::take(&mut self.has_committed)
    }

    fn commit_to_memory(&mut self, batch: &CommitBatch) -> Result<StoreVersion, StoreError> {
        let version = self.memory.commit(batch)?;
        self.has_committed = true;
        Ok(version)
    }

    /// Tells whether the holder may know more than is committed.
    pub(super) fn is_ahead(&self) -> bool {
        self.ahead
    }

    fn read_with_faults<T>(
        &mut self,
        look: impl FnOnce(&mut MemoryStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.power.is_off() || self.health.read_fails() {
            self.ahead = true;
            return Err(io_error("read"));
        }
        look(&mut self.memory)
    }
}

fn io_error(attempt: &'static str) -> StoreError {
    StoreError::Io { attempt, path: PathBuf::from("disk"), source: io::Error::other("it failed") }
}

fn disk_full_error() -> StoreError {
    let source = io::ErrorKind::StorageFull.into();
    StoreError::Full { path: PathBuf::from("disk"), source }
}

impl Store for FaultyDisk {
    fn begin(&mut self) -> Result<StoreUpdate, StoreError> {
        self.read_with_faults(|_| Ok(()))?;
        if std::mem::take(&mut self.ahead) {
            return Ok(StoreUpdate::Reload(Box::new(self.memory.open())));
        }
        self.memory.begin()
    }

    fn commit(&mut self, batch: &CommitBatch) -> Result<StoreVersion, StoreError> {
        let mishap = self.health.next_fault();
        self.ahead = mishap.is_some() || self.power.is_off();
        if self.power.is_off() {
            return Err(StoreError::Stopped);
        }
        match mishap {
            None => self.commit_to_memory(batch),
            Some(CommitFault::Failed) => Err(io_error("write")),
            Some(CommitFault::Full) => Err(disk_full_error()),
            Some(CommitFault::AnswerLost) => {
                self.commit_to_memory(batch)?;
                Err(io_error("write"))
            }
            Some(CommitFault::KilledBefore) => {
                self.power.switch_off();
                Err(StoreError::Stopped)
            }
            Some(CommitFault::KilledAfter) => {
                self.commit_to_memory(batch)?;
                self.power.switch_off();
                Err(StoreError::Stopped)
            }
        }
    }

    fn end(&mut self) {
        self.memory.end();
    }

    fn version(&self) -> StoreVersion {
        self.memory.version()
    }

    fn detect_edits(&mut self, scope: EditScope<'_>) -> Result<Vec<FileChange>, StoreError> {
        self.read_with_faults(|memory| memory.detect_edits(scope))
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<FileAvailability, StoreError> {
        self.read_with_faults(|memory| memory.presence(task, path))
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<FoundResult>, StoreError> {
        self.read_with_faults(|memory| memory.result(task))
    }

    fn last_heartbeat(&mut self, task: &TaskId) -> Result<Option<RunHeartbeat>, StoreError> {
        self.read_with_faults(|memory| memory.last_heartbeat(task))
    }

    fn list_salvage(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        self.memory.list_salvage()
    }

    fn read_salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        self.read_with_faults(|memory| memory.read_salvage(task, name))
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        self.read_with_faults(|memory| memory.document(task))
    }

    fn pending_effects(&self) -> Vec<PendingEffect> {
        self.memory.pending_effects()
    }

    fn maintain(&mut self, world: &World) -> Result<(), StoreError> {
        self.memory.maintain(world)
    }

    fn checkpoint(&mut self, world: &World) -> Result<(), StoreError> {
        self.memory.checkpoint(world)
    }
}

#[cfg(test)]
mod tests {
    use adjutant_engine::Engine;
    use adjutant_model::command::InitialStatus;
    use adjutant_model::{Command, Policy, Status};

    use super::*;
    use crate::clock::ManualClock;
    use crate::project::{add_request, operator_request, task_id_of};

    #[test]
    fn failed_commit_is_not_visible() {
        let (health, power) = (
            DiskHealth::new(SeededRng::from_seed(1), 0),
            PowerSwitch::new(SeededRng::from_seed(2), 0),
        );
        let mut memory = MemoryStore::default();
        let loaded = memory.open();
        let disk = FaultyDisk::new(memory, health.clone(), power);
        let clock = Box::new(ManualClock::at("2026-02-09T21:00:00.000Z"));
        let mut engine = Engine::start(disk, loaded, clock, Policy::default()).expect("an engine");
        let id =
            task_id_of(&engine.submit_one(add_request("One", InitialStatus::Ready)).expect("room"));
        health.set_full(true);
        let cancel = operator_request(Command::Cancel { id: id.clone(), reason: String::new() });
        engine.submit_one(cancel).expect_err("no room");
        let world = engine.committed().expect("it can be read");
        assert_eq!(world.count(Status::Cancelled), 0);
        assert_eq!(world.task(&id).map(adjutant_model::Task::status), Some(Status::Ready));
    }
}
