//! Files that real runs write, and task files that people write.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use adjutant_core::protocols::aof::parse_run_result;
use adjutant_model::TaskId;
use adjutant_store::frontmatter::{self, FrontMatterParts};
use adjutant_store::taskfile;
use serde_json::{Value, json};

use crate::schema::support::{complaints, example, validator};

/// Sends every example to a prepared data folder, and returns the folder and the answers.
fn send_examples() -> (tempfile::TempDir, Vec<Value>) {
    let home = tempfile::tempdir().expect("a temporary folder");
    let task = |id: &str, status: &str, agent: &str| {
        let path = home.path().join(format!("tasks/{status}/TASK-2026-02-09-{id}.md"));
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let text = format!(
            "---\nid: TASK-2026-02-09-{id}\ntitle: Task\nrouting:\n  agent: {agent}\n---\n"
        );
        fs::write(path, text).expect("a file");
    };
    task("057", "in-progress", "swe-backend");
    task("058", "in-progress", "swe-backend");
    task("059", "in-progress", "swe-qa");
    task("060", "in-progress", "swe-qa");
    task("061", "ready", "swe-backend");
    task("062", "ready", "swe-qa");
    let mut child = Command::new(env!("CARGO_BIN_EXE_adjutant"))
        .args(["send", "--lines", "--json", "--data"])
        .arg(home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("an input");
    for number in [5, 1, 2, 3, 4, 6, 7] {
        writeln!(stdin, "{}", example(number)).expect("a message is written");
    }
    writeln!(stdin, "not ours\nAOF/1 {{").expect("a message is written");
    drop(stdin);
    let output = child.wait_with_output().expect("the command ends");
    let text = String::from_utf8(output.stdout).expect("answers are text");
    let answers = text.lines().map(|line| serde_json::from_str(line).expect("answers are JSON"));
    (home, answers.collect())
}

/// Returns every file below a folder that has this name.
fn files_named(folder: &Path, name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder reads") {
        let entry = entry.expect("the folder reads");
        if entry.file_type().expect("it has a kind").is_dir() {
            found.extend(files_named(&entry.path(), name));
        } else if entry.file_name() == name {
            found.push(entry.path());
        }
    }
    found
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("it is JSON")
}

#[test]
fn run_files_and_answers_are_valid() {
    let (home, answers) = send_examples();
    let results = files_named(home.path(), "run_result.json");
    let handoffs = files_named(home.path(), "handoff.json");
    assert_eq!((results.len(), handoffs.len(), answers.len()), (2, 1, 9));
    for (kind, documents) in [
        ("run_result", results.iter().map(|path| read(path)).collect()),
        ("handoff_json", handoffs.iter().map(|path| read(path)).collect()),
        ("answer", answers),
    ] {
        let valid = validator(kind);
        for document in documents {
            assert_eq!(complaints(&valid, &document), [""; 0], "{kind}: {document}");
        }
    }
}

#[test]
fn run_result_schema_and_parser_agree() {
    let valid = validator("run_result");
    let id = TaskId::parse("TASK-2026-02-09-057").expect("a good id");
    let good = json!({
        "taskId": "TASK-2026-02-09-057", "agentId": "swe", "completedAt": "2026-02-09T21:10:00Z",
        "outcome": "done", "summaryRef": "outputs/summary.md", "handoffRef": "outputs/handoff.md",
        "deliverables": ["a"], "tests": {"total": 2, "passed": 1, "failed": 1}, "blockers": [],
        "notes": "",
    });
    let agree = |document: &Value| {
        let says = (parse_run_result(&id, document).is_ok(), valid.is_valid(document));
        assert_eq!(says.0, says.1, "{document}");
        says.0
    };
    assert!(agree(&good));
    let values = [
        json!(null),
        json!(1),
        json!(-1),
        json!("x"),
        json!(""),
        json!([]),
        json!({}),
        json!(["x"]),
        json!([1]),
        json!(vec!["x"; 51]),
        json!("x".repeat(10_001)),
        json!("../x"),
        json!("partial"),
        json!(["../x"]),
        json!("2026-02-09T21:10:00Z"),
        json!("human:x"),
    ];
    let mut refused = 0;
    for field in good.as_object().expect("an object").keys() {
        let mut less = good.clone();
        less.as_object_mut().expect("an object").shift_remove(field);
        refused += u32::from(!agree(&less));
        for value in &values {
            let mut changed = good.clone();
            changed[field] = value.clone();
            refused += u32::from(!agree(&changed));
        }
    }
    assert!(refused > 80, "{refused}");
    for whole in [json!(null), json!([]), json!("x"), json!(3)] {
        assert!(!agree(&whole));
    }
}

