//! Golden files of the problems in invalid task files and an invalid `STATE.json`.

use std::fmt::Write as _;

use adjutant_model::answer::FieldProblem;
use adjutant_stories::files::StateFile;
use adjutant_test_support::golden::GoldenFolder;
use serde_json::{Map, Value, json};

use super::samples::id;
use super::task::full_task;
use crate::frontmatter::{self, FrontMatterParts};
use crate::taskfile;

/// Returns copies of a mapping with one field removed or replaced, for every field of it and of
/// the nested mappings.
fn mutations(fields: &Map<String, Value>) -> Vec<(String, Map<String, Value>)> {
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!(""),
        json!("odd\u{7}"),
        json!([7]),
        json!([" "]),
        json!({"x": 1}),
    ];
    let mut all = Vec::new();
    for (key, value) in fields {
        let mut without = fields.clone();
        without.shift_remove(key);
        all.push((format!("{key} left out"), without));
        for value in &values {
            let mut with = fields.clone();
            with.insert(key.clone(), value.clone());
            all.push((format!("{key} = {value}"), with));
        }
        for (name, inner) in value.as_object().into_iter().flat_map(mutations) {
            let mut with = fields.clone();
            with.insert(key.clone(), Value::Object(inner));
            all.push((format!("{key}.{name}"), with));
        }
    }
    all
}

fn write(lines: &mut String, name: &str, problems: &[FieldProblem]) {
    let _ = writeln!(lines, "{name}");
    for problem in problems {
        let _ = writeln!(lines, "    {problem}");
    }
}

fn task_file_problems() -> String {
    let mut lines = String::new();
    let texts = [
        ("nothing", ""),
        ("no front matter", "# Mend it\n"),
        ("front matter without an end", "---\nid: x\n"),
        ("front matter that is no mapping", "---\n- a\n---\n"),
        ("front matter that is no YAML", "---\ntitle: [\n---\n"),
        ("a field that comes twice", "---\nid: a\nid: b\n---\n"),
        ("an anchor", "---\nid: &a x\ntitle: *a\n---\n"),
    ];
    for (name, text) in texts {
        let problems = taskfile::parse(text, Some(&id(1)), None).expect_err("it is refused");
        write(&mut lines, name, &problems);
    }
    let text = taskfile::render(&full_task(), "");
    let parts = FrontMatterParts::split(&text).expect("a task file");
    let mut fields = frontmatter::read(parts.yaml()).expect("front matter");
    for key in ["timeout", "idleTimeout"] {
        fields["metadata"][key] = json!("5m");
    }
    for (name, fields) in mutations(&fields) {
        let text = format!("---\n{}---\n", frontmatter::write(&fields, "\n"));
        if let Err(problems) = taskfile::parse(&text, Some(&id(1)), None) {
            write(&mut lines, &name, &problems);
        }
    }
    lines
}

fn state_problems() -> String {
    let mut lines = String::new();
    let texts = [("nothing", ""), ("a list", "[]"), ("half a state", "{\"step\":")];
    for (name, text) in texts {
        let problems = StateFile::parse(text.as_bytes()).expect_err("it is refused");
        write(&mut lines, name, &problems);
    }
    let no_text = StateFile::parse(b"{\"step\": \"\xff\"}").expect_err("it is refused");
    write(&mut lines, "no UTF-8", &no_text);
    let state = json!({
        "project": "cart-app", "story": "US-005", "step": "impl", "attempt": 2,
        "status": "failing", "reason": "scope_warning", "dispatched_at": "2026-02-09T20:10:00Z",
        "completed_at": "2026-02-09T20:10:00Z", "tests": {"pass": 3, "fail": 1, "skip": 0},
        "failing_tests": ["a"], "lint_pass": true, "files_changed": ["a.rs"],
        "blocked_by": ["US-003"], "human_note": "n", "last_error": "e",
        "human_note_told": true, "waiting_for": "stuck", "previous_error": "p",
        "dispatches": {"impl": 2}, "reopened_from": "verify",
    });
    for (name, fields) in mutations(state.as_object().expect("an object")) {
        match StateFile::parse(Value::Object(fields).to_string().as_bytes()) {
            Err(problems) => write(&mut lines, &name, &problems),
            Ok(file) => {
                let warning = |warning| FieldProblem::new("warning", warning);
                let warnings: Vec<FieldProblem> = file.warnings.into_iter().map(warning).collect();
                if !warnings.is_empty() {
                    write(&mut lines, &name, &warnings);
                }
            }
        }
    }
    lines
}

#[test]
fn file_problems_match_golden_files() {
    let mut golden = GoldenFolder::new("reasons/files");
    golden.add("task-file.txt", task_file_problems());
    golden.add("STATE.json.txt", state_problems());
    golden.check();
}
