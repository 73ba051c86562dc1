//! What files that people wrote, moved, broke or brought back from the past can do, and cannot.

use crate::support::{
    Given, after, completion, events, id, message_with, now, operator, send, task, tasks, verdict,
    world,
};
use adjutant_core::command::{Caller, Changes, NewTask};
use adjutant_core::completion::Outcome;
use adjutant_core::input::{Facts, FileChange, Token};
use adjutant_core::{Command, Decision, Input, Status, Task, TaskId, World, decide, invariants};

fn file(world: &World, change: FileChange) -> Decision {
    decide(world, &Input::File(change), now())
}

fn see(world: &World, seen: Task) -> World {
    after(world, &file(world, FileChange::Seen(Box::new(seen))))
}

fn run(world: &World, command: Command) -> Decision {
    let by = Caller::Operator(operator());
    decide(world, &Input::Command { by, command }, now())
}

/// Checks that run 2, which run 5 has replaced, stays replaced once the file is seen as it is now.
fn check_still_stale(known: Task, seen: Task) {
    let world = see(&world([known]), seen);
    let token = Token::Run { task: id(1), fence: 2 };
    let facts = Facts { token, ..Facts::default() };
    let report = message_with(&completion(1, "swe", Outcome::Done), facts);
    let decision = decide(&world, &report, now());
    assert_eq!(verdict(&decision), "rejected stale_run");
    assert_eq!(tasks(&after(&world, &decision)), tasks(&world));
}

#[test]
fn a_lease_brought_back_from_the_past_does_not_bring_back_its_run() {
    let leased = |fence| task(1, Status::InProgress).leased_to("swe", fence);
    check_still_stale(leased(5), leased(2));
}

#[test]
fn a_lease_taken_out_of_the_file_is_not_forgotten() {
    let leased = task(1, Status::InProgress).leased_to("swe", 5);
    check_still_stale(leased, task(1, Status::InProgress));
}

#[test]
fn a_last_run_taken_out_of_the_file_is_not_forgotten() {
    let waiting = task(1, Status::Blocked).last_run_by("swe", 5);
    check_still_stale(waiting, task(1, Status::Blocked));
}

#[test]
fn a_file_that_contradicts_itself_does_not_break_the_world() {
    let contradiction = task(1, Status::InProgress).leased_to("swe", 1).last_run_by("swe", 2);
    let known = task(1, Status::InProgress);
    for before in [world([]), world([known])] {
        let seen = see(&before, contradiction.clone());
        assert_eq!(invariants::broken(&seen), Vec::<String>::new());
    }
}

#[test]
fn a_file_that_cannot_be_read_stops_its_task_and_no_other() {
    let mut world = world([task(1, Status::Ready), task(2, Status::InProgress)]);
    let decision = file(&world, FileChange::Unreadable(id(1)));
    assert_eq!(verdict(&decision), "noop");
    assert_eq!(events(&decision), "");
    world.set_unreadable(id(1));
    let answer = |number| verdict(&send(&world, &completion(number, "swe", Outcome::Partial)));
    assert_eq!(answer(1), "rejected task_unreadable");
    assert_eq!(answer(2), "applied");
    assert_eq!(invariants::broken(&world), Vec::<String>::new());
}

#[test]
fn a_file_that_can_be_read_again_is_a_task_again() {
    let mut broken = world([task(1, Status::Ready)]);
    broken.set_unreadable(id(1));
    let mended = see(&broken, task(1, Status::Review));
    assert_eq!(tasks(&mended), [task(1, Status::Review)]);
    assert!(mended.unreadable().is_empty());
}

#[test]
fn a_file_that_could_not_be_read_and_is_taken_away_is_gone() {
    let mut broken = world([task(1, Status::Ready)]);
    broken.set_unreadable(id(1));
    let decision = file(&broken, FileChange::Gone(id(1)));
    assert_eq!(events(&decision), "removed");
    let gone = after(&broken, &decision);
    assert!(gone.unreadable().is_empty());
    let report = completion(1, "swe", Outcome::Done);
    assert_eq!(verdict(&send(&gone, &report)), "rejected task_not_found");
}

#[test]
fn a_file_taken_away_takes_its_task_with_it_and_not_its_number() {
    let before = world([task(1, Status::Ready), task(2, Status::Ready)]);
    let decision = file(&before, FileChange::Gone(id(2)));
    assert_eq!(events(&decision), "removed");
    let after = after(&before, &decision);
    assert_eq!(tasks(&after), [task(1, Status::Ready)]);
    assert_eq!(after.next_id(now()), id(3));
    assert_eq!(verdict(&file(&after, FileChange::Gone(id(2)))), "noop");
}

#[test]
fn of_two_files_with_the_same_id_the_later_one_counts() {
    let world = world([task(1, Status::Ready), task(1, Status::Review)]);
    assert_eq!(tasks(&world), [task(1, Status::Review)]);
    let stands = Status::ALL.map(|status| world.count(status));
    assert_eq!(stands, [0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(invariants::broken(&world), Vec::<String>::new());
}

#[test]
fn an_id_with_the_highest_number_there_is_does_not_stop_new_tasks() {
    let text = format!("TASK-2026-02-09-{}", u64::MAX);
    let last = Task { id: TaskId::parse(&text).expect("a good id"), ..task(1, Status::Ready) };
    let world = see(&world([task(7, Status::Ready)]), last);
    let new = NewTask { title: "Another".to_owned(), ..NewTask::default() };
    let decision = run(&world, Command::Add(Box::new(new)));
    assert_eq!(verdict(&decision), "applied");
    assert_eq!(tasks(&after(&world, &decision)).len(), 3);
}

#[test]
fn a_task_dated_in_the_future_does_not_make_todays_numbers_free_again() {
    let future = Task {
        id: TaskId::parse("TASK-2027-01-01-001").expect("a good id"),
        ..task(1, Status::Ready)
    };
    let mut world = world([task(1, Status::Ready), task(2, Status::Ready), future]);
    world.set_unreadable(id(2));
    assert_eq!(world.next_id(now()), id(3));
    let gone = file(&world, FileChange::Gone(id(1)));
    assert_eq!(after(&world, &gone).next_id(now()), id(3));
}

#[test]
fn a_task_cannot_be_made_a_part_of_itself() {
    let world = world([task(1, Status::Ready), task(2, Status::Ready).child_of(1)]);
    for parent in [id(1), id(2)] {
        let changes = Changes { parent: Some(Some(parent)), ..Changes::default() };
        let edit = Command::Edit { id: id(1), changes: Box::new(changes) };
        let decision = run(&world, edit);
        assert_eq!(decision.answer.verdict.as_str(), "rejected");
        assert_eq!(tasks(&after(&world, &decision)), tasks(&world));
    }
}