/// Returns whether the parser accepts a task file, and whether the schema accepts its front matter.
fn task(valid: &jsonschema::Validator, text: &str) -> (bool, bool) {
    let ours = taskfile::parse(text, None, None).is_ok();
    let fields =
        FrontMatterParts::split(text).ok().and_then(|parts| frontmatter::read(parts.yaml()).ok());
    (ours, fields.is_some_and(|fields| valid.is_valid(&Value::Object(fields))))
}

#[test]
fn task_file_schema_and_parser_agree() {
    let valid = validator("task");
    let mut counts = [0, 0];
    let fields = [
        "schemaVersion",
        "title",
        "status",
        "priority",
        "createdAt",
        "updatedAt",
        "lastTransitionAt",
        "createdBy",
        "routing",
        "parentId",
        "dependsOn",
        "resource",
        "dueBy",
        "lease",
        "metadata",
        "unknown",
        "id",
    ];
    let values = [
        "null",
        "~",
        "1",
        "2",
        "3",
        "true",
        "x",
        "''",
        "' '",
        "\"a\\0b\"",
        "ready",
        "in-progress",
        "urgent",
        "high",
        "2026-02-09T21:10:00Z",
        "yesterday",
        "TASK-2026-02-09-001",
        "[]",
        "{}",
        "[x]",
        "[1]",
        "[null]",
        "[TASK-2026-02-09-001]",
        "{agent: swe}",
        "{agent: ''}",
        "{agent: null}",
        "{agent: 3}",
        "{timeout: 1h30m}",
        "{timeout: 90, idleTimeout: off}",
        "{timeout: null}",
        "{timeout: 0}",
        "{timeout: 0s}",
        "{timeout: 1.5}",
        "{idleTimeout: soon}",
        "{idleTimeout: -1}",
        "{tags: [a, b]}",
        "{tags: a}",
        "{tags: [1]}",
        "{role: x}",
        "{role: 3}",
        "{agent: a, acquiredAt: 2026-02-09T21:10:00Z, expiresAt: 2026-02-09T21:10:00Z}",
        "{agent: a, acquiredAt: 2026-02-09T21:10:00Z, expiresAt: null}",
        "{agent: a, acquiredAt: 2026-02-09T21:10:00Z, expiresAt: 2026-02-09T21:10:00Z, fence: x}",
        "{reviewRequired: x, lastRun: 3}",
    ];
    let long = ["x".repeat(512), "x".repeat(513)];
    for field in fields {
        for value in values.into_iter().chain(long.iter().map(String::as_str)) {
            let base = [("id", "TASK-2026-02-09-001"), ("title", "x"), ("status", "ready")];
            let others = base.iter().filter(|(name, _)| *name != field);
            let others: Vec<String> =
                others.map(|(name, value)| format!("{name}: {value}")).collect();
            let text = format!(
                "---
{}
{field}: {value}
---
",
                others.join(
                    "
"
                )
            );
            let says = task(&valid, &text);
            assert_eq!(says.0, says.1, "{text}");
            counts[usize::from(says.0)] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
    for text in
        ["---\n---\n", "---\nid: TASK-2026-02-09-001\n---\n", "---\ntitle: x\nstatus: ready\n---\n"]
    {
        assert_eq!(task(&valid, text), (false, false), "{text}");
    }
}
