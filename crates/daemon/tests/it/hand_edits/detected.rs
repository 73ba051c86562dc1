//! Edits by people are recorded as events, once, and the file is reconciled with its folder.

use std::fs;

use adjutant_model::command::InitialStatus;
use adjutant_model::{AnswerVerdict, Status};
use adjutant_testkit::message::progress;
use adjutant_testkit::project::{add_request, message_request};

use super::{
    ENGINE_STATES, HandEditFixture, ID, OTHER, file, move_file, read_event_log, replace,
    short_event,
};

/// Edits a ready task, in each state of the engine, and compares the events.
fn check(edit: impl Fn(&adjutant_testkit::TestProject), expected: &[&str]) {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::with_task(Status::Ready);
        desk.edit(when, &edit);
        assert_eq!(desk.new_events_short(), expected, "{when:?}");
    }
}

fn ready() -> String {
    file(Status::Ready, ID)
}

#[test]
fn edited_field_is_recorded() {
    check(
        |project| replace(project, &ready(), "title: Task", "title: Better task"),
        &["task.edited: title"],
    );
    check(
        |project| {
            replace(project, &ready(), "priority: normal", "priority: high\nresource: staging");
        },
        &["task.edited: priority resource"],
    );
}

#[test]
fn edited_body_or_unknown_field_is_recorded_as_body() {
    let expected = ["task.edited: body"];
    check(|project| replace(project, &ready(), "Do it.", "Do *all* of it."), &expected);
    check(|project| replace(project, &ready(), "priority:", "x: 1\npriority:"), &expected);
}

#[test]
fn file_rewritten_unchanged_is_no_edit() {
    check(|project| project.write(&ready(), &project.read(&ready())), &[]);
    check(
        |project| {
            let text = project.read(&ready());
            fs::remove_file(project.path(&ready())).expect("a file");
            project.write(&ready(), &text);
        },
        &[],
    );
    check(
        |project| {
            move_file(project, &ready(), "tasks/x");
            move_file(project, "tasks/x", &ready());
        },
        &[],
    );
}

#[test]
fn added_file_becomes_a_task() {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::with_task(Status::Ready);
        let minimal = format!("---\nid: {OTHER}\ntitle: By hand\n---\nDo that.\n");
        desk.edit(when, |project| project.write(&file(Status::Backlog, OTHER), &minimal));
        assert_eq!(desk.new_events_short(), ["task.created by hand"], "{when:?}");
        assert_eq!(desk.status(OTHER), Some(Status::Backlog));
        let text = desk.project.read(&file(Status::Backlog, OTHER));
        assert_eq!(text, minimal.replace("hand\n", "hand\nstatus: backlog\n"));
    }
}

#[test]
fn files_before_the_first_start_are_adopted() {
    let mut desk = HandEditFixture::with_task(Status::Ready);
    desk.events_seen = 0;
    assert_eq!(desk.new_events_short(), ["folder.adopted"]);
}

#[test]
fn edits_after_death_of_the_first_engine_are_recorded() {
    let project = adjutant_testkit::TestProject::new();
    let mut engine = project.open_engine();
    for title in ["One", "Two", "Three"] {
        engine.submit_one(add_request(title, InitialStatus::Ready)).expect("added");
    }
    drop(engine);
    replace(&project, &ready(), "title: One", "title: Other");
    fs::remove_file(project.path(&file(Status::Ready, OTHER))).expect("a file");
    let third = "TASK-2026-02-09-003";
    move_file(&project, &file(Status::Ready, third), &file(Status::Blocked, third));
    drop(project.open_engine());
    let mut told: Vec<String> = read_event_log(&project)[3..].iter().map(short_event).collect();
    told.sort();
    let moved = "task.transitioned: ready to blocked by hand";
    assert_eq!(told, ["task.edited: title", "task.removed", moved]);
}

