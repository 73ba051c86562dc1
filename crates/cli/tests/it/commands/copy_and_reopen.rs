//! Tests of `adjutant task copy` and `adjutant task reopen`.

use adjutant_model::Status;
use serde_json::{Value, json};

use crate::commands::support::{CliProject, progress, run};

#[test]
fn task_copy_has_the_content_and_no_history() {
    let project = CliProject::new();
    let before = project.add(["Before"]);
    let id = project.add([
        "Paint it",
        "--body",
        "Blue.\n",
        "--priority",
        "high",
        "--agent",
        "swe",
        "--tag",
        "art",
        "--depends-on",
        &before,
        "--parent",
        &before,
        "--review",
        "none",
        "--resource",
        "brush",
        "--due",
        "2030-01-01T00:00:00Z",
        "--check",
        "make test",
        "--budget-tokens",
        "9",
        "--timeout",
        "1h",
        "--status",
        "ready",
    ]);
    project.does(["task", "move", &id, "in-progress"]);
    let (code, _) = project.send(progress(&id, "swe", "Half of it.").to_string().as_bytes());
    assert_eq!(code, 0);
    let copy = project.json(["task", "copy", &id]);
    let own = ["id", "status", "createdAt", "updatedAt", "lastTransitionAt", "path"];
    let content = |mut task: Value| {
        let fields = task.as_object_mut().expect("an object");
        for name in own {
            fields.remove(name);
        }
        task
    };
    let source = project.json(["task", "show", &id]);
    assert!(source["body"].as_str().is_some_and(|body| body.contains("## Work Log")), "{source}");
    let copied = project.json(["task", "show", copy["id"].as_str().expect("an id")]);
    let mut expected = content(source);
    expected["body"] = "Blue.\n".into();
    assert_eq!(content(copied), expected);
    assert_eq!(copy["status"], "backlog");
    assert_eq!(project.json(["task", "copy", &id, "--status", "ready"])["status"], "ready");
}

#[test]
fn task_copy_of_a_file_without_checks_has_none_either() {
    let project = CliProject::new();
    project.task("TASK-2026-02-09-001", Status::Ready, "metadata:\n  checks: []\n");
    let copy = project.json(["task", "copy", "001"]);
    assert_eq!(copy["metadata"]["checks"], json!([]));
}

#[test]
fn task_reopen_returns_cancelled_task_to_backlog() {
    let project = CliProject::new();
    let id = project.add(["One", "--status", "ready"]);
    project.does(["task", "cancel", &id]);
    let said = project.does(["task", "reopen", &id, "--reason", "needed after all"]);
    assert_eq!(said, format!("{id} backlog\n"));
    let event = project.events().pop().expect("an event");
    assert_eq!(
        (&event["type"], &event["payload"]),
        (
            &json!("task.transitioned"),
            &json!({
                "from": "cancelled", "to": "backlog", "reason": "needed after all", "reopened": true
            })
        )
    );
    project.does(["task", "move", &id, "ready"]);
    assert_eq!(project.json(["doctor"])["ok"], true);
}

#[test]
fn task_reopen_takes_only_cancelled_tasks_and_only_from_operators() {
    let project = CliProject::new();
    let id = project.add(["One", "--status", "ready"]);
    let (code, error) = project.error(["task", "reopen", &id]);
    assert_eq!((code, &error["code"]), (1, &json!("invalid_transition")));
    assert_eq!(error["causes"], json!(["status: is ready, not cancelled"]));
    project.does(["task", "cancel", &id]);
    let mut inside = project.command(["task", "reopen", &id, "--json"]);
    let ran = run(inside.env("ADJUTANT_RUN_TOKEN", "t").env("ADJUTANT_AGENT", "swe"));
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("operator_only"), "{}", ran.out);
    assert_eq!(project.status_of(&id), "cancelled");
    let (code, error) = project.error(["task", "move", &id, "backlog"]);
    assert_eq!((code, &error["code"]), (1, &json!("invalid_transition")));
}

#[test]
fn task_blocked_by_cancelled_task_runs_after_it_is_reopened_and_done() {
    let project = CliProject::new();
    let first = project.add(["First", "--status", "ready"]);
    let second = project.add(["Second", "--status", "ready", "--depends-on", &first]);
    project.does(["task", "cancel", &first]);
    project.does(["tick"]);
    assert_eq!(project.status_of(&second), "blocked");
    project.does(["task", "reopen", &first]);
    project.does(["tick"]);
    assert_eq!(project.status_of(&second), "blocked");
    for status in ["ready", "in-progress", "review", "done"] {
        project.does(["task", "move", &first, status]);
    }
    project.does(["tick"]);
    assert_eq!(project.status_of(&second), "ready");
}
