//! Tests of commands that take several task ids.

use serde_json::{Value, json};

use crate::commands::support::{CliProject, document};

fn in_review(project: &CliProject, title: &str) -> String {
    let id = project.add([title, "--status", "ready"]);
    project.does(["task", "move", &id, "in-progress"]);
    project.does(["task", "move", &id, "review"]);
    id
}

#[test]
fn approve_of_several_tasks_carries_out_what_it_can() {
    let project = CliProject::new();
    let (first, second) = (in_review(&project, "One"), in_review(&project, "Two"));
    let backlog = project.add(["Three"]);
    let ran = project.adjutant(["approve", &first, &backlog, "TASK-2026-01-01-001", &second]);
    assert_eq!((ran.code, ran.out), (1, format!("{first} done\n{second} done\n")));
    assert!(ran.err.contains(&format!("error: cannot approve {backlog}\n")), "{}", ran.err);
    assert!(ran.err.contains("error: cannot approve TASK-2026-01-01-001\n"), "{}", ran.err);
    assert_eq!(project.status_of(&first), "done");
    assert_eq!(project.status_of(&second), "done");
}

#[test]
fn several_tasks_print_one_json_list_with_errors_in_their_places() {
    let project = CliProject::new();
    let (first, second) = (project.add(["One"]), project.add(["Two"]));
    let ran = project.adjutant(["task", "cancel", &first, "nothing", &second, "--json"]);
    assert_eq!((ran.code, &*ran.err), (1, ""));
    let results = document(&ran.out);
    let brief = |result: &Value| json!([result["id"], result["status"], result["error"]["code"]]);
    assert_eq!(
        results.as_array().expect("a list").iter().map(brief).collect::<Vec<_>>(),
        [
            json!([first, "cancelled", null]),
            json!(["nothing", null, "task_not_found"]),
            json!([second, "cancelled", null]),
        ]
    );
}

#[test]
fn several_tasks_are_moved_rejected_and_retried() {
    let project = CliProject::new();
    let (first, second) = (in_review(&project, "One"), in_review(&project, "Two"));
    let both = |status: &str| format!("{first} {status}\n{second} {status}\n");
    let said = project.does(["reject", &first, "--reason", "No tests", &second]);
    assert_eq!(said, both("ready"));
    let said = project.does(["task", "move", &first, "--reason", "later", &second, "backlog"]);
    assert_eq!(said, both("backlog"));
    assert_eq!(project.does(["task", "move", &first, &second, "blocked"]), both("blocked"));
    assert_eq!(project.does(["task", "retry", &first, &second]), both("ready"));
}

#[test]
fn task_that_is_given_twice_is_changed_once() {
    let project = CliProject::new();
    let id = project.add(["One"]);
    assert_eq!(project.does(["task", "cancel", &id, "001"]), format!("{id} cancelled\n"));
}

#[test]
fn task_move_needs_an_id_and_a_status() {
    let project = CliProject::new();
    let id = project.add(["One"]);
    let before = project.digest();
    let ran = project.adjutant(["task", "move", &id]);
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.err,
        "error: the following required arguments were not provided\n  caused by: <STATUS>\n\
         hint: `--help` shows how the command is called\n"
    );
    let (code, error) = project.error(["task", "move", &id, "finished"]);
    assert_eq!((code, &error["code"]), (2, &json!("usage")));
    assert_eq!(
        error["message"],
        "invalid value 'finished' for '<STATUS>': must be one of: backlog, ready, in-progress, \
         blocked, review, done, cancelled, deadletter"
    );
    assert_eq!(project.digest(), before);
}
