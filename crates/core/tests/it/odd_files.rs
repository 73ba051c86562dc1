//! Task files that people wrote, moved, broke or restored from an old version.

use adjutant_core::input::{FileChange, MessageFacts, TokenOwner};
use adjutant_core::{Decision, Input, World, decide, invariants};
use adjutant_model::command::{CommandCaller, NewTask, TaskChanges};
use adjutant_model::completion::WorkOutcome;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::{Command, Status, Task, TaskId};

use crate::support::{
    TaskBuilder, after, completion, events, id, message_with, now, operator, send, task, tasks,
    verdict, world,
};

fn file(world: &World, change: FileChange) -> Decision {
    decide(world, &Input::FileChanged(change), now())
}

fn see(world: &World, seen: Task) -> World {
    after(world, &file(world, FileChange::Changed(Box::new(seen))))
}

fn run(world: &World, command: Command) -> Decision {
    let by = CommandCaller::Operator(operator());
    decide(world, &Input::Command { by, command }, now())
}

/// Checks that run 2, which run 5 replaced, is still stale after the file was read again.
fn check_still_stale(known: Task, seen: Task) {
    let world = see(&world([known]), seen);
    let token = TokenOwner::Run { nonce: None, task: id(1), fence: 2 };
    let facts = MessageFacts { token, ..MessageFacts::default() };
    let report = message_with(&completion(1, "swe", WorkOutcome::Done), facts);
    let decision = decide(&world, &report, now());
    assert_eq!(verdict(&decision), "rejected stale_run");
    assert_eq!(tasks(&after(&world, &decision)), tasks(&world));
}

#[test]
fn old_lease_in_file_does_not_revive_its_run() {
    let leased = |fence| task(1, Status::InProgress).leased_to("swe", fence);
    check_still_stale(leased(5), leased(2));
}

#[test]
fn lease_removed_from_file_is_not_forgotten() {
    let leased = task(1, Status::InProgress).leased_to("swe", 5);
    check_still_stale(leased, task(1, Status::InProgress));
}

#[test]
fn last_run_removed_from_file_is_not_forgotten() {
    let waiting = task(1, Status::Blocked).last_run_by("swe", 5);
    check_still_stale(waiting, task(1, Status::Blocked));
}

#[test]
fn file_that_comes_back_does_not_bring_back_tokens() {
    let leased = || task(1, Status::InProgress).leased_to("swe", 1).with_nonce(5);
    let over = || task(1, Status::Blocked).last_run_by("swe", 1).with_nonce(5);
    // New to the store, or with another nonce than the store knows.
    let starts = [world([]), world([leased().with_nonce(6)]), world([over().with_nonce(6)])];
    for (start, seen) in starts.iter().flat_map(|start| [(start, leased()), (start, over())]) {
        let world = see(start, seen);
        for nonce in [Some(RunNonce::from_random(5)), None] {
            let token = TokenOwner::Run { task: id(1), fence: 1, nonce };
            let facts = MessageFacts { token, ..MessageFacts::default() };
            let report = message_with(&completion(1, "swe", WorkOutcome::Done), facts);
            assert_eq!(verdict(&decide(&world, &report, now())), "rejected stale_run");
        }
    }
}

#[test]
fn contradictory_file_does_not_break_the_world() {
    let contradiction = task(1, Status::InProgress).leased_to("swe", 1).last_run_by("swe", 2);
    let known = task(1, Status::InProgress);
    for before in [world([]), world([known])] {
        let seen = see(&before, contradiction.clone());
        assert_eq!(invariants::find_violations(&seen), Vec::<String>::new());
    }
}