#[test]
fn moved_file_changes_status() {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::with_task(Status::Ready);
        let (from, to) = (ready(), file(Status::InProgress, ID));
        desk.edit(when, |project| move_file(project, &from, &to));
        let expected = ["task.transitioned: ready to in-progress by hand"];
        assert_eq!(desk.new_events_short(), expected, "{when:?}");
        let text = desk.project.read(&to);
        assert!(text.contains("\nstatus: in-progress\n"), "brought in line: {text}");
        assert!(text.contains("\nlastTransitionAt: 2026-02-09T21:00:00.000Z\n"), "{text}");
        assert_eq!(desk.project.status_folders_of(ID), [Status::InProgress]);
    }
}

#[test]
fn moved_file_against_the_table_is_flagged() {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::with_task(Status::Done);
        let to = file(Status::InProgress, ID);
        desk.edit(when, |project| move_file(project, &file(Status::Done, ID), &to));
        let expected = ["task.transitioned: done to in-progress by hand, against the table"];
        assert_eq!(desk.new_events_short(), expected, "{when:?}");
        assert_eq!(desk.status(ID), Some(Status::InProgress));
        assert!(desk.project.read(&to).contains("\nstatus: in-progress\n"));
    }
}

#[test]
fn edited_and_moved_file_gives_both_events() {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::with_task(Status::Ready);
        desk.edit(when, |project| {
            replace(project, &ready(), "title: Task", "title: Better task");
            move_file(project, &ready(), &file(Status::Blocked, ID));
        });
        let expected = ["task.edited: title", "task.transitioned: ready to blocked by hand"];
        assert_eq!(desk.new_events_short(), expected, "{when:?}");
    }
}

#[test]
fn companion_folder_follows_moved_file() {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::with_task(Status::InProgress);
        let outputs = |status: Status| format!("tasks/{status}/{ID}/outputs/summary.md");
        desk.edit(when, |project| {
            project.write(&outputs(Status::InProgress), "Done.\n");
            move_file(project, &file(Status::InProgress, ID), &file(Status::Review, ID));
        });
        assert_eq!(desk.new_events().len(), 1, "{when:?}");
        assert_eq!(desk.project.read(&outputs(Status::Review)), "Done.\n", "{when:?}");
        assert!(!desk.project.exists(&format!("tasks/in-progress/{ID}")), "{when:?}");
    }
}

#[test]
fn companion_folder_moved_by_hand_stays() {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::with_task(Status::InProgress);
        let summary = format!("tasks/review/{ID}/outputs/summary.md");
        desk.edit(when, |project| {
            project.write(&summary, "Done.\n");
            move_file(project, &file(Status::InProgress, ID), &file(Status::Review, ID));
        });
        assert_eq!(desk.new_events().len(), 1, "{when:?}");
        assert_eq!(desk.project.read(&summary), "Done.\n", "{when:?}");
        assert!(!desk.project.exists("lost+found"), "{when:?}");
    }
}

#[test]
fn removed_file_removes_the_task() {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::with_task(Status::Ready);
        desk.edit(when, |project| {
            fs::remove_file(project.path(&ready())).expect("a file");
        });
        assert_eq!(desk.new_events_short(), ["task.removed"], "{when:?}");
        assert_eq!(desk.status(ID), None);
        desk.edit(when, |project| drop(project.write_task(ID, Status::Backlog, "")));
        assert_eq!(desk.new_events_short(), ["task.created by hand"], "put back: {when:?}");
    }
}

#[test]
fn status_line_is_reconciled_with_the_folder() {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::with_task(Status::Ready);
        let before = desk.project.read(&ready());
        desk.edit(when, |project| replace(project, &ready(), "status: ready", "status: done"));
        assert_eq!(desk.new_events_short(), ["task.edited: body"], "{when:?}");
        assert_eq!(desk.status(ID), Some(Status::Ready), "the folder decides");
        assert_eq!(desk.project.read(&ready()), before);
    }
}

