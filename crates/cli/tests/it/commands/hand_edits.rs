//! Edits that people make to task files by hand: the next command records them.

use std::fs;

use adjutant_model::Status;
use serde_json::{Value, json};

use crate::commands::support::{CliProject, completion, progress, task_text};

fn last(project: &CliProject) -> Value {
    project.events().pop().expect("an event")
}

/// The commands that open the data folder, with ordinary arguments.
const COMMANDS: [&[&str]; 6] = [
    &["task", "list"],
    &["events"],
    &["task", "add", "another"],
    &["session-end"],
    &["doctor", "--fix"],
    &["send"],
];

#[test]
fn hand_edit_becomes_event_at_any_next_command() {
    for command in COMMANDS {
        let project = CliProject::new();
        let id = project.add(["one"]);
        let path = format!("tasks/backlog/{id}.md");
        let text = project.read(&path).replace("title: one", "title: uno  # in Spanish");
        project.write(&path, &text);
        project.does(command);
        let edited = project.events().into_iter().find(|event| event["type"] == "task.edited");
        let edited = edited.unwrap_or_else(|| panic!("{command:?} did not take it in"));
        assert_eq!(edited["payload"]["changed"], json!(["title"]), "{command:?}");
        assert_eq!(edited["payload"]["task"]["title"], "uno", "{command:?}");
        assert_eq!(edited["actor"], "human:unknown", "{command:?}");
        assert_eq!(project.read(&path), text, "{command:?} left the file as the person wrote it");
    }
}

#[test]
fn message_is_decided_on_hand_edited_task() {
    let project = CliProject::new();
    let id = project.add(["one", "--agent", "swe", "--status", "ready"]);
    let path = format!("tasks/ready/{id}.md");
    project.write(&path, project.read(&path).replace("agent: swe", "agent: qa"));
    let (code, answer) = project.send(progress(&id, "swe", "mine").to_string().as_bytes());
    assert_eq!((code, &answer["reason"]), (1, &json!("unauthorized_agent")));
    let (code, _) = project.send(progress(&id, "qa", "mine").to_string().as_bytes());
    assert_eq!(code, 0);
}

#[test]
fn hand_edited_body_is_recorded_and_never_lost() {
    let project = CliProject::new();
    let id = project.add(["one", "--agent", "swe", "--body", "Old.\n"]);
    let path = format!("tasks/backlog/{id}.md");
    project.write(&path, project.read(&path).replace("Old.", "New, by hand. <!-- a remark -->"));
    project.send(progress(&id, "swe", "half way").to_string().as_bytes());
    let types = project.types();
    assert_eq!(types[1..], ["task.edited", "protocol.message.received", "task.logged"]);
    assert_eq!(project.events()[1]["payload"]["changed"], json!(["body"]));
    let body = project.json(["task", "show", &id])["body"].clone();
    assert_eq!(
        body,
        "New, by hand. <!-- a remark -->\n\n## Work Log\n\n\
         - 2026-02-09T21:10:00.000Z Progress: half way\n"
    );
}

#[test]
fn hand_move_along_transition_table_is_accepted() {
    let project = CliProject::new();
    let id = project.add(["one"]);
    project.write(&format!("tasks/backlog/{id}/inputs/notes.md"), "mine\n");
    for name in [format!("{id}.md"), id.clone()] {
        let from = project.path(&format!("tasks/backlog/{name}"));
        fs::rename(from, project.path(&format!("tasks/ready/{name}"))).expect("it moves");
    }
    assert_eq!(project.json(["task", "list"])[0]["status"], "ready");
    let moved =
        json!({"from": "backlog", "to": "ready", "reason": "moved by hand", "byHand": true});
    assert_eq!(last(&project)["payload"], moved);
    assert!(project.read(&format!("tasks/ready/{id}.md")).contains("status: ready\n"));
    assert!(project.path(&format!("tasks/ready/{id}/inputs/notes.md")).is_file());
    assert_eq!(project.does(["doctor"]), "no problems found\n");
}

