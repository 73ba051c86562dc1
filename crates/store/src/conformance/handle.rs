//! A process with the store open, as far as the suite needs one: it has a world of its own and
//! goes ahead of its commits, as an engine does.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_core::event::Happened;
use adjutant_core::input::{FileChange, Found};
use adjutant_core::{Recorded, Status, TaskId, Time, World};

use super::Harness;
use super::sample::{id, moved_by_hand, removed};
use crate::batch::{Batch, EffectId, Owed, Version};
use crate::store::{Caught, Scope, Store, StoreError};

/// A process with the store open.
pub(super) struct Handle<S> {
    pub(super) store: S,
    pub(super) world: World,
}

/// Everything the trait tells about a store.
#[derive(Debug, PartialEq)]
pub(super) struct Stand {
    world: World,
    version: Version,
    owed: Vec<Owed>,
    documents: BTreeMap<TaskId, Option<String>>,
    results: BTreeMap<TaskId, Option<Found>>,
}

impl<S: Store> Handle<S> {
    pub(super) fn open(harness: &mut impl Harness<Store = S>) -> Self {
        let (store, loaded) = harness.open();
        assert_eq!(loaded.edits, [], "nobody edited anything");
        Self { store, world: loaded.world }
    }

    /// Takes the turn and catches up. Returns what others did, if it was told one by one.
    pub(super) fn begin(&mut self) -> Vec<Recorded> {
        match self.store.begin().expect("the turn can be taken") {
            Caught::Events(events) => {
                for event in &events {
                    self.world.apply(event);
                }
                events
            }
            Caught::Reload(loaded) => {
                assert_eq!(loaded.edits, [], "nobody edited anything");
                self.world = loaded.world;
                vec![]
            }
        }
    }

    /// Takes a turn in which nothing is done but to catch up.
    pub(super) fn catch_up(&mut self) -> Vec<Recorded> {
        let told = self.begin();
        self.store.end();
        told
    }

    /// Makes a batch of what happened, and goes ahead of it.
    pub(super) fn batch(&mut self, happened: Vec<Happened>) -> Batch {
        let mut batch = Batch { expect: self.store.version(), ..Batch::default() };
        let mut touched = BTreeSet::new();
        for happened in happened {
            let id = self.world.last_event().next();
            touched.extend(happened.task.clone());
            let recorded = Recorded { id, at: time(id.0), happened };
            self.world.apply(&recorded);
            batch.events.push(recorded);
        }
        batch.after = touched.iter().filter_map(|id| self.world.task(id)).cloned().collect();
        batch
    }

    /// Commits a batch, and ends the turn that must have begun.
    pub(super) fn try_commit(&mut self, batch: &Batch) -> Result<Version, StoreError> {
        let committed = self.store.commit(batch);
        if committed.is_ok() {
            self.store.tend(&self.world).expect("the store can be tended");
            let edits = self.store.edits(Scope::All(&self.world)).expect("a look around");
            assert_eq!(edits, [], "what the store wrote itself is no edit");
        }
        self.store.end();
        committed
    }

    /// Commits what happened.
    pub(super) fn commit(&mut self, happened: Vec<Happened>) -> Version {
        self.begin();
        let batch = self.batch(happened);
        self.try_commit(&batch).expect("the batch can be committed")
    }

    /// Commits what is owed and settled, with something that happened.
    pub(super) fn commit_effects(
        &mut self,
        happened: Vec<Happened>,
        owed: Vec<Owed>,
        settled: Vec<EffectId>,
    ) -> Version {
        self.begin();
        let batch = Batch { owed, settled, ..self.batch(happened) };
        self.try_commit(&batch).expect("the batch can be committed")
    }

    /// Takes in that a person took a task's file away.
    pub(super) fn commit_removal(&mut self, number: u64) -> Version {
        self.begin();
        let told = self.store.edits(Scope::All(&self.world)).expect("a look around");
        // A store whose documents nobody can reach from outside has nothing to tell.
        assert!(told.is_empty() || told == [FileChange::Gone(id(number))], "{told:?}");
        let batch = self.batch(vec![removed(number)]);
        self.try_commit(&batch).expect("the batch can be committed")
    }

    /// Takes in that a person moved a task's file.
    pub(super) fn commit_hand_move(&mut self, number: u64, from: Status, to: Status) -> Version {
        self.begin();
        let told = self.store.edits(Scope::All(&self.world)).expect("a look around");
        let seen =
            |change: &FileChange| matches!(change, FileChange::Seen(task) if task.status() == to);
        assert!(told.iter().all(seen), "{told:?}");
        let batch = self.batch(vec![moved_by_hand(number, from, to)]);
        self.try_commit(&batch).expect("the batch can be committed")
    }

    /// Does something in a turn in which nothing is committed.
    pub(super) fn look<T>(&mut self, look: impl FnOnce(&mut S) -> Result<T, StoreError>) -> T {
        self.begin();
        let seen = look(&mut self.store).expect("a look");
        self.store.end();
        seen
    }

    pub(super) fn document(&mut self, id: &TaskId) -> Option<String> {
        self.look(|store| store.document(id))
    }

    pub(super) fn result(&mut self, id: &TaskId) -> Option<Found> {
        self.look(|store| store.result(id))
    }

    pub(super) fn rest(&mut self) {
        self.begin();
        self.store.rest(&self.world).expect("the store can be brought to rest");
        self.store.end();
    }

    pub(super) fn stand(&mut self) -> Stand {
        self.begin();
        let ids: Vec<TaskId> = self.world.tasks().map(|task| task.id.clone()).collect();
        let edits = self.store.edits(Scope::Tasks(&self.world, &ids)).expect("a look");
        assert_eq!(edits, [], "nobody edited anything");
        let document = |store: &mut S, id: &TaskId| store.document(id).expect("a document");
        let result = |store: &mut S, id: &TaskId| store.result(id).expect("a result");
        let stand = Stand {
            world: self.world.clone(),
            version: self.store.version(),
            owed: self.store.owed(),
            documents: each(&ids, |id| document(&mut self.store, id)),
            results: each(&ids, |id| result(&mut self.store, id)),
        };
        self.store.end();
        stand
    }
}

fn each<T>(ids: &[TaskId], mut value: impl FnMut(&TaskId) -> T) -> BTreeMap<TaskId, T> {
    ids.iter().map(|id| (id.clone(), value(id))).collect()
}

/// Every event has a second of its own.
fn time(second: u64) -> Time {
    let start = Time::parse("2026-02-09T21:00:00.000Z").expect("a good time");
    Time::from_millis(start.as_millis() + 1_000 * i64::try_from(second).expect("a small number"))
}

/// Opens the store anew, as it was left and then from rest. Both times all is as it was, and the
/// world is the one that follows from the events.
pub(super) fn reopen<H: Harness>(
    harness: &mut H,
    mut handle: Handle<H::Store>,
) -> Handle<H::Store> {
    let before = handle.stand();
    drop(handle);
    let mut again = Handle::open(harness);
    assert_eq!(again.stand(), before, "opened as it was left");
    again.rest();
    drop(again);
    let mut rested = Handle::open(harness);
    assert_eq!(rested.stand(), before, "opened from rest");
    rested
}
