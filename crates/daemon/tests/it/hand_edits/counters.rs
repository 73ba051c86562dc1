//! Attempts, fences and the end of a task belong to the store: an older file does not set them back.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use adjutant_engine::EngineAnswer;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::{AgentId, Command, Event, Status, TaskId};
use adjutant_testkit::message::completion;
use adjutant_testkit::project::{message_request, operator_request};

use super::{ENGINE_STATES, HandEditFixture, ID, file, move_file, read_event_log};

fn id() -> TaskId {
    TaskId::parse(ID).expect("a good id")
}

fn swe() -> AgentId {
    AgentId::parse("swe").expect("a good name")
}

/// Lets an agent that works elsewhere fetch the task, and returns attempt and fence.
fn fetch(desk: &mut HandEditFixture) -> (u32, u64) {
    desk.project.clock.advance_ms(60_000);
    let take = Command::Take { agent: swe(), nonce: Some(RunNonce::from_random(7)) };
    let answered = desk.engine().submit_one(operator_request(take)).expect("an answer");
    let started = |answered: &EngineAnswer| {
        answered.events.iter().find_map(|recorded| match &recorded.new_event.event {
            Event::RunStarted { attempt, fence, .. } => Some((*attempt, *fence)),
            _ => None,
        })
    };
    started(&answered).unwrap_or_else(|| panic!("no run: {answered:?}"))
}

fn ready_task() -> (HandEditFixture, String) {
    let desk = HandEditFixture::open(|project| {
        project.write_task(ID, Status::Ready, "routing:\n  agent: swe\n");
    });
    let text = desk.project.read(&file(Status::Ready, ID));
    (desk, text)
}

#[test]
fn task_file_that_returns_older_keeps_attempt_and_fence() {
    for when in ENGINE_STATES {
        let (mut desk, old) = ready_task();
        assert_eq!(fetch(&mut desk), (1, 1));
        desk.edit(when, |project| {
            fs::remove_file(project.path(&file(Status::InProgress, ID))).expect("a file");
        });
        assert_eq!(desk.status(ID), None);
        desk.edit(when, |project| {
            project.write(&file(Status::Ready, ID), &old.replace("title: ", "title: New "));
        });
        let task = desk.engine().world().task(&id()).cloned().expect("it is back");
        assert_eq!((&*task.title, task.status()), (&*format!("New Task {ID}"), Status::Ready));
        assert_eq!(fetch(&mut desk), (2, 2), "{when:?}");
    }
}

#[test]
fn older_text_in_place_changes_only_what_people_own() {
    for when in ENGINE_STATES {
        let (mut desk, old) = ready_task();
        fetch(&mut desk);
        desk.engine()
            .submit_one(message_request(&completion(ID, "swe", "done")))
            .expect("an answer");
        let before = desk.engine().world().task(&id()).cloned().expect("a task");
        assert_eq!(before.status(), Status::Review);
        desk.edit(when, |project| {
            let text =
                old.replace("title: ", "title: New ").replace("status: ready", "status: review");
            project.write(&file(Status::Review, ID), &text);
        });
        let after = desk.engine().world().task(&id()).cloned().expect("a task");
        assert_eq!(&*after.title, format!("New Task {ID}"), "{when:?}");
        assert_eq!(after.last_run, before.last_run, "{when:?}");
        assert_eq!(after.reported_by, before.reported_by, "{when:?}");
        assert_eq!(after.history, before.history, "{when:?}");
        let text = desk.project.read(&file(Status::Review, ID));
        assert!(text.contains("reportedBy: swe"), "the file has it again: {text}");
    }
}

#[test]
fn closed_task_stays_closed_when_an_older_file_comes_back() {
    for when in ENGINE_STATES {
        for goes_away in [false, true] {
            let (mut desk, old) = ready_task();
            desk.project.clock.advance_ms(60_000);
            let cancel = Command::Cancel { id: id(), reason: "no".into() };
            desk.engine().submit_one(operator_request(cancel)).expect("an answer");
            let closed = file(Status::Cancelled, ID);
            let remove = |project: &adjutant_testkit::TestProject| {
                fs::remove_file(project.path(&closed)).expect("a file");
            };
            if goes_away {
                desk.edit(when, remove);
                desk.edit(when, |project| project.write(&file(Status::Ready, ID), &old));
            } else {
                desk.edit(when, |project| {
                    remove(project);
                    project.write(&file(Status::Ready, ID), &old);
                });
            }
            assert_eq!(desk.status(ID), Some(Status::Cancelled), "{when:?} {goes_away}");
            assert_eq!(desk.project.status_folders_of(ID), [Status::Cancelled], "{when:?}");
        }
    }
}