#[test]
fn hand_move_against_transition_table_is_accepted_and_flagged() {
    let project = CliProject::new();
    let id = project.add(["one"]);
    fs::rename(
        project.path(&format!("tasks/backlog/{id}.md")),
        project.path(&format!("tasks/done/{id}.md")),
    )
    .expect("it moves");
    let shown = project.does(["events", "--type", "task.transitioned"]);
    assert!(shown.ends_with("backlog → done (not an allowed move): moved by hand\n"), "{shown}");
    let moved = json!({
        "from": "backlog", "to": "done", "reason": "moved by hand", "byHand": true,
        "againstTheTable": true,
    });
    assert_eq!(last(&project)["payload"], moved);
}

#[test]
fn task_file_added_or_removed_by_hand_is_recorded() {
    let project = CliProject::new();
    let id = "TASK-2026-02-09-001";
    project.task(id, Status::Ready, "estimate: 3 days\n");
    assert_eq!(project.json(["task", "list"])[0]["estimate"], "3 days");
    let created = last(&project);
    assert_eq!(
        (&created["type"], &created["payload"]["byHand"]),
        (&json!("task.created"), &json!(true))
    );
    fs::remove_file(project.path(&format!("tasks/ready/{id}.md"))).expect("it goes");
    assert_eq!(project.json(["task", "list"]), json!([]));
    assert_eq!(
        (&last(&project)["type"], &last(&project)["taskId"]),
        (&json!("task.removed"), &json!(id))
    );
}

#[test]
fn broken_task_file_is_kept_reported_and_blocks_nothing_else() {
    let project = CliProject::new();
    let (good, bad) = (project.add(["good", "--agent", "swe"]), project.add(["bad"]));
    let path = format!("tasks/backlog/{bad}.md");
    let broken = project.read(&path).replace("title: bad", "title: [bad");
    project.write(&path, &broken);
    let ran = project.adjutant(["task", "list"]);
    assert_eq!(ran.code, 0);
    let err = format!("warning: {bad} cannot be read; `adjutant doctor` says why\n");
    assert_eq!(ran.err, err);
    assert!(ran.out.contains(&good) && !ran.out.contains(&bad), "{}", ran.out);
    assert_eq!(project.send(progress(&good, "swe", "x").to_string().as_bytes()).0, 0);
    let (code, answer) = project.send(completion(&bad, "swe", "done").to_string().as_bytes());
    assert_eq!((code, &answer["reason"]), (1, &json!("task_unreadable")));
    let (code, error) = project.error(["task", "move", &bad, "ready"]);
    assert_eq!((code, &error["code"]), (1, &json!("task_unreadable")));
    assert_eq!(project.read(&path), broken);
    project.write(&path, broken.replace("[bad", "mended"));
    let mended = project.adjutant(["task", "list", "--json"]);
    assert_eq!((mended.code, &*mended.err), (0, ""));
    assert!(mended.out.contains("\"mended\""), "{}", mended.out);
}

#[test]
fn task_number_is_never_reused() {
    let project = CliProject::new();
    let one = project.add(["one"]);
    fs::remove_file(project.path(&format!("tasks/backlog/{one}.md"))).expect("it goes");
    assert_ne!(project.add(["two"]), one);
    let id = project.add(["three"]);
    let next = format!("{}{:03}", &id[..id.len() - 3], 4);
    project.write(&format!("tasks/done/{next}.md"), task_text(&next, Status::Done, ""));
    assert_eq!(project.add(["five"]), format!("{}{:03}", &id[..id.len() - 3], 5));
}

#[test]
fn read_only_data_folder_can_still_be_read() {
    let project = CliProject::new();
    let id = project.add(["one"]);
    let lock = project.path("journal/lock");
    fs::remove_file(&lock).expect("it was there");
    // Even root cannot open this file for writing.
    std::os::unix::fs::symlink("/sys/kernel/uevent_seqnum", &lock).expect("a link");
    assert_eq!(project.json(["task", "list"])[0]["id"], id);
    assert_eq!(project.json(["task", "show", &id])["id"], id);
    assert_eq!(project.does(["events"]).lines().count(), 1);
    let (code, error) = project.error(["task", "add", "two"]);
    assert_eq!((code, &error["code"]), (3, &json!("io")), "{error}");
}
