//! What people do to files is taken in as events, once, and the file is brought in line.

use std::fs;

use adjutant_core::command::Start;
use adjutant_core::{Status, Verdict};
use adjutant_testkit::message::progress;
use adjutant_testkit::project::{add, send};

use super::{ALWAYS, Desk, ID, OTHER, file, in_short, record, replace, shift};

/// Does something to a task that is ready, at every time, and compares what is told.
fn check(edit: impl Fn(&adjutant_testkit::Project), expected: &[&str]) {
    for when in ALWAYS {
        let mut desk = Desk::with_task(Status::Ready);
        desk.edit(when, &edit);
        assert_eq!(desk.told_in_short(), expected, "{when:?}");
    }
}

fn ready() -> String {
    file(Status::Ready, ID)
}

#[test]
fn a_field_that_was_edited() {
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
fn a_body_or_a_field_of_others_that_was_edited() {
    let expected = ["task.edited: body"];
    check(|project| replace(project, &ready(), "Do it.", "Do *all* of it."), &expected);
    check(|project| replace(project, &ready(), "priority:", "x: 1\npriority:"), &expected);
}

#[test]
fn a_file_that_says_the_same_is_no_edit() {
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
            shift(project, &ready(), "tasks/x");
            shift(project, "tasks/x", &ready());
        },
        &[],
    );
}

#[test]
fn a_file_that_was_added() {
    for when in ALWAYS {
        let mut desk = Desk::with_task(Status::Ready);
        let minimal = format!("---\nid: {OTHER}\ntitle: By hand\n---\nDo that.\n");
        desk.edit(when, |project| project.write(&file(Status::Backlog, OTHER), &minimal));
        assert_eq!(desk.told_in_short(), ["task.created by hand"], "{when:?}");
        assert_eq!(desk.status(OTHER), Some(Status::Backlog));
        let text = desk.project.read(&file(Status::Backlog, OTHER));
        assert_eq!(text, minimal.replace("hand\n", "hand\nstatus: backlog\n"));
    }
}

#[test]
fn files_that_were_there_before_the_first_start_are_told_of() {
    let mut desk = Desk::with_task(Status::Ready);
    desk.told = 0;
    assert_eq!(desk.told_in_short(), ["folder.adopted"]);
}

#[test]
fn edits_after_the_death_of_the_first_engine_are_told_of() {
    let project = adjutant_testkit::Project::new();
    let mut engine = project.engine();
    for title in ["One", "Two", "Three"] {
        engine.submit_one(add(title, Start::Ready)).expect("added");
    }
    drop(engine);
    replace(&project, &ready(), "title: One", "title: Other");
    fs::remove_file(project.path(&file(Status::Ready, OTHER))).expect("a file");
    let third = "TASK-2026-02-09-003";
    shift(&project, &file(Status::Ready, third), &file(Status::Blocked, third));
    drop(project.engine());
    let mut told: Vec<String> = record(&project)[3..].iter().map(in_short).collect();
    told.sort();
    let moved = "task.transitioned: ready to blocked by hand";
    assert_eq!(told, ["task.edited: title", "task.removed", moved]);
}

#[test]
fn a_file_that_was_moved_along_the_table() {
    for when in ALWAYS {
        let mut desk = Desk::with_task(Status::Ready);
        let (from, to) = (ready(), file(Status::InProgress, ID));
        desk.edit(when, |project| shift(project, &from, &to));
        let expected = ["task.transitioned: ready to in-progress by hand"];
        assert_eq!(desk.told_in_short(), expected, "{when:?}");
        let text = desk.project.read(&to);
        assert!(text.contains("\nstatus: in-progress\n"), "brought in line: {text}");
        assert!(text.contains("\nlastTransitionAt: 2026-02-09T21:00:00.000Z\n"), "{text}");
        assert_eq!(desk.project.folders_of(ID), [Status::InProgress]);
    }
}

#[test]
fn a_file_that_was_moved_against_the_table_is_flagged() {
    for when in ALWAYS {
        let mut desk = Desk::with_task(Status::Done);
        let to = file(Status::InProgress, ID);
        desk.edit(when, |project| shift(project, &file(Status::Done, ID), &to));
        let expected = ["task.transitioned: done to in-progress by hand, against the table"];
        assert_eq!(desk.told_in_short(), expected, "{when:?}");
        assert_eq!(desk.status(ID), Some(Status::InProgress));
        assert!(desk.project.read(&to).contains("\nstatus: in-progress\n"));
    }
}

#[test]
fn a_file_that_was_edited_and_moved() {
    for when in ALWAYS {
        let mut desk = Desk::with_task(Status::Ready);
        desk.edit(when, |project| {
            replace(project, &ready(), "title: Task", "title: Better task");
            shift(project, &ready(), &file(Status::Blocked, ID));
        });
        let expected = ["task.edited: title", "task.transitioned: ready to blocked by hand"];
        assert_eq!(desk.told_in_short(), expected, "{when:?}");
    }
}

#[test]
fn a_companion_folder_follows_a_file_that_was_moved() {
    for when in ALWAYS {
        let mut desk = Desk::with_task(Status::InProgress);
        let outputs = |status: Status| format!("tasks/{status}/{ID}/outputs/summary.md");
        desk.edit(when, |project| {
            project.write(&outputs(Status::InProgress), "Done.\n");
            shift(project, &file(Status::InProgress, ID), &file(Status::Review, ID));
        });
        assert_eq!(desk.told().len(), 1, "{when:?}");
        assert_eq!(desk.project.read(&outputs(Status::Review)), "Done.\n", "{when:?}");
        assert!(!desk.project.has(&format!("tasks/in-progress/{ID}")), "{when:?}");
    }
}

