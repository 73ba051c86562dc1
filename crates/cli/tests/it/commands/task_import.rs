//! Tests of `adjutant task import`.

use std::fs;

use serde_json::{Value, json};

use crate::commands::support::{CliOutput, CliProject, document, run_with};

const PLAN: &str = "# Plan\n\n- [ ] Release\n  - [ ] Changelog\n    Every change.\n  - [x] Done\n\
                    - [ ] Announce\n";

fn project_with(name: &str, text: &str) -> CliProject {
    let project = CliProject::new();
    fs::write(project.home().join(name), text).expect("a file");
    project
}

/// Returns title, status, parent, dependencies and body of all tasks, by id.
fn tasks(project: &CliProject) -> Vec<Value> {
    let list = project.json(["task", "list"]);
    let mut ids: Vec<String> = list
        .as_array()
        .expect("a list")
        .iter()
        .map(|task| task["id"].as_str().expect("an id").to_owned())
        .collect();
    ids.sort();
    let shown = |id: &String| {
        let task = project.masked(&project.json(["task", "show", id]));
        json!([task["title"], task["status"], task["parentId"], task["dependsOn"], task["body"]])
    };
    ids.iter().map(shown).collect()
}

#[test]
fn checklist_import_creates_linked_tasks_in_one_commit() {
    let project = project_with("plan.md", PLAN);
    let said = project.does(["task", "import", "plan.md", "--status", "ready"]);
    assert_eq!(
        project.masked_text(&said),
        "TASK-<today>-001 ready: Release\nTASK-<today>-002 ready: Changelog\n\
         TASK-<today>-003 ready: Announce\ncreated 3 tasks\n"
    );
    assert_eq!(
        tasks(&project),
        [
            json!(["Release", "ready", null, ["TASK-<today>-002"], ""]),
            json!(["Changelog", "ready", "TASK-<today>-001", null, "Every change.\n"]),
            json!(["Announce", "ready", null, null, ""]),
        ]
    );
    assert_eq!(project.types(), ["task.created"; 3]);
    assert_eq!(project.json(["doctor"])["ok"], true);
    // The part is first: the whole waits for it.
    let why = project.json(["why", "001"]);
    assert_eq!(why["reasons"][0]["code"], "dependency_open", "{why}");
}

#[test]
fn import_dry_run_shows_tasks_and_changes_nothing() {
    let project = project_with("plan.md", PLAN);
    let before = (project.digest(), project.types());
    assert_eq!(
        project.does(["task", "import", "plan.md", "--dry-run"]),
        "line 3: Release (backlog, waits for line 4)\n\
         line 4: Changelog (backlog, part of line 3)\nline 7: Announce (backlog)\n\
         would create 3 tasks; nothing was changed\n"
    );
    let json = project.json(["task", "import", "plan.md", "--dry-run"]);
    assert_eq!(json["dryRun"], true);
    assert_eq!(
        json["tasks"][0],
        json!({
            "line": 3, "id": null, "created": false, "exists": false, "title": "Release",
            "status": "backlog", "dependsOn": [], "dependsOnLines": [4], "parentId": null,
            "parentLine": null,
        })
    );
    assert_eq!((project.digest(), project.types()), before);
}

#[test]
fn second_import_creates_only_what_is_new() {
    let project = project_with("plan.md", PLAN);
    project.does(["task", "import", "plan.md"]);
    project.does(["task", "cancel", "003"]);
    let said = project.does(["task", "import", "plan.md"]);
    assert_eq!(
        project.masked_text(&said),
        "TASK-<today>-001 exists already: Release\nTASK-<today>-002 exists already: Changelog\n\
         TASK-<today>-003 exists already: Announce\ncreated 0 tasks; 3 of the file exist already\n"
    );
    let longer = format!("{PLAN}- [ ] Celebrate\n");
    fs::write(project.home().join("plan.md"), longer).expect("a file");
    let result = project.json(["task", "import", "plan.md"]);
    let created = |task: &Value| task["created"].as_bool().expect("a flag");
    let created: Vec<bool> =
        result["tasks"].as_array().expect("a list").iter().map(created).collect();
    assert_eq!(created, [false, false, false, true]);
    assert_eq!(tasks(&project).len(), 4);
    project.does(["task", "import", "plan.md", "--again"]);
    assert_eq!(tasks(&project).len(), 8);
}

