//! Commits and versions: one after the other, all or nothing, seen by every handle.

use adjutant_core::{Event, EventId, Recorded, Status, World};

use super::Harness;
use super::handle::{Handle, reopen};
use super::sample::{completed, created, every_kind, id, logged, moved, task};
use crate::batch::{Batch, Version};
use crate::document::task_file;
use crate::store::{Store, StoreError};

/// A store that nothing was committed to has nothing in it.
pub fn a_new_store_is_empty(harness: &mut impl Harness) {
    let (store, loaded) = harness.open();
    assert_eq!((loaded.world, loaded.adopted), (World::default(), None));
    let mut handle = Handle { store, world: World::default() };
    assert_eq!(handle.catch_up(), []);
    assert_eq!((handle.store.version(), handle.store.owed()), (Version(0), vec![]));
    assert_eq!((handle.document(&id(1)), handle.result(&id(1))), (None, None));
    reopen(harness, handle);
}

/// Versions count up by one, whoever commits, and are still so when the store is opened again.
pub fn a_commit_gives_the_next_version(harness: &mut impl Harness) {
    let (mut one, mut other) = (Handle::open(harness), Handle::open(harness));
    assert_eq!(one.commit(vec![created(task(1, Status::Ready), "")]), Version(1));
    assert_eq!(one.commit(vec![logged(1, "a")]), Version(2));
    assert_eq!(other.commit(vec![logged(1, "b")]), Version(3));
    assert_eq!((one.store.version(), other.store.version()), (Version(2), Version(3)));
    assert_eq!(one.look(|store| Ok(store.version())), Version(3), "it has caught up");
    drop(other);
    let mut again = reopen(harness, one);
    assert_eq!(again.commit(vec![logged(1, "c")]), Version(4));
}

/// Several tasks and several events of one task go in together.
pub fn a_batch_is_taken_whole(harness: &mut impl Harness) {
    use Status::{InProgress, Ready, Review};
    let mut handle = Handle::open(harness);
    let version = handle.commit(vec![
        created(task(1, Ready), "One.\n"),
        created(task(2, Ready), "Two.\n"),
        moved(1, Ready, InProgress),
        logged(1, "a"),
        logged(2, "b"),
        completed(1, "fine"),
        moved(1, InProgress, Review),
    ]);
    assert_eq!(version, Version(1));
    let one = handle.document(&id(1)).expect("the first task");
    assert!(one.contains("status: review") && one.contains("Progress: a"), "{one}");
    let two = handle.document(&id(2)).expect("the second task");
    assert!(two.contains("status: ready") && two.contains("Progress: b"), "{two}");
    assert!(handle.result(&id(1)).is_some());
    reopen(harness, handle);
}

/// A batch that was decided on an older version is refused, and it is as if it had never been.
pub fn a_refused_commit_changes_nothing(harness: &mut impl Harness) {
    let (mut one, mut other) = (Handle::open(harness), Handle::open(harness));
    one.commit(vec![created(task(1, Status::Ready), "Body.\n")]);
    let before = one.stand();
    for expect in [Version(0), Version(2)] {
        let change = vec![
            created(task(2, Status::Ready), ""),
            moved(1, Status::Ready, Status::InProgress),
            completed(1, "too late"),
        ];
        other.begin();
        let batch = Batch { expect, ..other.batch(change) };
        match other.try_commit(&batch) {
            Err(StoreError::Conflict { expected, now }) => {
                assert_eq!((expected, now), (expect, Version(1)));
            }
            taken => panic!("a batch for version {expect} was not refused: {taken:?}"),
        }
        assert_eq!(one.catch_up(), [], "nothing to be told");
        assert_eq!(one.stand(), before);
        assert_eq!(one.document(&id(2)), None);
    }
    drop(other);
    reopen(harness, one);
}

