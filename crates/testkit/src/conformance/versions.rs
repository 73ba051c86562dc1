//! Cases about commits and versions: in order, all or nothing, visible to every handle.

use adjutant_core::World;
use adjutant_model::{Event, EventId, RecordedEvent, Status};
use adjutant_store::batch::{CommitBatch, StoreVersion};
use adjutant_store::document_paths::task_file;
use adjutant_store::store::{Store, StoreError};

use super::StoreHarness;
use super::handle::{SuiteHandle, reopen};
use super::sample::{completed, created, every_event_kind, id, logged, moved, task};

pub fn new_store_is_empty(harness: &mut impl StoreHarness) {
    let (store, loaded) = harness.open();
    assert_eq!((loaded.world, loaded.adopted_tasks), (World::default(), None));
    let mut handle = SuiteHandle { store, world: World::default() };
    assert_eq!(handle.catch_up(), []);
    assert_eq!((handle.store.version(), handle.store.pending_effects()), (StoreVersion(0), vec![]));
    assert_eq!((handle.document(&id(1)), handle.result(&id(1))), (None, None));
    reopen(harness, handle);
}

/// Every commit of any handle adds 1 to the version, also after reopening.
pub fn commit_returns_the_next_version(harness: &mut impl StoreHarness) {
    let (mut one, mut other) = (SuiteHandle::open(harness), SuiteHandle::open(harness));
    assert_eq!(one.commit(vec![created(task(1, Status::Ready), "")]), StoreVersion(1));
    assert_eq!(one.commit(vec![logged(1, "a")]), StoreVersion(2));
    assert_eq!(other.commit(vec![logged(1, "b")]), StoreVersion(3));
    assert_eq!((one.store.version(), other.store.version()), (StoreVersion(2), StoreVersion(3)));
    assert_eq!(one.with_lock(|store| Ok(store.version())), StoreVersion(3), "it has caught up");
    drop(other);
    let mut again = reopen(harness, one);
    assert_eq!(again.commit(vec![logged(1, "c")]), StoreVersion(4));
}

/// Events of several tasks, and several events of one task, are committed together.
pub fn batch_is_committed_whole(harness: &mut impl StoreHarness) {
    use Status::{InProgress, Ready, Review};
    let mut handle = SuiteHandle::open(harness);
    let version = handle.commit(vec![
        created(task(1, Ready), "One.\n"),
        created(task(2, Ready), "Two.\n"),
        moved(1, Ready, InProgress),
        logged(1, "a"),
        logged(2, "b"),
        completed(1, "fine"),
        moved(1, InProgress, Review),
    ]);
    assert_eq!(version, StoreVersion(1));
    let one = handle.document(&id(1)).expect("the first task");
    assert!(one.contains("status: review") && one.contains("Progress: a"), "{one}");
    let two = handle.document(&id(2)).expect("the second task");
    assert!(two.contains("status: ready") && two.contains("Progress: b"), "{two}");
    assert!(handle.result(&id(1)).is_some());
    reopen(harness, handle);
}

/// A batch that was decided on another version is refused and changes nothing.
pub fn refused_commit_changes_nothing(harness: &mut impl StoreHarness) {
    let (mut one, mut other) = (SuiteHandle::open(harness), SuiteHandle::open(harness));
    one.commit(vec![created(task(1, Status::Ready), "Body.\n")]);
    let before = one.contents();
    for expect in [StoreVersion(0), StoreVersion(2)] {
        let change = vec![
            created(task(2, Status::Ready), ""),
            moved(1, Status::Ready, Status::InProgress),
            completed(1, "too late"),
        ];
        other.begin();
        let batch = CommitBatch { expected_version: expect, ..other.batch(change) };
        match other.try_commit(&batch) {
            Err(StoreError::Conflict { expected, now }) => {
                assert_eq!((expected, now), (expect, StoreVersion(1)));
            }
            taken => panic!("a batch for version {expect} was not refused: {taken:?}"),
        }
        assert_eq!(one.catch_up(), [], "nothing to be told");
        assert_eq!(one.contents(), before);
        assert_eq!(one.document(&id(2)), None);
    }
    drop(other);
    reopen(harness, one);
}

