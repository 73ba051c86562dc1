//! `adjutant task …`, `approve` and `reject`.

use serde_json::{Value, json};

use crate::commands::support::{Project, Ran, completion, run_with};

fn said(project: &Project, args: &[&str]) -> String {
    project.masked_text(&project.does(args))
}

fn shown(project: &Project, args: &[&str]) -> Value {
    project.masked(&project.json(args))
}

/// A task in review, sent there by its agent.
fn in_review(project: &Project) -> String {
    let id = project.add(["Build it", "--agent", "swe", "--status", "ready"]);
    project.does(["task", "move", &id, "in-progress"]);
    let (code, answer) = project.send(completion(&id, "swe", "done").to_string().as_bytes());
    assert_eq!((code, &answer["status"]), (0, &json!("review")));
    id
}

#[test]
fn a_task_is_made_with_as_little_as_a_title() {
    let project = Project::new();
    assert_eq!(said(&project, &["task", "add", "  Fix it "]), "TASK-<today>-001 backlog\n");
    let task = json!({
        "schemaVersion": 1,
        "id": "TASK-<today>-001",
        "title": "Fix it",
        "status": "backlog",
        "priority": "normal",
        "createdAt": "<now>",
        "updatedAt": "<now>",
        "lastTransitionAt": "<now>",
        "createdBy": "human:alice",
        "path": "tasks/backlog/TASK-<today>-001.md",
    });
    let id = project.json(["task", "list"])[0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(shown(&project, &["task", "list"]), json!([task]));
    let mut whole = task.clone();
    whole["body"] = "".into();
    assert_eq!(shown(&project, &["task", "show", &id]), whole);
}

#[test]
fn a_task_is_made_with_everything_there_is() {
    let project = Project::new();
    let (parent, before) = (project.add(["parent"]), project.add(["before"]));
    let args = [
        "task",
        "add",
        "All of it",
        "--body",
        "# Plan\n\n1. Think.\n",
        "--priority",
        "critical",
        "--agent",
        "swe",
        "--tag",
        "rust",
        "--tag",
        "yes",
        "--depends-on",
        &before,
        "--depends-on",
        &parent,
        "--parent",
        &parent,
        "--review",
        "none",
        "--status",
        "ready",
        "--resource",
        "db: main",
        "--due",
        "2030-01-01T12:00:00+02:00",
    ];
    let task = json!({
        "schemaVersion": 1,
        "id": "TASK-<today>-003",
        "title": "All of it",
        "status": "ready",
        "priority": "critical",
        "createdAt": "<now>",
        "updatedAt": "<now>",
        "lastTransitionAt": "<now>",
        "createdBy": "human:alice",
        "routing": {"agent": "swe", "tags": ["rust", "yes"]},
        "parentId": "TASK-<today>-001",
        "dependsOn": ["TASK-<today>-002", "TASK-<today>-001"],
        "resource": "db: main",
        "dueBy": "2030-01-01T10:00:00.000Z",
        "metadata": {"reviewRequired": false},
        "path": "tasks/ready/TASK-<today>-003.md",
    });
    let made = project.json(args);
    assert_eq!(project.masked(&made), task);
    let path = made["path"].as_str().expect("a path");
    let text = project.masked_text(&project.read(path));
    assert_eq!(
        text,
        "---\nschemaVersion: 1\nid: TASK-<today>-003\ntitle: All of it\nstatus: ready\n\
         priority: critical\ncreatedAt: <now>\nupdatedAt: <now>\nlastTransitionAt: <now>\n\
         createdBy: human:alice\nrouting:\n  agent: swe\n  tags:\n    - rust\n    - \"yes\"\n\
         parentId: TASK-<today>-001\ndependsOn:\n  - TASK-<today>-002\n  - TASK-<today>-001\n\
         resource: \"db: main\"\ndueBy: 2030-01-01T10:00:00.000Z\n\
         metadata:\n  reviewRequired: false\n---\n\n# Plan\n\n1. Think.\n"
    );
}

#[test]
fn a_body_comes_from_a_file_or_from_standard_input() {
    let project = Project::new();
    std::fs::write(project.home().join("plan.md"), "From a file.\n").expect("a file");
    let id = project.add(["one", "--body-file", "plan.md"]);
    assert_eq!(project.json(["task", "show", &id])["body"], "From a file.\n");
    let mut edit = project.command(["task", "edit", &id, "--body-file", "-"]);
    let ran = run_with(&mut edit, b"From a pipe.\n");
    assert_eq!((ran.code, ran.out), (0, format!("{id} backlog\n")));
    assert_eq!(project.json(["task", "show", &id])["body"], "From a pipe.\n");
    let ran = project.adjutant(["task", "add", "x", "--body-file", "missing.md"]);
    let err =
        "error: cannot read missing.md\n  caused by: No such file or directory (os error 2)\n";
    assert_eq!(ran, Ran { code: 3, out: String::new(), err: err.into() });
}

#[test]
fn what_a_new_task_may_not_be_is_refused_and_recorded() {
    let project = Project::new();
    let missing = "TASK-2026-01-01-999";
    let long = "x".repeat(513);
    let before = project.digest();
    let check = |args: &[&str], code: &str, cause: &str| {
        let (exit, error) = project.error([&["task", "add"], args].concat());
        assert_eq!(exit, 1, "{args:?}");
        assert_eq!((&error["code"], &error["causes"]), (&json!(code), &json!([cause])), "{args:?}");
        assert_eq!(error["message"], "cannot add the task");
    };
    check(&[""], "invalid_argument", "title: must not be empty");
    check(&[" \t"], "invalid_argument", "title: must not be empty");
    check(&[&long], "invalid_argument", "title: must have at most 512 characters");
    let control = "title: must be one line without control characters";
    check(&["two\nlines"], "invalid_argument", control);
    check(&["\u{1b}[31mred"], "invalid_argument", control);
    let no_task = format!("there is no task {missing}");
    check(&["x", "--parent", missing], "parent_not_found", &format!("parentId: {no_task}"));
    let cause = format!("dependsOn: {no_task}");
    check(&["x", "--depends-on", missing], "dependency_not_found", &cause);
    assert_eq!(project.digest(), before);
    assert_eq!(project.types(), ["command.refused"; 7]);
}

#[test]
fn a_list_is_ordered_filtered_and_limited() {
    let project = Project::new();
    let late = project.add(["late", "--status", "ready", "--priority", "low"]);
    let soon = project.add(["soon", "--status", "ready", "--priority", "high", "--agent", "swe"]);
    let idea = project.add(["idea"]);
    let gone = project.add(["gone", "--agent", "swe"]);
    project.does(["task", "cancel", &gone]);
    let ids = |args: &[&str]| -> Vec<String> {
        let list = project.json([&["task", "list"], args].concat());
        let list = list.as_array().expect("a list").clone();
        list.iter().map(|task| task["id"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids(&[]), [&*idea, &soon, &late, &gone]);
    assert_eq!(ids(&["--status", "ready"]), [&*soon, &late]);
    assert_eq!(ids(&["--status", "ready", "--status", "cancelled"]), [&*soon, &late, &gone]);
    assert_eq!(ids(&["--agent", "swe"]), [&*soon, &gone]);
    assert_eq!(ids(&["--agent", "swe", "--status", "ready"]), [&*soon]);
    assert_eq!(ids(&["--limit", "2"]), [&*idea, &soon]);
    assert_eq!(
        said(&project, &["task", "list"]),
        "TASK              STATUS     PRIORITY  AGENT  TITLE\n\
         TASK-<today>-003  backlog    normal    -      idea\n\
         TASK-<today>-002  ready      high      swe    soon\n\
         TASK-<today>-001  ready      low       -      late\n\
         TASK-<today>-004  cancelled  normal    swe    gone\n"
            .replace("TASK              ", "TASK                 ")
    );
    let limited = said(&project, &["task", "list", "--limit", "3"]);
    assert_eq!(limited.lines().last(), Some("… and 1 more"));
}

#[test]
fn an_empty_list_says_what_to_do() {
    let project = Project::new();
    let none = "no tasks yet; `adjutant task add TITLE` makes one\n";
    assert_eq!(project.does(["task", "list"]), none);
    assert_eq!(project.json(["task", "list"]), json!([]));
    let none = "no such tasks; without options, `adjutant task list` lists all of them\n";
    assert_eq!(project.does(["task", "list", "--status", "done"]), none);
}

#[test]
fn a_task_is_shown_with_its_fields_and_its_body() {
    let project = Project::new();
    let id = project.add(["Fix it", "--agent", "swe", "--body", "Look:\n\n\tcode\n"]);
    assert_eq!(
        said(&project, &["task", "show", &id]),
        "id                TASK-<today>-001\n\
         title             Fix it\n\
         status            backlog\n\
         priority          normal\n\
         createdAt         <now>\n\
         updatedAt         <now>\n\
         lastTransitionAt  <now>\n\
         createdBy         human:alice\n\
         routing           {\"agent\":\"swe\"}\n\
         path              tasks/backlog/TASK-<today>-001.md\n\
         \nLook:\n\n\tcode\n"
    );
}

#[test]
fn every_field_can_be_edited_and_cleared() {
    let project = Project::new();
    let (id, other) = (project.add(["one"]), project.add(["other"]));
    let edit = |args: &[&str]| {
        let mut task = project.json([&["task", "edit", &id], args].concat());
        assert_eq!(project.masked(&task["updatedAt"]), "<now>");
        let fields = task.as_object_mut().expect("a task is an object");
        for always in
            ["schemaVersion", "id", "status", "createdAt", "updatedAt", "lastTransitionAt", "path"]
        {
            fields.remove(always);
        }
        fields.remove("createdBy");
        task
    };
    assert_eq!(edit(&["--title", "two"]), json!({"title": "two", "priority": "normal"}));
    assert_eq!(edit(&["--priority", "low"]), json!({"title": "two", "priority": "low"}));
    let set = edit(&[
        "--agent",
        "swe",
        "--tag",
        "a",
        "--tag",
        "b",
        "--depends-on",
        &other,
        "--parent",
        &other,
        "--review",
        "none",
        "--resource",
        "db",
        "--due",
        "2030-01-01T00:00:00Z",
    ]);
    let full = json!({
        "title": "two",
        "priority": "low",
        "routing": {"agent": "swe", "tags": ["a", "b"]},
        "parentId": other,
        "dependsOn": [other],
        "resource": "db",
        "dueBy": "2030-01-01T00:00:00.000Z",
        "metadata": {"reviewRequired": false},
    });
    assert_eq!(set, full);
    let cleared = edit(&[
        "--no-agent",
        "--no-tags",
        "--no-depends-on",
        "--no-parent",
        "--no-resource",
        "--no-due",
        "--review",
        "required",
    ]);
    assert_eq!(
        (cleared["routing"]["agent"].clone(), cleared["routing"]["tags"].clone()),
        (Value::Null, Value::Null)
    );
    for gone in ["parentId", "dependsOn", "resource", "dueBy"] {
        assert_eq!(cleared[gone], Value::Null, "{gone}");
    }
    assert_eq!(cleared["metadata"]["reviewRequired"], Value::Null);
    edit(&["--body", "Another body.\n"]);
    assert_eq!(project.json(["task", "show", &id])["body"], "Another body.\n");
}

#[test]
fn an_edit_that_changes_nothing_says_so_and_leaves_no_event() {
    let project = Project::new();
    let id = project.add(["one"]);
    let before = (project.digest(), project.types());
    let said = project.does(["task", "edit", &id, "--title", "one", "--priority", "normal"]);
    assert_eq!(said, format!("{id} backlog (nothing to change)\n"));
    assert_eq!((project.digest(), project.types()), before);
}

#[test]
fn an_edit_without_options_needs_an_editor_and_a_terminal() {
    let project = Project::new();
    let id = project.add(["one"]);
    let ran = project.adjutant(["task", "edit", &id]);
    let err = "error: there is nothing to change\n\
               hint: give what to change, as `--title TEXT`, or set EDITOR and use a terminal\n";
    assert_eq!(ran, Ran { code: 2, out: String::new(), err: err.into() });
}

#[test]
fn a_cycle_of_dependencies_is_refused() {
    let project = Project::new();
    let one = project.add(["one"]);
    let two = project.add(["two", "--depends-on", &one]);
    let (code, error) = project.error(["task", "edit", &one, "--depends-on", &two]);
    let causes = json!([format!("dependsOn: {two} waits for {one} itself")]);
    assert_eq!((code, &error["code"], &error["causes"]), (1, &json!("dependency_cycle"), &causes));
    let (code, error) = project.error(["task", "edit", &one, "--parent", &one]);
    assert_eq!((code, &error["code"]), (1, &json!("dependency_cycle")));
}

#[test]
fn a_task_moves_along_the_table_and_nowhere_else() {
    let project = Project::new();
    let id = project.add(["one", "--status", "ready"]);
    let moved = project.does(["task", "move", &id, "in-progress", "--reason", "now"]);
    assert_eq!(moved, format!("{id} in-progress\n"));
    let again = project.does(["task", "move", &id, "in-progress"]);
    assert_eq!(again, format!("{id} in-progress (nothing to change)\n"));
    let before = project.digest();
    let ran = project.adjutant(["task", "move", &id, "done"]);
    let err = format!(
        "error: cannot move {id} to done\n  caused by: status: no move from in-progress to done; \
         from in-progress it can go to: review, ready, blocked, deadletter, cancelled\n\
         hint: `adjutant task show {id}` shows where it stands\n"
    );
    assert_eq!(ran, Ran { code: 1, out: String::new(), err });
    assert_eq!(project.digest(), before);
    let events = project.events();
    let payloads: Vec<&Value> = events.iter().skip(1).map(|event| &event["payload"]).collect();
    let moved = json!({"from": "ready", "to": "in-progress", "reason": "now"});
    let refused = json!({"command": "task move", "reason": "invalid_transition"});
    assert_eq!(payloads, [&moved, &refused]);
}

#[test]
fn work_in_review_is_approved_once() {
    let project = Project::new();
    let id = in_review(&project);
    assert_eq!(project.does(["approve", &id, "--note", "well done"]), format!("{id} done\n"));
    let last = project.events().pop().expect("an event");
    let approved = json!({"from": "review", "to": "done", "reason": "well done"});
    assert_eq!((&last["payload"], &last["actor"]), (&approved, &json!("human:alice")));
    let (code, error) = project.error(["approve", &id]);
    let expected = json!({
        "code": "invalid_transition",
        "message": format!("cannot approve {id}"),
        "causes": ["status: is done, not review"],
        "hint": format!("`adjutant task show {id}` shows where it stands"),
    });
    assert_eq!((code, error), (1, expected));
}

#[test]
fn work_in_review_is_sent_back_with_a_reason() {
    let project = Project::new();
    let id = in_review(&project);
    let ran = project.adjutant(["reject", &id, "--reason", " "]);
    let err = "error: a rejection needs a reason\nhint: --reason TEXT\n";
    assert_eq!(ran, Ran { code: 2, out: String::new(), err: err.into() });
    let task = project.json(["reject", &id, "--reason", "No tests"]);
    assert_eq!(
        (&task["status"], &task["metadata"]["feedback"]),
        (&json!("ready"), &json!("No tests"))
    );
    let aside = format!("runs/{id}/attempts/1/run_result.json");
    assert!(project.path(&aside).is_file(), "{:?}", project.files().keys());
}

#[test]
fn what_is_stuck_can_be_tried_again_and_what_is_not_wanted_given_up() {
    let project = Project::new();
    let id = project.add(["one", "--status", "ready"]);
    let (code, error) = project.error(["task", "retry", &id]);
    assert_eq!(
        (code, &error["causes"]),
        (1, &json!(["status: is ready, not deadletter or blocked"]))
    );
    project.does(["task", "move", &id, "blocked"]);
    assert_eq!(project.does(["task", "retry", &id]), format!("{id} ready\n"));
    let gone = project.does(["task", "cancel", &id, "--reason", "no need"]);
    assert_eq!(gone, format!("{id} cancelled\n"));
    let (code, error) = project.error(["task", "cancel", &id]);
    let cause = "status: no move from cancelled to cancelled; \
                 from cancelled it can go to: nowhere";
    assert_eq!((code, &error["causes"]), (1, &json!([cause])));
}

#[test]
fn a_task_that_is_not_there_is_said_to_be_so_by_every_command() {
    let project = Project::new();
    let id = "TASK-2026-02-09-001";
    let check = |args: &[&str], attempt: &str| {
        let expected = json!({
            "code": "task_not_found",
            "message": attempt,
            "causes": ["there is no such task"],
            "hint": "`adjutant task list` shows the tasks there are",
        });
        assert_eq!(project.error(args), (1, expected), "{args:?}");
    };
    check(&["task", "show", id], &format!("cannot show {id}"));
    check(&["task", "edit", id], &format!("cannot edit {id}"));
    check(&["task", "edit", id, "--title", "x"], &format!("cannot edit {id}"));
    check(&["task", "move", id, "ready"], &format!("cannot move {id} to ready"));
    check(&["task", "cancel", id], &format!("cannot cancel {id}"));
    check(&["task", "retry", id], &format!("cannot retry {id}"));
    check(&["approve", id], &format!("cannot approve {id}"));
    check(&["reject", id, "--reason", "x"], &format!("cannot reject {id}"));
    check(&["session-end", id], &format!("cannot end the session of {id}"));
}
