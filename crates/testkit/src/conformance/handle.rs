//! A process that has the store open, as the suite needs it: like an engine, it has its own world
//! and applies events before they are committed.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_core::World;
use adjutant_core::input::{FileChange, FoundResult};
use adjutant_model::event::NewEvent;
use adjutant_model::{RecordedEvent, Status, TaskId, Time};
use adjutant_store::batch::{CommitBatch, EffectId, PendingEffect, StoreVersion};
use adjutant_store::store::{EditScope, Store, StoreError, StoreUpdate};

use super::StoreHarness;
use super::sample::{id, moved_by_hand, removed};

pub(super) struct SuiteHandle<S> {
    pub(super) store: S,
    pub(super) world: World,
}

/// Everything that the [`Store`] trait shows of a store, for comparisons.
#[derive(Debug, PartialEq)]
pub(super) struct StoreContents {
    world: World,
    version: StoreVersion,
    effects: Vec<PendingEffect>,
    documents: BTreeMap<TaskId, Option<String>>,
    results: BTreeMap<TaskId, Option<FoundResult>>,
}

impl<S: Store> SuiteHandle<S> {
    pub(super) fn open(harness: &mut impl StoreHarness<Store = S>) -> Self {
        let (store, loaded) = harness.open();
        assert_eq!(loaded.edits, [], "no file was edited");
        Self { store, world: loaded.world }
    }

    /// Takes the write lock and catches up. Returns the events of others, or none after a reload.
    pub(super) fn begin(&mut self) -> Vec<RecordedEvent> {
        match self.store.begin().expect("the turn can be taken") {
            StoreUpdate::Events(events) => {
                for event in &events {
                    self.world.apply(event);
                }
                events
            }
            StoreUpdate::Reload(loaded) => {
                assert_eq!(loaded.edits, [], "no file was edited");
                self.world = loaded.world;
                vec![]
            }
        }
    }

    /// Takes the write lock, catches up and releases it.
    pub(super) fn catch_up(&mut self) -> Vec<RecordedEvent> {
        let events = self.begin();
        self.store.end();
        events
    }

    /// Makes a batch of events and applies them to the own world before the commit.
    pub(super) fn batch(&mut self, happened: Vec<NewEvent>) -> CommitBatch {
        let mut batch =
            CommitBatch { expected_version: self.store.version(), ..CommitBatch::default() };
        let mut touched = BTreeSet::new();
        for happened in happened {
            let id = self.world.last_event().next();
            touched.extend(happened.task.clone());
            let recorded = RecordedEvent { id, at: time(id.0), node: None, new_event: happened };
            self.world.apply(&recorded);
            batch.events.push(recorded);
        }
        batch.tasks_after = touched.iter().filter_map(|id| self.world.task(id)).cloned().collect();
        batch
    }

    /// Commits a batch and releases the write lock, which must be held.
    pub(super) fn try_commit(&mut self, batch: &CommitBatch) -> Result<StoreVersion, StoreError> {
        let committed = self.store.commit(batch);
        if committed.is_ok() {
            self.store.maintain(&self.world).expect("the store can be tended");
            let edits =
                self.store.detect_edits(EditScope::All(&self.world)).expect("a look around");
            assert_eq!(edits, [], "what the store wrote itself is no edit");
        }
        self.store.end();
        committed
    }

    pub(super) fn commit(&mut self, happened: Vec<NewEvent>) -> StoreVersion {
        self.begin();
        let batch = self.batch(happened);
        self.try_commit(&batch).expect("the batch can be committed")
    }

    /// Commits events together with new and settled effects.
    pub(super) fn commit_effects(
        &mut self,
        happened: Vec<NewEvent>,
        effects: Vec<PendingEffect>,
        settled: Vec<EffectId>,
    ) -> StoreVersion {
        self.begin();
        let batch =
            CommitBatch { new_effects: effects, settled_effects: settled, ..self.batch(happened) };
        self.try_commit(&batch).expect("the batch can be committed")
    }

