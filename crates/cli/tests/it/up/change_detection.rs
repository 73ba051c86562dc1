//! Changes by others while a daemon runs are noticed at once. The poll interval never elapses here.

use std::fs;

use crate::up::project::{DaemonProject, document, wait_for};

const DOES: &str = "steps: [{report: {outcome: done}}]";

#[test]
fn added_task_is_assigned_without_polling() {
    let stage = DaemonProject::new("").with_agent("actor", DOES);
    let up = stage.up();
    let id = stage.add("actor");
    wait_for("it is done", || stage.status(&id) == "done");
    up.kill();
    stage.until_idle();
}

#[test]
fn command_works_with_and_without_daemon_socket() {
    let stage = DaemonProject::new("").with_agent("actor", DOES);
    let up = stage.up();
    // Without the socket, the command cannot ask the daemon and writes the folder itself.
    fs::remove_file(stage.path("journal/door")).expect("there is a door");
    let id = stage.add("actor");
    wait_for("it is done", || stage.status(&id) == "done");
    up.kill();
    stage.until_idle();
}

#[test]
fn task_file_added_edited_or_moved_by_hand_is_noticed() {
    let stage = DaemonProject::new("").with_agent("actor", DOES);
    let words = ["task", "add", "Do it", "--review", "none", "--status", "backlog", "--json"];
    let task = document(&stage.run_ok(words));
    let id = task["id"].as_str().expect("an id").to_owned();
    let up = stage.up();
    let file = |status: &str, id: &str| stage.path(&format!("tasks/{status}/{id}.md"));
    fs::rename(file("backlog", &id), file("ready", &id)).expect("moved");
    wait_for("what was moved is done", || stage.status(&id) == "done");

    let text = fs::read_to_string(file("done", &id)).expect("the file");
    let (head, _) = text.split_once("metadata").expect("it was worked on");
    let other = "TASK-2026-02-09-077";
    let added = head.replace(&id, other).replace("status: done", "status: ready")
        + "routing:\n  agent: nobody\nmetadata:\n  reviewRequired: false\n---\n\nDo it.\n";
    fs::write(file("ready", other), &added).expect("written");
    wait_for("what was added is known", || !stage.events_of(other, "task.created").is_empty());
    assert_eq!(stage.status(other), "ready", "there is nobody for it");

    let edited = fs::read_to_string(file("ready", other)).expect("the file");
    fs::write(file("ready", other), edited.replace("agent: nobody", "agent: actor"))
        .expect("written");
    wait_for("what was edited is done", || stage.status(other) == "done");
    up.kill();
    stage.until_idle();
}