#[test]
fn a_companion_folder_that_was_moved_too_stays() {
    for when in ALWAYS {
        let mut desk = Desk::with_task(Status::InProgress);
        let summary = format!("tasks/review/{ID}/outputs/summary.md");
        desk.edit(when, |project| {
            project.write(&summary, "Done.\n");
            shift(project, &file(Status::InProgress, ID), &file(Status::Review, ID));
        });
        assert_eq!(desk.told().len(), 1, "{when:?}");
        assert_eq!(desk.project.read(&summary), "Done.\n", "{when:?}");
        assert!(!desk.project.has("lost+found"), "{when:?}");
    }
}

#[test]
fn a_file_that_was_removed() {
    for when in ALWAYS {
        let mut desk = Desk::with_task(Status::Ready);
        desk.edit(when, |project| {
            fs::remove_file(project.path(&ready())).expect("a file");
        });
        assert_eq!(desk.told_in_short(), ["task.removed"], "{when:?}");
        assert_eq!(desk.status(ID), None);
        desk.edit(when, |project| drop(project.task(ID, Status::Backlog, "")));
        assert_eq!(desk.told_in_short(), ["task.created by hand"], "put back: {when:?}");
    }
}

#[test]
fn a_status_line_is_brought_in_line_with_the_folder() {
    for when in ALWAYS {
        let mut desk = Desk::with_task(Status::Ready);
        let before = desk.project.read(&ready());
        desk.edit(when, |project| replace(project, &ready(), "status: ready", "status: done"));
        assert_eq!(desk.told_in_short(), ["task.edited: body"], "{when:?}");
        assert_eq!(desk.status(ID), Some(Status::Ready), "the folder decides");
        assert_eq!(desk.project.read(&ready()), before);
    }
}

#[test]
fn a_status_line_that_was_taken_away_is_put_back() {
    for when in ALWAYS {
        let mut desk = Desk::with_task(Status::Ready);
        desk.edit(when, |project| replace(project, &ready(), "status: ready\n", ""));
        assert_eq!(desk.told().len(), 1, "{when:?}");
        let text = desk.project.read(&ready());
        assert!(text.contains("\nstatus: ready\n"), "{text}");
    }
}

#[test]
fn a_message_finds_the_task_as_the_person_left_it() {
    for when in ALWAYS {
        let mut desk = Desk::with_task(Status::Ready);
        let to = file(Status::InProgress, ID);
        desk.edit(when, |_| {});
        replace(&desk.project, &ready(), "Do it.", "Do *all* of it.");
        shift(&desk.project, &ready(), &to);
        let answered = desk.engine().submit_one(send(&progress(ID, "a", "half"))).expect("it");
        assert_eq!(answered.answer.status, Some(Status::InProgress));
        let expected = [
            "task.transitioned: ready to in-progress by hand",
            "protocol.message.received",
            "task.logged",
        ];
        assert_eq!(desk.told_in_short(), expected, "{when:?}");
        let text = desk.project.read(&to);
        let body = "\n---\n\nDo *all* of it.\n\n## Work Log\n\n- 2026-02-09T21:10:00.000Z";
        assert!(text.contains(body), "{text}");
    }
}

#[test]
fn a_message_on_a_task_that_was_removed_is_refused() {
    let mut desk = Desk::with_task(Status::Ready);
    fs::remove_file(desk.project.path(&ready())).expect("a file");
    let answered = desk.engine().submit_one(send(&progress(ID, "a", "half"))).expect("an answer");
    assert_eq!(answered.answer.verdict, Verdict::Rejected);
    let expected =
        ["task.removed", "protocol.message.received", "protocol.message.rejected: task_not_found"];
    assert_eq!(desk.told_in_short(), expected);
}

#[test]
fn a_lease_that_an_editor_threw_away_does_not_free_an_older_run() {
    let lease = "lease:\n  agent: swe\n  acquiredAt: 2026-02-09T20:00:00.000Z\n  \
                 expiresAt: 2026-02-09T20:05:00.000Z\n  renewCount: 0\n  attempt: 2\n  fence: 5\n";
    for when in ALWAYS {
        let mut desk = Desk::open(|project| drop(project.task(ID, Status::InProgress, lease)));
        let path = file(Status::InProgress, ID);
        desk.edit(when, |project| replace(project, &path, lease, ""));
        let told = desk.told_in_short();
        assert_eq!(told, ["task.edited: lease metadata.lastRun"], "{when:?}");
        let text = desk.project.read(&path);
        let last = "metadata:\n  lastRun:\n    agent: swe\n    attempt: 2\n    fence: 5\n";
        assert!(text.contains(last), "{text}");
    }
}

/// A save so soon after ours that the clock of the file system has not moved, or one by a program
/// that sets the time back, and of the same length: the file looks as if nobody had touched it.
#[test]
fn an_edit_that_cannot_be_seen_from_outside_is_taken_in_by_the_next_message() {
    for when in ALWAYS {
        let mut desk = Desk::with_task(Status::InProgress);
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
            .submit_one(send(&progress(ID, "swe-backend", "half")))
            .expect("an answer");
        assert_eq!(answered.answer.verdict, Verdict::Applied, "{when:?}");
        let text = desk.project.read(&path);
        assert!(text.contains("Do IT.") && text.contains("half"), "{when:?}: {text}");
        let told = ["task.edited: body", "protocol.message.received", "task.logged"];
        assert_eq!(desk.told_in_short(), told, "{when:?}");
    }
}