    /// Commits that a person removed a task's file.
    pub(super) fn commit_removal(&mut self, number: u64) -> StoreVersion {
        self.begin();
        let edits = self.store.detect_edits(EditScope::All(&self.world)).expect("a look around");
        // A store in memory reports no edits: no person can reach its documents.
        assert!(edits.is_empty() || edits == [FileChange::Removed(id(number))], "{edits:?}");
        let batch = self.batch(vec![removed(number)]);
        self.try_commit(&batch).expect("the batch can be committed")
    }

    /// Commits that a person moved a task's file.
    pub(super) fn commit_hand_move(
        &mut self,
        number: u64,
        from: Status,
        to: Status,
    ) -> StoreVersion {
        self.begin();
        let edits = self.store.detect_edits(EditScope::All(&self.world)).expect("a look around");
        let seen = |change: &FileChange| matches!(change, FileChange::Changed(task) if task.status() == to);
        assert!(edits.iter().all(seen), "{edits:?}");
        let batch = self.batch(vec![moved_by_hand(number, from, to)]);
        self.try_commit(&batch).expect("the batch can be committed")
    }

    /// Calls `look` under the write lock, without a commit.
    pub(super) fn with_lock<T>(&mut self, look: impl FnOnce(&mut S) -> Result<T, StoreError>) -> T {
        self.begin();
        let seen = look(&mut self.store).expect("a look");
        self.store.end();
        seen
    }

    pub(super) fn document(&mut self, id: &TaskId) -> Option<String> {
        self.with_lock(|store| store.document(id))
    }

    pub(super) fn result(&mut self, id: &TaskId) -> Option<FoundResult> {
        self.with_lock(|store| store.result(id))
    }

    pub(super) fn checkpoint(&mut self) {
        self.begin();
        self.store.checkpoint(&self.world).expect("the store can be brought to rest");
        self.store.end();
    }

    pub(super) fn contents(&mut self) -> StoreContents {
        self.begin();
        let ids: Vec<TaskId> = self.world.tasks().map(|task| task.id.clone()).collect();
        let edits = self.store.detect_edits(EditScope::Tasks(&self.world, &ids)).expect("a look");
        assert_eq!(edits, [], "no file was edited");
        let document = |store: &mut S, id: &TaskId| store.document(id).expect("a document");
        let result = |store: &mut S, id: &TaskId| store.result(id).expect("a result");
        let stand = StoreContents {
            world: self.world.clone(),
            version: self.store.version(),
            effects: self.store.pending_effects(),
            documents: map_ids(&ids, |id| document(&mut self.store, id)),
            results: map_ids(&ids, |id| result(&mut self.store, id)),
        };
        self.store.end();
        stand
    }
}

fn map_ids<T>(ids: &[TaskId], mut value: impl FnMut(&TaskId) -> T) -> BTreeMap<TaskId, T> {
    ids.iter().map(|id| (id.clone(), value(id))).collect()
}

/// Returns a different second for every event.
fn time(second: u64) -> Time {
    let start = Time::parse("2026-02-09T21:00:00.000Z").expect("a good time");
    Time::from_millis(start.as_millis() + 1_000 * i64::try_from(second).expect("a small number"))
}

/// Reopens the store twice, as it was left and after `rest`. Both times everything is as before,
/// and the world equals the one that follows from the events.
pub(super) fn reopen<H: StoreHarness>(
    harness: &mut H,
    mut handle: SuiteHandle<H::Store>,
) -> SuiteHandle<H::Store> {
    let before = handle.contents();
    drop(handle);
    let mut again = SuiteHandle::open(harness);
    assert_eq!(again.contents(), before, "opened as it was left");
    again.checkpoint();
    drop(again);
    let mut rested = SuiteHandle::open(harness);
    assert_eq!(rested.contents(), before, "opened from rest");
    rested
}