#[test]
fn closed_task_that_a_person_moves_is_open_again() {
    let (mut desk, _) = ready_task();
    let cancel = Command::Cancel { id: id(), reason: "no".into() };
    desk.engine().submit_one(operator_request(cancel)).expect("an answer");
    let (from, to) = (file(Status::Cancelled, ID), file(Status::Ready, ID));
    desk.edit(ENGINE_STATES[0], |project| move_file(project, &from, &to));
    assert_eq!(desk.status(ID), Some(Status::Ready), "a person decided it");
}

#[test]
fn counters_without_a_journal_continue_from_event_log_and_attempts() {
    let (mut desk, old) = ready_task();
    assert_eq!(fetch(&mut desk), (1, 1));
    desk.engine().rest().expect("at rest");
    desk.engine = None;
    fs::remove_dir_all(desk.project.path("journal")).expect("a folder");
    fs::remove_file(desk.project.path(&file(Status::InProgress, ID))).expect("a file");
    desk.project.write(&file(Status::Ready, ID), &old);
    assert_eq!(fetch(&mut desk), (2, 2), "the event log knows the first run");
    desk.engine = None;
    fs::remove_dir_all(desk.project.path("journal")).expect("a folder");
    fs::remove_dir_all(desk.project.path("events")).expect("a folder");
    fs::remove_file(desk.project.path(&file(Status::InProgress, ID))).expect("a file");
    desk.project.write(&file(Status::Ready, ID), &old);
    desk.project.write(&format!("runs/{ID}/attempts/7/output.log"), "a line\n");
    let (attempt, fence) = fetch(&mut desk);
    assert!(attempt == 8 && fence > 2, "the folders know the seventh run: {attempt}, {fence}");
}

#[test]
fn old_token_is_refused_after_the_file_came_back() {
    let (mut desk, old) = ready_task();
    fetch(&mut desk);
    let leased = desk.project.read(&file(Status::InProgress, ID));
    desk.edit(ENGINE_STATES[0], |project| {
        fs::remove_file(project.path(&file(Status::InProgress, ID))).expect("a file");
    });
    desk.edit(ENGINE_STATES[0], |project| {
        project.write(&file(Status::InProgress, ID), &leased);
    });
    let task = desk.engine().world().task(&id()).cloned().expect("a task");
    let agent = task.agent_of_run(1, Some(RunNonce::from_random(7)));
    assert_eq!(agent, None, "its run was told to stop");
    assert!(old.contains("status: ready"));
}

#[test]
fn move_during_a_scan_is_never_a_removal() {
    const MOVES: u32 = 400;
    let mut desk = HandEditFixture::open(|project| {
        project.write_task(ID, Status::Backlog, "");
        for number in 100..200 {
            project.write_task(&format!("TASK-2026-02-09-{number}"), Status::Ready, "");
        }
    });
    let ended = AtomicBool::new(false);
    let (here, there) = (
        desk.project.path(&file(Status::Backlog, ID)),
        desk.project.path(&file(Status::Deadletter, ID)),
    );
    let first = read_event_log(&desk.project).len();
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..MOVES {
                fs::rename(&here, &there).or_else(|_| fs::rename(&there, &here)).ok();
                thread::yield_now();
            }
            ended.store(true, Ordering::Relaxed);
        });
        while !ended.load(Ordering::Relaxed) {
            // A file that moves on before each commit is a conflict, which the next scan settles.
            let _ = desk.engine().check_all_files();
        }
    });
    desk.engine().check_all_files().expect("a look around");
    let events = read_event_log(&desk.project);
    let removed =
        |event: &Event| matches!(event, Event::TaskRemoved {} | Event::TaskCreated { .. });
    let removals = events[first..].iter().filter(|it| removed(&it.new_event.event)).count();
    assert_eq!(removals, 0, "of {} events", events.len() - first);
}