/// After a refused commit, `begin` returns a reload that discards the events applied too early.
pub fn refused_commit_causes_reload(harness: &mut impl StoreHarness) {
    let (mut one, mut other) = (SuiteHandle::open(harness), SuiteHandle::open(harness));
    one.commit(vec![created(task(1, Status::Ready), "")]);
    other.begin();
    let batch = CommitBatch {
        expected_version: StoreVersion(0),
        ..other.batch(vec![created(task(2, Status::Ready), "")])
    };
    other.try_commit(&batch).expect_err("it is decided on an older version");
    assert_ne!(other.world, one.world, "it went ahead");
    other.catch_up();
    assert_eq!(other.world, one.world);
    assert_eq!(other.commit(vec![logged(1, "again")]), StoreVersion(2));
    one.catch_up();
    assert_eq!(one.world, other.world);
    drop(other);
    reopen(harness, one);
}

/// A handle sees the commits of others when it takes the write lock, however many it missed.
pub fn handles_see_commits_of_each_other(harness: &mut impl StoreHarness) {
    let (mut one, mut other) = (SuiteHandle::open(harness), SuiteHandle::open(harness));
    let mut away = SuiteHandle::open(harness);
    for number in 1..=8 {
        one.commit(vec![created(task(number, Status::Ready), "")]);
        other.commit(vec![moved(number, Status::Ready, Status::InProgress), logged(number, "x")]);
        if number == 4 {
            other.checkpoint();
        }
    }
    one.catch_up();
    away.catch_up();
    assert_eq!(one.world, other.world);
    assert_eq!(away.world, other.world);
    assert_eq!(one.contents(), other.contents());
    assert_eq!(away.contents(), other.contents());
    drop((one, other));
    reopen(harness, away);
}

/// Every kind of event is read back as it was written, except bodies, and yields the same world.
pub fn every_event_kind_is_read_back(harness: &mut impl StoreHarness) {
    let (mut one, mut other) = (SuiteHandle::open(harness), SuiteHandle::open(harness));
    let mut replayed = World::default();
    for happened in every_event_kind() {
        one.begin();
        let batch = one.batch(vec![happened]);
        one.try_commit(&batch).expect("it can be committed");
        let events = other.catch_up();
        assert_eq!(without_bodies(&events), without_bodies(&batch.events));
        for event in &batch.events {
            replayed.apply(event);
        }
        assert_eq!(other.world, replayed);
    }
    harness.remove(&task_file(Status::InProgress, &id(3)));
    one.commit_removal(3);
    other.catch_up();
    assert_eq!(other.world, one.world);
    assert_eq!(other.world.task(&id(3)), None);
    drop(other);
    reopen(harness, one);
}

fn without_bodies(events: &[RecordedEvent]) -> Vec<RecordedEvent> {
    let strip = |recorded: &RecordedEvent| {
        let mut recorded = recorded.clone();
        if let Event::TaskCreated { body, .. }
        | Event::TaskEdited { body, .. }
        | Event::RunSalvaged { text: body, .. } = &mut recorded.new_event.event
        {
            *body = None;
        }
        recorded
    };
    events.iter().map(strip).collect()
}

/// Event ids count from 1 without a gap, across handles, refusals and reopenings.
pub fn event_ids_have_no_gap(harness: &mut impl StoreHarness) {
    let mut watcher = SuiteHandle::open(harness);
    let mut seen: Vec<EventId> = Vec::new();
    for round in 0..3 {
        let mut handle = SuiteHandle::open(harness);
        let first = 3 * round + 1;
        handle.commit((first..first + 3).map(|n| created(task(n, Status::Ready), "")).collect());
        handle.begin();
        let refused = CommitBatch {
            expected_version: StoreVersion(99),
            ..handle.batch(vec![logged(1, "no")])
        };
        handle.try_commit(&refused).expect_err("there is no such version");
        handle.commit(vec![logged(1, "yes")]);
        if round == 1 {
            handle.checkpoint();
        }
        seen.extend(watcher.catch_up().iter().map(|recorded| recorded.id));
        assert_eq!(watcher.world.last_event(), EventId(4 * (round + 1)));
    }
    assert_eq!(seen, (1..=12).map(EventId).collect::<Vec<_>>());
    reopen(harness, watcher);
}

/// `rest` and `maintain` change nothing that the trait shows.
pub fn checkpoint_changes_nothing_visible(harness: &mut impl StoreHarness) {
    let mut handle = SuiteHandle::open(harness);
    handle.commit(every_event_kind());
    let before = handle.contents();
    for _ in 0..3 {
        handle.checkpoint();
        assert_eq!(handle.contents(), before);
    }
    let mut other = SuiteHandle::open(harness);
    assert_eq!(other.contents(), before);
    assert_eq!(other.commit(vec![logged(1, "on")]), StoreVersion(2));
    drop(other);
    reopen(harness, handle);
}