#[test]
fn csv_import_sets_every_field() {
    let text = "title,key,body,priority,agent,mode,role,tags,depends_on,parent,resource,due,review,\
                status,checks,budget_usd,budget_tokens,timeout,idle_timeout\n\
                First,a,,,,,,,,,,,,,,,,,\n\
                \"Second, of two\",,\"Two\nlines.\",high,swe,code,backend,x; y,a,a,db,\
                2030-01-01T00:00:00Z,none,ready,\"make test\nmake lint\",2.5,9,1h,off\n";
    let project = project_with("tasks.csv", text);
    let ran = project.adjutant(["task", "import", "tasks.csv"]);
    let warning = "warning: no agent named \"swe\" is configured; add [agents.swe] to adjutant.toml; an \
         agent that runs elsewhere can fetch it with `adjutant mcp --agent swe`\n";
    assert_eq!((ran.code, &*ran.err), (0, warning), "{ran:?}");
    let mut task = project.masked(&project.json(["task", "show", "002"]));
    let own = ["schemaVersion", "id", "createdAt", "updatedAt", "lastTransitionAt", "createdBy"];
    let fields = task.as_object_mut().expect("an object");
    for name in own {
        fields.remove(name);
    }
    assert_eq!(
        task,
        json!({
            "title": "Second, of two", "status": "ready", "priority": "high",
            "routing": {"agent": "swe", "mode": "code", "role": "backend", "tags": ["x", "y"]},
            "parentId": "TASK-<today>-001", "dependsOn": ["TASK-<today>-001"], "resource": "db",
            "dueBy": "2030-01-01T00:00:00.000Z",
            "metadata": {
                "reviewRequired": false, "budgetUsd": 2.5, "budgetTokens": 9,
                "checks": ["make test", "make lint"],
                "acceptedChecks": ["make test", "make lint"], "timeout": "1h", "idleTimeout": "off",
            },
            "path": "tasks/ready/TASK-<today>-002.md", "body": "Two\nlines.\n",
        })
    );
}

#[test]
fn json_import_reads_standard_input_and_existing_tasks() {
    let project = CliProject::new();
    let before = project.add(["Before"]);
    let text = r#"[{"title": "One", "dependsOn": ["001"], "tags": ["own"]}]"#;
    let mut import = project.command(["task", "import", "-", "--as", "json", "--tag", "all"]);
    let ran = run_with(&mut import, text.as_bytes());
    let warning = "warning: no configured agent has the tags \"own\", \"all\"\n";
    assert_eq!((ran.code, &*ran.err), (0, warning), "{ran:?}");
    let task = project.json(["task", "show", "002"]);
    assert_eq!(task["dependsOn"], json!([before]));
    assert_eq!(task["routing"]["tags"], json!(["own", "all"]));
}

#[test]
fn import_with_wrong_lines_names_them_and_creates_nothing() {
    let text = "title,priority,depends_on\nGood,high,\nBad,urgent,nothing\n,,\n \"\",low,\n";
    let project = project_with("tasks.csv", text);
    let before = project.digest();
    let ran = project.adjutant(["task", "import", "tasks.csv"]);
    let err = "error: cannot import tasks.csv\n  \
               caused by: line 3: priority: must be one of: critical, high, normal, low\n  \
               caused by: line 3: depends_on: \"nothing\" is neither a key of the file nor a task\n  \
               caused by: line 5: title: must not be empty\n\
               hint: no task was created; `adjutant task import --help` describes the formats\n";
    assert_eq!(ran, CliOutput { code: 2, out: String::new(), err: err.to_owned() });
    // What only the core knows is refused as well, and recorded.
    fs::write(project.home().join("tasks.csv"), "title,key,depends_on\nA,a,b\nB,b,a\n")
        .expect("a file");
    for args in
        [&["task", "import", "tasks.csv"][..], &["task", "import", "tasks.csv", "--dry-run"]]
    {
        let (code, error) = project.error(args);
        assert_eq!((code, &error["code"]), (1, &json!("invalid_argument")));
        assert_eq!(error["causes"], json!(["line 2: dependsOn: it would wait for itself"]));
    }
    assert_eq!(project.digest(), before);
    assert_eq!(project.types(), ["command.refused"]);
}

#[test]
fn import_inside_a_run_is_refused() {
    let project = project_with("plan.md", PLAN);
    let mut inside = project.command(["task", "import", "plan.md", "--json"]);
    inside.env("ADJUTANT_RUN_TOKEN", "t").env("ADJUTANT_AGENT", "swe");
    let ran = run_with(&mut inside, b"");
    assert_eq!((ran.code, &document(&ran.out)["error"]["code"]), (1, &json!("operator_only")));
    assert_eq!(tasks(&project), Vec::<Value>::new());
}
