//! Tests of `adjutant task …`, `approve` and `reject`.

use adjutant_model::Time;
use serde_json::{Value, json};

use crate::commands::support::{CliOutput, CliProject, completion, document, run, run_with};

fn said(project: &CliProject, args: &[&str]) -> String {
    project.masked_text(&project.does(args))
}

fn shown(project: &CliProject, args: &[&str]) -> Value {
    project.masked(&project.json(args))
}

/// Makes a task that its agent has reported as done, so that it is in review.
fn in_review(project: &CliProject) -> String {
    let id = project.add(["Build it", "--agent", "swe", "--status", "ready"]);
    project.does(["task", "move", &id, "in-progress"]);
    let (code, answer) = project.send(completion(&id, "swe", "done").to_string().as_bytes());
    assert_eq!((code, &answer["status"]), (0, &json!("review")));
    id
}

#[test]
fn task_add_needs_only_title() {
    let project = CliProject::new();
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
fn task_for_unconfigured_agent_is_added_with_warning_and_in_inbox() {
    let project = CliProject::new();
    let warning = "no agent named \"fixer\" is configured; add [agents.fixer] to adjutant.toml; an \
         agent that runs elsewhere can fetch it with `adjutant mcp --agent fixer`";
    let words = ["task", "add", "Fix it", "--agent", "fixer", "--status", "ready"];
    let ran = project.adjutant(words);
    assert_eq!((ran.code, &*ran.err), (0, &*format!("warning: {warning}\n")), "{ran:?}");
    let again = project.adjutant(words.into_iter().chain(["--json"]));
    assert_eq!((again.code, &*again.err), (0, ""), "{again:?}");
    assert_eq!(document(&again.out)["warnings"], json!([warning]));
    let items = project.json(["inbox"]);
    assert_eq!(items[0]["kind"], "held_back");
    assert_eq!(items[0]["text"], format!("Fix it: {warning}"));
    let id = items[0]["taskId"].as_str().expect("an id").to_owned();
    let edited = project.adjutant(["task", "edit", &id, "--agent", "painter", "--json"]);
    let warnings = document(&edited.out)["warnings"].to_string();
    assert!(warnings.contains("no agent named \\\"painter\\\" is configured"), "{warnings}");
    assert!(project.json(["task", "show", &id]).get("warnings").is_none());
}

#[test]
fn task_add_accepts_every_option() {
    let project = CliProject::new();
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
        "warnings": [
            "no agent named \"swe\" is configured; add [agents.swe] to adjutant.toml; an \
                agent that runs elsewhere can fetch it with `adjutant mcp --agent swe`",
        ],
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

/// The options for fields that most tasks do not have.
const RARE_FIELDS: [&str; 16] = [
    "--mode",
    "code",
    "--role",
    "backend",
    "--check",
    "make test",
    "--check",
    "make lint",
    "--budget-usd",
    "2.5",
    "--budget-tokens",
    "100000",
    "--timeout",
    "1h30m",
    "--idle-timeout",
    "off",
];

fn rare_fields() -> (Value, Value) {
    let metadata = json!({
        "budgetUsd": 2.5, "budgetTokens": 100_000, "checks": ["make test", "make lint"],
        "acceptedChecks": ["make test", "make lint"], "timeout": "1h30m", "idleTimeout": "off",
    });
    (json!({"mode": "code", "role": "backend"}), metadata)
}

#[test]
fn task_add_and_edit_set_checks_budgets_and_limits() {
    let project = CliProject::new();
    let (routing, metadata) = rare_fields();
    let added = project.json([&["task", "add", "One"], &RARE_FIELDS[..]].concat());
    assert_eq!((&added["routing"], &added["metadata"]), (&routing, &metadata));
    let id = project.add(["Two"]);
    let edited = project.json([&["task", "edit", &id], &RARE_FIELDS[..]].concat());
    assert_eq!((&edited["routing"], &edited["metadata"]), (&routing, &metadata));
    let changed = &project.events().pop().expect("an event")["payload"]["changed"];
    assert_eq!(
        *changed,
        json!([
            "routing",
            "metadata.checks",
            "metadata.budget",
            "metadata.timeout",
            "metadata.idleTimeout"
        ])
    );
    let kept = project.json(["task", "edit", &id, "--timeout", "2h", "--title", "Second"]);
    assert_eq!(kept["metadata"]["timeout"], "2h");
    assert_eq!(kept["metadata"]["idleTimeout"], "off");
}

#[test]
fn task_edit_removes_checks_budgets_and_limits() {
    let project = CliProject::new();
    let id = project.add([&["One"], &RARE_FIELDS[..]].concat());
    let edited = project.json([
        "task",
        "edit",
        &id,
        "--no-mode",
        "--no-role",
        "--no-checks",
        "--no-budget",
        "--no-timeout",
        "--no-idle-timeout",
    ]);
    let is_empty = |value: &Value| value.as_object().is_none_or(serde_json::Map::is_empty);
    assert!(is_empty(&edited["routing"]) && is_empty(&edited["metadata"]), "{edited}");
}

#[test]
fn task_edit_with_invalid_limits_is_a_usage_error() {
    let project = CliProject::new();
    let id = project.add(["One"]);
    let before = project.digest();
    for (option, value, problem) in [
        ("--timeout", "soon", "must be a length of time such as 30s, 5m or 1h30m, or off"),
        ("--idle-timeout", "0s", "must be a length of time such as 30s, 5m or 1h30m, or off"),
        ("--budget-usd", "-1", "must be a number of dollars, such as 2.5"),
        ("--budget-usd", "much", "must be a number of dollars, such as 2.5"),
    ] {
        let ran = project.adjutant(["task", "edit", &id, &format!("{option}={value}")]);
        assert_eq!(ran.code, 2, "{option} {value}");
        assert!(ran.err.contains(problem), "{}", ran.err);
    }
    let (code, error) = project.error(["task", "edit", &id, "--check", " "]);
    assert_eq!((code, &error["code"]), (1, &json!("invalid_argument")));
    assert_eq!(project.digest(), before);
}

#[test]
fn task_due_is_written_as_people_write_it() {
    let project = CliProject::new();
    let id = project.add(["Ship it", "--due", "2030-12-01"]);
    let due = |text: &str, zone: &str| -> String {
        let mut edit = project.command(["task", "edit", &id, "--due", text, "--json"]);
        let ran = run(edit.env("TZ", zone));
        assert_eq!((ran.code, &*ran.err), (0, ""), "{text}");
        document(&ran.out)["dueBy"].as_str().expect("a time").to_owned()
    };
    assert_eq!(due("2030-12-02", "UTC"), "2030-12-02T23:59:59.000Z");
    assert_eq!(due("2030-12-01 18:00", "CET-1"), "2030-12-01T17:00:00.000Z");
    let now = project.began().as_millis();
    let in_three_days = Time::parse(&due("in 3 days", "UTC")).expect("a time").as_millis() - now;
    assert!((259_200_000..262_800_000).contains(&in_three_days), "{in_three_days}");
    let tomorrow = Time::parse(&due("tomorrow", "UTC")).expect("a time").as_millis() - now;
    assert!((0..2 * 86_400_000).contains(&tomorrow), "{tomorrow}");
    let ran = project.adjutant(["task", "edit", &id, "--due", "someday"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("tomorrow, friday, 18:00, 'in 3 days'"), "{}", ran.err);
}

#[test]
fn task_body_comes_from_file_or_standard_input() {
    let project = CliProject::new();
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
    assert_eq!(ran, CliOutput { code: 3, out: String::new(), err: err.into() });
}

#[test]
fn task_add_with_invalid_values_is_refused_and_recorded() {
    let project = CliProject::new();
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
fn task_list_is_ordered_filtered_and_limited() {
    let project = CliProject::new();
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
fn task_list_filters_by_tag_text_and_openness() {
    let project = CliProject::new();
    let login = project.add(["Fix the login page", "--tag", "web", "--tag", "rust"]);
    let parser = project.add(["Fix the parser", "--tag", "rust"]);
    let token = project.add(["Login with a token", "--tag", "web"]);
    project.does(["task", "cancel", &token]);
    let ids = |args: &[&str]| -> Vec<String> {
        let list = project.json([&["task", "list"], args].concat());
        let list = list.as_array().expect("a list").clone();
        list.iter().map(|task| task["id"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids(&["--tag", "rust"]), [&*login, &parser]);
    assert_eq!(ids(&["--tag", "rust", "--tag", "web"]), [&*login]);
    assert_eq!(ids(&["--text", "page LOGIN"]), [&*login]);
    assert_eq!(ids(&["--text", "login"]), [&*login, &token]);
    assert_eq!(ids(&["--text", "login", "--open"]), [&*login]);
    assert_eq!(ids(&["--open"]), [&*login, &parser]);
    let none = "no matching tasks; `adjutant task list` without options lists all\n";
    assert_eq!(project.does(["task", "list", "--tag", "cobol"]), none);
}

#[test]
fn task_list_that_is_empty_suggests_next_command() {
    let project = CliProject::new();
    let none = "no tasks yet; `adjutant task add TITLE` creates one\n";
    assert_eq!(project.does(["task", "list"]), none);
    assert_eq!(project.json(["task", "list"]), json!([]));
    let none = "no matching tasks; `adjutant task list` without options lists all\n";
    assert_eq!(project.does(["task", "list", "--status", "done"]), none);
}

#[test]
fn task_show_prints_fields_and_body() {
    let project = CliProject::new();
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
         routing           agent swe\n\
         path              tasks/backlog/TASK-<today>-001.md\n\
         \nLook:\n\n\tcode\n"
    );
}

#[test]
fn task_edit_sets_and_clears_every_field() {
    let project = CliProject::new();
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
        "warnings": [
            "no agent named \"swe\" is configured; add [agents.swe] to adjutant.toml; an \
                agent that runs elsewhere can fetch it with `adjutant mcp --agent swe`",
        ],
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
fn task_edit_without_change_says_so_and_leaves_no_event() {
    let project = CliProject::new();
    let id = project.add(["one"]);
    let before = (project.digest(), project.types());
    let said = project.does(["task", "edit", &id, "--title", "one", "--priority", "normal"]);
    assert_eq!(said, format!("{id} backlog (unchanged)\n"));
    assert_eq!((project.digest(), project.types()), before);
}

#[test]
fn task_edit_without_options_needs_editor_and_terminal() {
    let project = CliProject::new();
    let id = project.add(["one"]);
    let ran = project.adjutant(["task", "edit", &id]);
    let err = "error: no change was given\n\
               hint: use an option such as `--title TEXT`, or set EDITOR and use a terminal\n";
    assert_eq!(ran, CliOutput { code: 2, out: String::new(), err: err.into() });
}

#[test]
fn dependency_cycle_is_refused() {
    let project = CliProject::new();
    let one = project.add(["one"]);
    let two = project.add(["two", "--depends-on", &one]);
    let (code, error) = project.error(["task", "edit", &one, "--depends-on", &two]);
    let causes = json!([format!("dependsOn: {two} depends on {one} itself")]);
    assert_eq!((code, &error["code"], &error["causes"]), (1, &json!("dependency_cycle"), &causes));
    let (code, error) = project.error(["task", "edit", &one, "--parent", &one]);
    assert_eq!((code, &error["code"]), (1, &json!("dependency_cycle")));
}

#[test]
fn task_move_follows_transition_table() {
    let project = CliProject::new();
    let id = project.add(["one", "--status", "ready"]);
    let moved = project.does(["task", "move", &id, "in-progress", "--reason", "now"]);
    assert_eq!(moved, format!("{id} in-progress\n"));
    let again = project.does(["task", "move", &id, "in-progress"]);
    assert_eq!(again, format!("{id} in-progress (unchanged)\n"));
    let before = project.digest();
    let ran = project.adjutant(["task", "move", &id, "done"]);
    let err = format!(
        "error: cannot move {id} to done\n  caused by: status: a task cannot move from \
         in-progress to done; from in-progress it can move to: review, ready, blocked, deadletter, \
         cancelled\n\
         hint: `adjutant task show {id}` shows its status\n"
    );
    assert_eq!(ran, CliOutput { code: 1, out: String::new(), err });
    assert_eq!(project.digest(), before);
    let events = project.events();
    let payloads: Vec<&Value> = events.iter().skip(1).map(|event| &event["payload"]).collect();
    let moved = json!({"from": "ready", "to": "in-progress", "reason": "now"});
    let refused = json!({"command": "task move", "reason": "invalid_transition"});
    assert_eq!(payloads, [&moved, &refused]);
}

#[test]
fn approve_finishes_review_once() {
    let project = CliProject::new();
    let id = in_review(&project);
    assert_eq!(project.does(["approve", &id, "--note", "well done"]), format!("{id} done\n"));
    let last = project.events().pop().expect("an event");
    let approved = json!({"from": "review", "to": "done", "reason": "well done"});
    assert_eq!((&last["payload"], &last["actor"]), (&approved, &json!("human:alice")));
    let (code, error) = project.error(["approve", &id]);
    let expected = json!({
        "code": "invalid_transition",
        "message": format!("cannot approve {id}"),
        "causes": ["status: must be review, but is done"],
        "hint": format!("`adjutant task show {id}` shows its status"),
    });
    assert_eq!((code, error), (1, expected));
}

#[test]
fn reject_returns_review_with_reason() {
    let project = CliProject::new();
    let id = in_review(&project);
    let ran = project.adjutant(["reject", &id, "--reason", " "]);
    let err = "error: a rejection needs a reason\nhint: write `--reason TEXT`\n";
    assert_eq!(ran, CliOutput { code: 2, out: String::new(), err: err.into() });
    let task = project.json(["reject", &id, "--reason", "No tests"]);
    assert_eq!(
        (&task["status"], &task["metadata"]["feedback"]),
        (&json!("ready"), &json!("No tests"))
    );
    let aside = format!("runs/{id}/attempts/1/run_result.json");
    assert!(project.path(&aside).is_file(), "{:?}", project.files().keys());
}

#[test]
fn retry_and_cancel_follow_task_status() {
    let project = CliProject::new();
    let id = project.add(["one", "--status", "ready"]);
    let (code, error) = project.error(["task", "retry", &id]);
    assert_eq!(
        (code, &error["causes"]),
        (1, &json!(["status: must be deadletter or blocked, but is ready"]))
    );
    project.does(["task", "move", &id, "blocked"]);
    assert_eq!(project.does(["task", "retry", &id]), format!("{id} ready\n"));
    let gone = project.does(["task", "cancel", &id, "--reason", "no need"]);
    assert_eq!(gone, format!("{id} cancelled\n"));
    let (code, error) = project.error(["task", "cancel", &id]);
    let cause = "status: a task that is cancelled cannot be moved";
    assert_eq!((code, &error["causes"]), (1, &json!([cause])));
}

#[test]
fn missing_task_is_reported_by_every_command() {
    let project = CliProject::new();
    let id = "TASK-2026-02-09-001";
    let check = |args: &[&str], attempt: &str| {
        let expected = json!({
            "code": "task_not_found",
            "message": attempt,
            "causes": ["there is no such task"],
            "hint": "`adjutant task list` lists the tasks",
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
    check(&["session-end", id], &format!("cannot apply the result of {id}"));
}