#[test]
fn unreadable_file_stops_only_its_own_task() {
    let mut world = world([task(1, Status::Ready), task(2, Status::InProgress)]);
    let decision = file(&world, FileChange::Unreadable(id(1)));
    assert_eq!(verdict(&decision), "noop");
    assert_eq!(events(&decision), "");
    world.set_unreadable(id(1));
    let answer = |number| verdict(&send(&world, &completion(number, "swe", WorkOutcome::Partial)));
    assert_eq!(answer(1), "rejected task_unreadable");
    assert_eq!(answer(2), "applied");
    assert_eq!(invariants::find_violations(&world), Vec::<String>::new());
}

#[test]
fn unreadable_file_that_is_repaired_is_a_task_again() {
    let mut broken = world([task(1, Status::Ready)]);
    broken.set_unreadable(id(1));
    let mended = see(&broken, task(1, Status::Review));
    assert_eq!(tasks(&mended), [task(1, Status::Review)]);
    assert!(mended.unreadable().is_empty());
}

#[test]
fn unreadable_file_that_is_removed_is_gone() {
    let mut broken = world([task(1, Status::Ready)]);
    broken.set_unreadable(id(1));
    let decision = file(&broken, FileChange::Removed(id(1)));
    assert_eq!(events(&decision), "removed");
    let gone = after(&broken, &decision);
    assert!(gone.unreadable().is_empty());
    let report = completion(1, "swe", WorkOutcome::Done);
    assert_eq!(verdict(&send(&gone, &report)), "rejected task_not_found");
}

#[test]
fn removed_file_removes_its_task_but_keeps_its_number() {
    let before = world([task(1, Status::Ready), task(2, Status::Ready)]);
    let decision = file(&before, FileChange::Removed(id(2)));
    assert_eq!(events(&decision), "removed");
    let after = after(&before, &decision);
    assert_eq!(tasks(&after), [task(1, Status::Ready)]);
    assert_eq!(after.next_id(now()), id(3));
    assert_eq!(verdict(&file(&after, FileChange::Removed(id(2)))), "noop");
}

#[test]
fn duplicate_id_takes_the_later_file() {
    let world = world([task(1, Status::Ready), task(1, Status::Review)]);
    assert_eq!(tasks(&world), [task(1, Status::Review)]);
    let stands = Status::ALL.map(|status| world.count(status));
    assert_eq!(stands, [0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(invariants::find_violations(&world), Vec::<String>::new());
}

#[test]
fn highest_possible_id_does_not_prevent_new_tasks() {
    let text = format!("TASK-2026-02-09-{}", u64::MAX);
    let last = Task { id: TaskId::parse(&text).expect("a good id"), ..task(1, Status::Ready) };
    let world = see(&world([task(7, Status::Ready)]), last);
    let new = NewTask { title: "Another".to_owned(), ..NewTask::default() };
    let decision = run(&world, Command::Add(Box::new(new)));
    assert_eq!(verdict(&decision), "applied");
    assert_eq!(tasks(&after(&world, &decision)).len(), 3);
}

#[test]
fn future_dated_task_does_not_free_todays_numbers() {
    let future = Task {
        id: TaskId::parse("TASK-2027-01-01-001").expect("a good id"),
        ..task(1, Status::Ready)
    };
    let mut world = world([task(1, Status::Ready), task(2, Status::Ready), future]);
    world.set_unreadable(id(2));
    assert_eq!(world.next_id(now()), id(3));
    let gone = file(&world, FileChange::Removed(id(1)));
    assert_eq!(after(&world, &gone).next_id(now()), id(3));
}

#[test]
fn task_cannot_be_its_own_child() {
    let world = world([task(1, Status::Ready), task(2, Status::Ready).child_of(1)]);
    for parent in [id(1), id(2)] {
        let changes = TaskChanges { parent: Some(Some(parent)), ..TaskChanges::default() };
        let edit = Command::Edit { id: id(1), changes: Box::new(changes) };
        let decision = run(&world, edit);
        assert_eq!(decision.answer.verdict.as_str(), "rejected");
        assert_eq!(tasks(&after(&world, &decision)), tasks(&world));
    }
}
