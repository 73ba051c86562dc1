//! Tests of short task ids: the end of an id in place of the id.

use adjutant_model::Status;
use serde_json::json;

use crate::commands::support::{CliOutput, CliProject};

fn project() -> CliProject {
    let project = CliProject::new();
    for id in ["TASK-2026-02-09-001", "TASK-2026-02-09-057", "TASK-2026-02-10-001"] {
        project.task(id, Status::Backlog, "");
    }
    project
}

#[test]
fn short_id_names_the_task_in_every_command() {
    let project = project();
    for id in ["057", "57", "09-057", "TASK-2026-02-09-057"] {
        let shown = project.json(["task", "show", id]);
        assert_eq!(shown["id"], "TASK-2026-02-09-057", "{id}");
    }
    assert_eq!(project.json(["why", "057"])["taskId"], "TASK-2026-02-09-057");
    assert_eq!(project.does(["task", "move", "057", "ready"]), "TASK-2026-02-09-057 ready\n");
    let edited =
        project.json(["task", "edit", "09-001", "--depends-on", "057", "--parent", "10-001"]);
    assert_eq!(
        (&edited["dependsOn"], &edited["parentId"]),
        (&json!(["TASK-2026-02-09-057"]), &json!("TASK-2026-02-10-001"))
    );
    let events = project.json(["events", "--task", "057", "--limit", "1"]);
    assert_eq!(events["taskId"], "TASK-2026-02-09-057");
}

#[test]
fn short_id_that_fits_several_tasks_is_refused_with_candidates() {
    let project = project();
    let before = project.digest();
    let err = "error: \"001\" is the end of 2 task ids\n  \
               caused by: TASK-2026-02-10-001 (backlog): Task TASK-2026-02-10-001\n  \
               caused by: TASK-2026-02-09-001 (backlog): Task TASK-2026-02-09-001\n\
               hint: give more of the id: \"02-10-001\" or the whole id\n";
    let ran = project.adjutant(["task", "cancel", "001"]);
    assert_eq!(ran, CliOutput { code: 1, out: String::new(), err: err.to_owned() });
    let (code, error) = project.error(["task", "add", "x", "--parent", "001"]);
    assert_eq!((code, &error["code"]), (1, &json!("ambiguous_id")));
    assert_eq!(project.digest(), before);
}

#[test]
fn short_id_that_fits_no_task_is_unknown() {
    let project = project();
    for id in ["058", "", "TASK"] {
        let (code, error) = project.error(["task", "show", id]);
        assert_eq!((code, &error["code"]), (1, &json!("task_not_found")), "{id:?}");
    }
}

#[test]
fn short_id_of_unreadable_file_names_its_problem() {
    let project = project();
    project.write("tasks/ready/TASK-2026-02-11-003.md", "---\nnothing\n---\n");
    let (code, error) = project.error(["task", "show", "003"]);
    assert_eq!((code, &error["code"]), (1, &json!("task_unreadable")));
}

#[test]
fn id_of_a_document_wins_over_short_id() {
    let project = project();
    let new_task = json!({"taskId": "001", "delegatedToMode": "code", "objective": "Mend it."});
    let (code, answer) = project.send(new_task.to_string().as_bytes());
    assert_eq!(code, 0, "{answer}");
    assert_eq!(project.json(["task", "show", "001"])["id"], answer["taskId"]);
}
