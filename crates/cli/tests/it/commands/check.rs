//! Tests of `adjutant check`.

use adjutant_model::Status;
use serde_json::{Value, json};

use crate::commands::support::{
    CliOutput, CliProject, document, example, progress, run_with, task_text,
};

fn checked(args: &[&str], input: &str) -> (i32, Value) {
    let mut command = crate::commands::support::adjutant();
    let ran = run_with(command.args(["check", "-", "--json"]).args(args), input.as_bytes());
    assert_eq!(ran.err, "", "{ran:?}");
    (ran.code, document(&ran.out))
}

fn valid(kind: &str) -> (i32, Value) {
    (0, json!({"kind": kind, "valid": true, "problems": [], "warnings": []}))
}

#[test]
fn check_accepts_every_example_as_envelope() {
    for number in 1..=7 {
        assert_eq!(checked(&[], &example(number)), valid("envelope"), "{number}");
        assert_eq!(checked(&["--as", "envelope"], &example(number)), valid("envelope"));
    }
}

#[test]
fn check_names_every_problem() {
    let mut wrong = document(&example(1));
    wrong["version"] = json!(2);
    wrong["taskId"] = json!("057");
    wrong["payload"]["tests"]["passed"] = json!("many");
    wrong["payload"]["summaryRef"] = json!("../secret");
    let (code, answer) = checked(&[], &wrong.to_string());
    let problems = json!([
        {"path": "version", "message": "unsupported version 2: must be 1"},
        {"path": "taskId", "message": "must match TASK-YYYY-MM-DD-NNN"},
        {"path": "payload.summaryRef", "message": "must stay inside its folder (no `..`)"},
        {"path": "payload.tests.passed", "message": "must be a whole number, not text"},
    ]);
    let expected =
        json!({"kind": "envelope", "valid": false, "problems": problems, "warnings": []});
    assert_eq!((code, answer), (1, expected));
}

#[test]
fn check_reports_harmless_problem_as_warning() {
    let mut odd = document(&example(5));
    odd["payload"]["acceptanceCriteria"][1] = json!(42);
    let (code, answer) = checked(&[], &odd.to_string());
    let message = "is a number, not text, and was dropped";
    let warnings = json!([{"path": "payload.acceptanceCriteria[1]", "message": message}]);
    let expected = json!({"kind": "envelope", "valid": true, "problems": [], "warnings": warnings});
    assert_eq!((code, answer), (0, expected));
}

#[test]
fn check_refuses_other_text_as_envelope() {
    let problem = |text: &str| checked(&["--as", "envelope"], text).1["problems"][0].clone();
    let message = "invalid protocol: must be \"aof\" in a JSON object";
    let none = json!({"path": "protocol", "message": message});
    for text in ["", "hello", "[]", "{}", "{\"protocol\":\"custom\"}"] {
        assert_eq!(problem(text), none, "{text:?}");
    }
    let mut unknown = progress("TASK-2026-02-09-001", "swe", "x");
    unknown["type"] = "coffee.break".into();
    let expected = json!({
        "path": "type",
        "message": "\"coffee.break\" is not one of: handoff.request, handoff.accepted, \
                    handoff.rejected, status.update, completion.report",
    });
    assert_eq!(problem(&unknown.to_string()), expected);
    let (code, _) = checked(&[], "AOF/1 {");
    assert_eq!(code, 1);
}

#[test]
fn check_recognizes_task_file_by_content_or_name() {
    let project = CliProject::new();
    let text = task_text("TASK-2026-02-09-001", Status::Ready, "");
    assert_eq!(checked(&[], &text), valid("task"));
    assert_eq!(checked(&["--as", "task"], &text), valid("task"));
    project.write("tasks/ready/TASK-2026-02-09-001.md", &text);
    let there = project.path("tasks/ready/TASK-2026-02-09-001.md");
    let there = there.to_str().expect("a path that is text");
    assert_eq!(project.does(["check", there]), "a valid task\n");
    std::fs::write(project.home().join("notes.md"), "no front matter\n").expect("a file");
    let ran = project.adjutant(["check", "notes.md"]);
    let out = "the first line is not `---`\nnot a valid task\n".to_owned();
    assert_eq!(ran, CliOutput { code: 1, out, err: String::new() });
}

#[test]
fn check_compares_task_with_file_name_and_folder() {
    let project = CliProject::new();
    let id = "TASK-2026-02-09-001";
    let check = |path: &str, text: &str| {
        project.write(path, text);
        let path = project.path(path);
        let ran = project.adjutant(["check", "--json", path.to_str().expect("a path")]);
        (ran.code, document(&ran.out))
    };
    let text = task_text(id, Status::Ready, "");
    let (code, answer) = check("tasks/ready/TASK-2026-02-09-002.md", &text);
    let message = "must be TASK-2026-02-09-002, like the name of the file";
    assert_eq!((code, &answer["problems"]), (1, &json!([{"path": "id", "message": message}])));
    let (code, answer) = check("tasks/done/TASK-2026-02-09-001.md", &text);
    let message = "is ready, but the file is in the folder done";
    assert_eq!((code, &answer["warnings"]), (0, &json!([{"path": "status", "message": message}])));
    let without = text.replace("status: ready\n", "");
    assert_eq!(check("tasks/ready/TASK-2026-02-09-001.md", &without), valid("task"));
    let (code, answer) = checked(&[], &without);
    let problem = json!([{"path": "status", "message": "is required"}]);
    assert_eq!((code, &answer["problems"]), (1, &problem));
}

#[test]
fn check_needs_no_data_folder() {
    let nowhere = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(nowhere.path().join("message"), example(1)).expect("a file");
    let mut command = crate::commands::support::adjutant();
    let ran = run_with(command.current_dir(nowhere.path()).args(["check", "message"]), b"");
    assert_eq!(ran, CliOutput { code: 0, out: "a valid envelope\n".into(), err: String::new() });
    let (code, error) = CliProject::new().error(["check", "missing"]);
    let expected = json!({
        "code": "failed",
        "message": "cannot read missing",
        "causes": ["No such file or directory (os error 2)"],
        "hint": null,
    });
    assert_eq!((code, error), (3, expected));
}