#[test]
fn status_line_that_was_removed_is_restored() {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::with_task(Status::Ready);
        desk.edit(when, |project| replace(project, &ready(), "status: ready\n", ""));
        assert_eq!(desk.new_events().len(), 1, "{when:?}");
        let text = desk.project.read(&ready());
        assert!(text.contains("\nstatus: ready\n"), "{text}");
    }
}

#[test]
fn message_applies_after_an_undetected_edit() {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::with_task(Status::Ready);
        let to = file(Status::InProgress, ID);
        desk.edit(when, |_| {});
        replace(&desk.project, &ready(), "Do it.", "Do *all* of it.");
        move_file(&desk.project, &ready(), &to);
        let answered =
            desk.engine().submit_one(message_request(&progress(ID, "a", "half"))).expect("it");
        assert_eq!(answered.answer.status, Some(Status::InProgress));
        let expected = [
            "task.transitioned: ready to in-progress by hand",
            "protocol.message.received",
            "task.logged",
        ];
        assert_eq!(desk.new_events_short(), expected, "{when:?}");
        let text = desk.project.read(&to);
        let body = "\n---\n\nDo *all* of it.\n\n## Work Log\n\n- 2026-02-09T21:10:00.000Z";
        assert!(text.contains(body), "{text}");
    }
}

#[test]
fn message_on_removed_task_is_refused() {
    let mut desk = HandEditFixture::with_task(Status::Ready);
    fs::remove_file(desk.project.path(&ready())).expect("a file");
    let answered =
        desk.engine().submit_one(message_request(&progress(ID, "a", "half"))).expect("an answer");
    assert_eq!(answered.answer.verdict, AnswerVerdict::Rejected);
    let expected =
        ["task.removed", "protocol.message.received", "protocol.message.rejected: task_not_found"];
    assert_eq!(desk.new_events_short(), expected);
}

#[test]
fn lease_removed_by_hand_keeps_its_fence() {
    let lease = "lease:\n  agent: swe\n  acquiredAt: 2026-02-09T20:00:00.000Z\n  \
                 expiresAt: 2026-02-09T20:05:00.000Z\n  renewCount: 0\n  attempt: 2\n  fence: 5\n";
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::open(|project| {
            drop(project.write_task(ID, Status::InProgress, lease));
        });
        let path = file(Status::InProgress, ID);
        desk.edit(when, |project| replace(project, &path, lease, ""));
        let told = desk.new_events_short();
        assert_eq!(told, ["task.edited: lease metadata.lastRun"], "{when:?}");
        let text = desk.project.read(&path);
        let last = "metadata:\n  lastRun:\n    agent: swe\n    attempt: 2\n    fence: 5\n";
        assert!(text.contains(last), "{text}");
    }
}

/// A save so soon after ours that the file system's clock has not moved, or by a program that
/// restores the time, and of the same length: the file's metadata shows no change.
#[test]
fn edit_hidden_from_metadata_is_applied_by_the_next_message() {
    for when in ENGINE_STATES {
        let mut desk = HandEditFixture::with_task(Status::InProgress);
        let path = file(Status::InProgress, ID);
        desk.edit(when, |project| {
            let file = fs::File::options().write(true).open(project.path(&path)).expect("there");
            let before = file.metadata().expect("a look").modified().expect("a time");
            let text = project.read(&path).replace("Do it.", "Do IT.");
            std::os::unix::fs::FileExt::write_all_at(&file, text.as_bytes(), 0).expect("room");
            file.set_modified(before).expect("a time");
        });
        let answered = desk
            .engine()
            .submit_one(message_request(&progress(ID, "swe-backend", "half")))
            .expect("an answer");
        assert_eq!(answered.answer.verdict, AnswerVerdict::Applied, "{when:?}");
        let text = desk.project.read(&path);
        assert!(text.contains("Do IT.") && text.contains("half"), "{when:?}: {text}");
        let told = ["task.edited: body", "protocol.message.received", "task.logged"];
        assert_eq!(desk.new_events_short(), told, "{when:?}");
    }
}
