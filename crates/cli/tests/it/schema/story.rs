//! Story files: the protocol's own examples, documents derived from them, and invalid ones.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use adjutant_store::frontmatter::{self, FrontMatterParts};
use adjutant_store::yaml;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::schema::support::{complaints, validator};

/// Returns an example file of the protocol.
fn example(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/examples").join(name);
    std::fs::read_to_string(path).expect("the example is there")
}

fn state() -> Value {
    serde_json::from_str(&example("STATE.json")).expect("it is JSON")
}

fn handoff() -> Value {
    let text = example("HANDOFF.md");
    let parts = FrontMatterParts::split(&text).expect("it has front matter");
    Value::Object(frontmatter::read(parts.yaml()).expect("it is YAML"))
}

fn step_rules(text: &str) -> Value {
    Value::Object(yaml::read(text).expect("it is YAML"))
}

/// Returns whether `adjutant check` accepts a text.
fn passes(kind: &str, text: &str) -> bool {
    let mut child = Command::new(env!("CARGO_BIN_EXE_adjutant"))
        .args(["check", "--as", kind, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let mut input = child.stdin.take().expect("an input");
    input.write_all(text.as_bytes()).expect("it is read");
    drop(input);
    let code = child.wait().expect("it ends").code();
    assert!(matches!(code, Some(0 | 1)), "{code:?}: {text}");
    code == Some(0)
}

/// Returns a document with one field changed.
fn with(document: &Value, field: &str, value: &Value) -> Value {
    let mut changed = document.clone();
    changed[field] = value.clone();
    changed
}

/// Returns a document without one of its fields.
fn without(document: &Value, field: &str) -> Value {
    let mut less = document.clone();
    less.as_object_mut().expect("an object").shift_remove(field);
    less
}

/// Formats fields as the front matter of a hand-over.
fn handed_over(fields: &Value) -> String {
    let fields = fields.as_object().expect("an object");
    format!("---\n{}---\n", frontmatter::write(fields, "\n"))
}

/// Compares `check` with the schema on documents of one kind.
struct SchemaComparison {
    kind: &'static str,
    schema: Validator,
    /// The documents on which `check` and the schema disagree.
    disagreements: Vec<String>,
}

impl SchemaComparison {
    fn new(kind: &'static str) -> Self {
        Self { kind, schema: validator(kind), disagreements: vec![] }
    }

    /// Returns whether `check` accepts a document, and records a disagreement with the schema.
    fn check_accepts(&mut self, document: &Value, text: &str) -> bool {
        let (check, schema) = (passes(self.kind, text), self.schema.is_valid(document));
        if check != schema {
            self.disagreements.push(format!("check {check}, schema {schema}: {text}"));
        }
        check
    }

    fn assert_agreement(self) {
        assert_eq!(self.disagreements, [""; 0], "{}", self.kind);
    }
}

#[test]
fn story_protocol_examples_are_valid() {
    for (kind, document) in [
        ("state", state()),
        ("handoff", handoff()),
        ("step-rules", step_rules(&example("step-rules.yaml"))),
        ("step-rules", step_rules(include_str!("../../../../stories/src/files/step-rules.yaml"))),
        ("step-rules", step_rules("steps:\n  impl:\n    max_attempts: 7\n")),
        ("step-rules", json!({})),
    ] {
        assert_eq!(complaints(&validator(kind), &document), [""; 0], "{kind}");
    }
    for (kind, name) in
        [("state", "STATE.json"), ("handoff", "HANDOFF.md"), ("step-rules", "step-rules.yaml")]
    {
        assert!(passes(kind, &example(name)), "{name}");
    }
}

#[test]
fn story_state_schema_and_check_agree() {
    let (mut judges, good) = (SchemaComparison::new("state"), state());
    let values = [
        json!(null),
        json!(0),
        json!(1),
        json!(1.5),
        json!("x"),
        json!(""),
        json!([]),
        json!(["x"]),
        json!([1]),
        json!({}),
        json!(true),
        json!("running"),
        json!("passing"),
        json!("impl"),
        json!("scope_warning"),
        json!("2026-02-13T14:30:00Z"),
        json!("yesterday"),
        json!({"pass": 1, "fail": 0, "skip": 0}),
        json!({"pass": -1}),
        json!({"pass": "1"}),
    ];
    let mut counts = [0, 0];
    let mut judge = |document: &Value| {
        let said = judges.check_accepts(document, &document.to_string());
        counts[usize::from(said)] += 1;
    };
    let more = ["last_error", "reopened_from", "waiting_for", "dispatches", "unknown"];
    for field in good.as_object().expect("an object").keys().map(String::as_str).chain(more) {
        judge(&without(&good, field));
        for value in &values {
            judge(&with(&good, field, value));
        }
    }
    assert!(counts.iter().all(|count| *count > 80), "{counts:?}");
    for whole in [json!(null), json!([]), json!("x"), json!(3)] {
        assert!(!judges.check_accepts(&whole, &whole.to_string()), "{whole}");
    }
    judges.assert_agreement();
}

#[test]
fn invalid_hand_over_is_refused_by_schema_and_check() {
    let (mut judges, good) = (SchemaComparison::new("handoff"), handoff());
    let mut judge = |document: &Value| judges.check_accepts(document, &handed_over(document));
    for status in ["pass", "failing", "needs_human"] {
        assert!(judge(&with(&good, "status", &json!(status))), "{status}");
    }
    assert!(judge(&with(&good, "reason", &json!("nfr_missing"))));
    assert!(judge(&with(&good, "commit_hash", &json!("1f2e3d"))));
    assert!(judge(&without(&good, "files_changed")));
    for (field, value) in [
        ("status", json!("passing")),
        ("status", json!("running")),
        ("status", json!(null)),
        ("status", json!(["pass"])),
        ("reason", json!("it was too hard")),
        ("reason", json!(["scope_warning"])),
        ("step", json!("implement")),
        ("step", json!(null)),
        ("attempt", json!(0)),
        ("attempt", json!(-1)),
        ("attempt", json!(1.5)),
        ("attempt", json!("second")),
        ("story", json!("../US-005")),
        ("story", json!("")),
        ("story", json!({})),
    ] {
        assert!(!judge(&with(&good, field, &value)), "{field}: {value}");
    }
    for field in ["story", "step", "attempt", "status"] {
        assert!(!judge(&without(&good, field)), "{field}");
    }
    judges.assert_agreement();
}

#[test]
fn invalid_step_rules_are_refused_by_schema_and_check() {
    let mut judges = SchemaComparison::new("step-rules");
    let mut judge = |text: &str| judges.check_accepts(&step_rules(text), text);
    let rule = |line: &str| format!("steps:\n  impl:\n    {line}\n");
    for good in [
        "max_attempts: 1",
        "timeout_min: 30",
        "requires_human: true",
        "post_check: null",
        "post_check: make check",
        "claude_reads: []",
        "on_fail: {scope_warning: review, default: impl}",
        "next_on_fail: bdd",
        "step_instruction: Do it.",
    ] {
        assert!(judge(&rule(good)), "{good}");
    }
    for bad in [
        "max_attempts: 0",
        "max_attempts: -1",
        "max_attempts: 1001",
        "max_attempts: 1.5",
        "max_attempts: three",
        "timeout_min: -1",
        "timeout_min: soon",
        "requires_human: maybe",
        "next_on_pass: deploy",
        "next_on_fail: 3",
        "on_fail: {too_hard: impl}",
        "on_fail: {default: nowhere}",
        "on_fail: []",
        "claude_reads: docs/sdd.md",
        "post_check: ' '",
        "post_check: []",
        "step_instruction: ''",
        "max_atempts: 3",
    ] {
        assert!(!judge(&rule(bad)), "{bad}");
    }
    for bad in ["steps: []", "steps: {deploy: {}}", "step: {}", "test_format: xml"] {
        assert!(!judge(bad), "{bad}");
    }
    for good in ["test_command: make test", "test_format: null", "test_timeout_min: 5"] {
        assert!(judge(good), "{good}");
    }
    judges.assert_agreement();
}