/// Who went ahead of a commit that was refused is brought back to what is, and can go on.
pub fn after_a_refusal_the_world_is_told_anew(harness: &mut impl Harness) {
    let (mut one, mut other) = (Handle::open(harness), Handle::open(harness));
    one.commit(vec![created(task(1, Status::Ready), "")]);
    other.begin();
    let batch =
        Batch { expect: Version(0), ..other.batch(vec![created(task(2, Status::Ready), "")]) };
    other.try_commit(&batch).expect_err("it is decided on an older version");
    assert_ne!(other.world, one.world, "it went ahead");
    other.catch_up();
    assert_eq!(other.world, one.world);
    assert_eq!(other.commit(vec![logged(1, "again")]), Version(2));
    one.catch_up();
    assert_eq!(one.world, other.world);
    drop(other);
    reopen(harness, one);
}

/// What one handle commits, another knows when it takes its turn, however long it was away.
pub fn handles_see_each_other(harness: &mut impl Harness) {
    let (mut one, mut other) = (Handle::open(harness), Handle::open(harness));
    let mut away = Handle::open(harness);
    for number in 1..=8 {
        one.commit(vec![created(task(number, Status::Ready), "")]);
        other.commit(vec![moved(number, Status::Ready, Status::InProgress), logged(number, "x")]);
        if number == 4 {
            other.rest();
        }
    }
    one.catch_up();
    away.catch_up();
    assert_eq!(one.world, other.world);
    assert_eq!(away.world, other.world);
    assert_eq!(one.stand(), other.stand());
    assert_eq!(away.stand(), other.stand());
    drop((one, other));
    reopen(harness, away);
}

/// Every kind of event comes out as it went in, but for bodies, and the world follows from them.
pub fn every_kind_of_event_is_told_and_kept(harness: &mut impl Harness) {
    let (mut one, mut other) = (Handle::open(harness), Handle::open(harness));
    let mut replayed = World::default();
    for happened in every_kind() {
        one.begin();
        let batch = one.batch(vec![happened]);
        one.try_commit(&batch).expect("it can be committed");
        let told = other.catch_up();
        assert_eq!(without_bodies(&told), without_bodies(&batch.events));
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

fn without_bodies(events: &[Recorded]) -> Vec<Recorded> {
    let strip = |recorded: &Recorded| {
        let mut recorded = recorded.clone();
        if let Event::TaskCreated { body, .. }
        | Event::TaskEdited { body, .. }
        | Event::RunSalvaged { text: body, .. } = &mut recorded.happened.event
        {
            *body = None;
        }
        recorded
    };
    events.iter().map(strip).collect()
}

/// Events are counted from 1 without a gap, over handles, refusals and openings.
pub fn events_are_counted_without_a_gap(harness: &mut impl Harness) {
    let mut watcher = Handle::open(harness);
    let mut seen: Vec<EventId> = Vec::new();
    for round in 0..3 {
        let mut handle = Handle::open(harness);
        let first = 3 * round + 1;
        handle.commit((first..first + 3).map(|n| created(task(n, Status::Ready), "")).collect());
        handle.begin();
        let refused = Batch { expect: Version(99), ..handle.batch(vec![logged(1, "no")]) };
        handle.try_commit(&refused).expect_err("there is no such version");
        handle.commit(vec![logged(1, "yes")]);
        if round == 1 {
            handle.rest();
        }
        seen.extend(watcher.catch_up().iter().map(|recorded| recorded.id));
        assert_eq!(watcher.world.last_event(), EventId(4 * (round + 1)));
    }
    assert_eq!(seen, (1..=12).map(EventId).collect::<Vec<_>>());
    reopen(harness, watcher);
}

/// Rest and tending are for the store's own good: nothing else changes.
pub fn a_store_at_rest_is_what_it_was(harness: &mut impl Harness) {
    let mut handle = Handle::open(harness);
    handle.commit(every_kind());
    let before = handle.stand();
    for _ in 0..3 {
        handle.rest();
        assert_eq!(handle.stand(), before);
    }
    let mut other = Handle::open(harness);
    assert_eq!(other.stand(), before);
    assert_eq!(other.commit(vec![logged(1, "on")]), Version(2));
    drop(other);
    reopen(harness, handle);
}
