//! The documents of the other dialects: detection, validation, and printing them unchanged.

use adjutant_core::protocols::aof::IncomingText;
use adjutant_core::protocols::dialect::{read, read_as, read_left_file};
use adjutant_model::answer::FieldProblem;
use adjutant_model::completion::WorkOutcome;
use adjutant_model::delegation::{AttemptResult, NewTaskPriority};
use adjutant_model::dialect::{ProtocolDialect, STATUS_MAPPINGS, find_mapping};
use adjutant_model::document::{DocumentKind, ProtocolDocument};
use adjutant_model::mission::{LogLevel, ResultStatus};
use adjutant_model::{Priority, Reason};
use serde_json::{Map, Value, json};

fn no_yaml(_: &str) -> Result<Map<String, Value>, Vec<FieldProblem>> {
    Err(vec![FieldProblem::new("", "is not read here")])
}

fn mission() -> Value {
    json!({
        "version": "1",
        "task_id": "T042",
        "epic_id": "E005",
        "prd_id": "PRD-001",
        "instruction": "Implement the user authentication module.\n",
        "context": {
            "dev_md": "path/to/DEV.md",
            "epic_file": "path/to/epic.md",
            "task_file": "path/to/task.md",
            "memory": "path/to/memory.md",
            "toolset": "path/to/TOOLSET.md",
        },
        "constraints": {"max_files": 10, "no_git_commit": true, "no_new_deps": false},
        "timeout": 600,
    })
}

fn result() -> Value {
    json!({
        "version": "1",
        "task_id": "T042",
        "status": "completed",
        "files_modified": [
            {"path": "src/auth/login.js", "action": "created"},
            {"path": "src/auth/logout.js", "action": "modified"},
        ],
        "log": [
            {
                "level": "info",
                "message": "Created authentication module",
                "timestamp": "2025-01-15T10:30:00Z",
            },
            {
                "level": "tip",
                "message": "Use bcrypt for password hashing",
                "timestamp": "2025-01-15T10:35:00Z",
            },
        ],
        "issues": [],
        "completed_at": "2025-01-15T10:45:00Z",
    })
}

fn new_task() -> Value {
    json!({
        "taskId": "API-SPEC-001",
        "parentTaskId": "FEATURE-AUTH-001",
        "delegatedToMode": "spec-pseudocode",
        "objective": "Create a detailed API specification",
        "context": "We are implementing a JWT-based authentication system",
        "inputs": [{
            "type": "document",
            "path": ".project-memory/hld/auth_system_design.md",
            "version": "1.0.0",
            "description": "High-level design",
        }],
        "expectedOutputs": [{
            "type": "document",
            "path": ".project-memory/lld/auth_api_spec.md",
            "description": "Detailed API specification",
        }],
        "constraintsAndRules": ["Follow RESTful API design principles"],
        "acceptanceCriteria": ["All endpoints from the HLD are specified"],
        "priority": "high",
        "deadlineHint": "2 days",
    })
}

fn attempt() -> Value {
    json!({
        "taskId": "API-SPEC-001",
        "result": "clarification_needed",
        "summary": "Started, but need clarification",
        "outputArtifacts": [{
            "type": "document",
            "path": ".project-memory/lld/draft.md",
            "version": "0.0.1",
            "description": "Partial API specification",
        }],
        "issues_encountered": [{
            "type": "clarification_needed",
            "description": "Email verification or security questions?",
            "suggestedResolution": "Consult with the Business Owner",
        }],
    })
}

fn samples() -> [(DocumentKind, Value); 4] {
    [
        (DocumentKind::Mission, mission()),
        (DocumentKind::Result, result()),
        (DocumentKind::NewTask, new_task()),
        (DocumentKind::AttemptCompletion, attempt()),
    ]
}

/// Returns the problems of a document, as `path: problem`.
fn problems(kind: DocumentKind, document: &Value) -> Vec<String> {
    let read = read_as(kind, document.to_string().as_bytes(), &no_yaml);
    read.err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn check(kind: DocumentKind, document: &Value, expected: &[&str]) {
    assert_eq!(problems(kind, document), expected, "{document}");
}

/// Sets or removes the field at a JSON pointer.
fn with(mut document: Value, at: &str, value: Option<Value>) -> Value {
    let (above, key) = at.rsplit_once('/').expect("a pointer");
    let object = document.pointer_mut(above).expect("something to change");
    match (value, object) {
        (Some(value), Value::Object(map)) => drop(map.insert(key.to_owned(), value)),
        (None, Value::Object(map)) => drop(map.shift_remove(key)),
        (Some(value), Value::Array(items)) => {
            items[key.parse::<usize>().expect("an index")] = value;
        }
        (value, other) => panic!("cannot put {value:?} into {other}"),
    }
    document
}

#[test]
fn document_prints_unchanged() {
    for (kind, sample) in samples() {
        let read = read_as(kind, sample.to_string().as_bytes(), &no_yaml);
        let (document, warnings) = read.expect("a good document");
        assert_eq!((document.kind(), warnings), (kind, vec![]));
        assert_eq!(Value::Object(document.to_map()), sample);
        assert_eq!(
            Value::Object(document.to_map()).to_string(),
            sample.to_string(),
            "in the order of the protocol"
        );
    }
}

#[test]
fn document_kind_is_detected_by_its_keys() {
    for (kind, sample) in samples() {
        let IncomingText::Document(sent) = read(sample.to_string().as_bytes(), &no_yaml) else {
            panic!("{kind} is not detected");
        };
        assert_eq!(sent.document.kind(), kind);
        for carrier in ["payload", "message", "content"] {
            let carried = json!({ carrier: sample });
            let text = json!({ carrier: sample.to_string() });
            for carried in [carried, text] {
                let incoming = read(carried.to_string().as_bytes(), &no_yaml);
                assert_eq!(incoming, IncomingText::Document(sent.clone()), "{carried}");
            }
        }
        for key in kind.keys() {
            let other = with(sample.clone(), &format!("/{key}"), None);
            let incoming = read(other.to_string().as_bytes(), &no_yaml);
            assert_eq!(incoming, IncomingText::Ignored, "{kind} without {key}");
        }
    }
}

#[test]
fn document_may_contain_the_run_token() {
    for (key, sample) in [("runToken", attempt()), ("run_token", result())] {
        let sample = with(sample, &format!("/{key}"), Some("1-ab".into()));
        let IncomingText::Document(sent) = read(sample.to_string().as_bytes(), &no_yaml) else {
            panic!("not detected");
        };
        assert_eq!((sent.run_token.as_deref(), &sent.warnings[..]), (Some("1-ab"), &[][..]));
        assert!(!sent.document.to_map().contains_key(key));
    }
}

#[test]
fn broken_text_with_document_keys_is_refused() {
    let refused = |text: &str| match read(text.as_bytes(), &no_yaml) {
        IncomingText::Refused(refusal) => {
            Some((refusal.reason, refusal.document.map(|(kind, _)| kind)))
        }
        IncomingText::Ignored => None,
        other => panic!("{other:?}"),
    };
    let json = r#"{"taskId": "A", "delegatedToMode": "b", }"#;
    assert_eq!(refused(json), Some((Reason::InvalidJson, Some(DocumentKind::NewTask))));
    let yaml = "version: \"1\"\ntask_id: T1\nstatus: [\n";
    assert_eq!(refused(yaml), Some((Reason::InvalidYaml, Some(DocumentKind::Result))));
    assert_eq!(refused("version: 1\nstatus: fine\n"), None);
    assert_eq!(refused("the version: task_id: and status: of things"), None);
    assert_eq!(refused("{\"a\": 1"), None);
}

#[test]
fn document_file_of_a_run_is_never_ignored() {
    for (kind, sample) in samples() {
        let taken = read_left_file(kind, sample.to_string().as_bytes(), &no_yaml);
        assert!(matches!(taken, IncomingText::Document(sent) if sent.document.kind() == kind));
        for text in ["", "{}", "words", "{\"taskId\": 1}"] {
            let IncomingText::Refused(refusal) = read_left_file(kind, text.as_bytes(), &no_yaml)
            else {
                panic!("{kind}: {text:?} is not refused");
            };
            assert_eq!(refusal.reason, Reason::InvalidEnvelope);
            assert_eq!(refusal.document, Some((kind, None)));
            assert!(!refusal.problems.is_empty());
        }
    }
}

#[test]
fn required_field_must_be_present_and_of_its_type() {
    let required: [(DocumentKind, &[&str]); 4] = [
        (
            DocumentKind::Mission,
            &[
                "/version",
                "/task_id",
                "/epic_id",
                "/prd_id",
                "/instruction",
                "/context",
                "/context/epic_file",
                "/context/task_file",
            ],
        ),
        (
            DocumentKind::Result,
            &[
                "/version",
                "/task_id",
                "/status",
                "/files_modified",
                "/files_modified/0/path",
                "/files_modified/0/action",
                "/log",
                "/log/1/level",
                "/log/1/message",
                "/log/1/timestamp",
                "/completed_at",
            ],
        ),
        (
            DocumentKind::NewTask,
            &[
                "/taskId",
                "/delegatedToMode",
                "/objective",
                "/inputs/0/path",
                "/expectedOutputs/0/path",
            ],
        ),
        (
            DocumentKind::AttemptCompletion,
            &[
                "/taskId",
                "/result",
                "/summary",
                "/outputArtifacts/0/path",
                "/issues_encountered/0/type",
                "/issues_encountered/0/description",
            ],
        ),
    ];
    for ((kind, fields), (_, sample)) in required.into_iter().zip(samples()) {
        for field in fields {
            let path = place(field);
            let missing = problems(kind, &with(sample.clone(), field, None));
            assert_eq!(missing, [format!("{path}: is required")], "{kind}");
            for wrong in [Value::Null, json!(7.5), json!(true)] {
                let wrong = with(sample.clone(), field, Some(wrong));
                let found = problems(kind, &wrong);
                assert!(
                    found.len() == 1 && found[0].starts_with(&format!("{path}: ")),
                    "{kind} {path}: {found:?}"
                );
            }
        }
    }
}

/// Converts a JSON pointer to the path in a problem.
fn place(pointer: &str) -> String {
    let parts = pointer.trim_start_matches('/').split('/');
    parts.fold(String::new(), |path, part| match part.parse::<usize>() {
        Ok(index) => format!("{path}[{index}]"),
        Err(_) if path.is_empty() => part.to_owned(),
        Err(_) => format!("{path}.{part}"),
    })
}

#[test]
fn document_problems_are_named_in_one_answer() {
    let bad = json!({
        "version": "2",
        "task_id": "42",
        "epic_id": "E",
        "prd_id": "PRD001",
        "instruction": " ",
        "context": {"epic_file": "/etc/passwd", "task_file": "../x", "memory": 3},
        "constraints": {"max_files": -1, "no_git_commit": "yes", "no_new_deps": null},
        "timeout": 1.5,
    });
    check(
        DocumentKind::Mission,
        &bad,
        &[
            "version: unsupported version \"2\": must be \"1\"",
            "task_id: must be T and digits, such as T001, with at most 64 characters",
            "epic_id: must be E and digits, such as E001, with at most 64 characters",
            "prd_id: must be PRD- and digits, such as PRD-001, with at most 64 characters",
            "instruction: must not be empty",
            "context.epic_file: must be a relative path",
            "context.task_file: must stay inside its folder (no `..`)",
            "context.memory: must be text, not a number",
            "constraints.max_files: must be non-negative",
            "constraints.no_git_commit: must be true or false, not text",
            "timeout: must be a whole number",
        ],
    );
    let bad = json!({
        "version": 2,
        "task_id": "T1",
        "status": "done",
        "files_modified": [{"path": "~/x", "action": "touched"}, 3],
        "log": [{"level": "loud", "message": "", "timestamp": "today"}],
        "issues": {},
        "completed_at": "2025-01-15",
    });
    check(
        DocumentKind::Result,
        &bad,
        &[
            "version: unsupported version 2: must be \"1\"",
            "status: must be one of: completed, failed, blocked",
            "files_modified[0].path: must be a relative path",
            "files_modified[0].action: must be one of: created, modified, deleted",
            "files_modified[1]: must be an object, not a number",
            "log[0].level: must be one of: info, tip, warn, error, critical",
            "log[0].message: must not be empty",
            "log[0].timestamp: must be an ISO 8601 datetime (RFC 3339), such as \
             2026-02-09T21:00:00.000Z",
            "log: must have at least 2 entries, not 1",
            "issues: must be a list, not an object",
            "completed_at: must be an ISO 8601 datetime (RFC 3339), such as \
             2026-02-09T21:00:00.000Z",
        ],
    );
    let bad = json!({
        "taskId": "A",
        "parentTaskId": "A",
        "delegatedToMode": "",
        "objective": [],
        "inputs": [{"path": "C:\\x"}],
        "acceptanceCriteria": ["a", 1],
        "priority": "urgent",
        "deadlineHint": "",
    });
    check(
        DocumentKind::NewTask,
        &bad,
        &[
            "parentTaskId: must not be the same task as taskId",
            "delegatedToMode: must not be empty",
            "objective: must be text, not a list",
            "inputs[0].path: must be a relative path",
            "acceptanceCriteria[1]: must be text, not a number",
            "priority: must be one of: high, medium, low",
            "deadlineHint: must not be empty",
        ],
    );
}

#[test]
fn contradictory_result_is_refused() {
    let issue = json!([
        {"type": "concern", "description": "x"},
        {"type": "blocker", "description": "y"},
    ]);
    let completed = with(result(), "/issues", Some(issue));
    let expected = ["issues[1].type: a blocker contradicts the status completed"];
    check(DocumentKind::Result, &completed, &expected);
    let failed = with(completed, "/status", Some("failed".into()));
    check(DocumentKind::Result, &failed, &[]);
}

#[test]
fn numeric_version_is_accepted_with_a_warning() {
    for sample in [mission(), result()] {
        let numbered = with(sample, "/version", Some(json!(1)));
        let IncomingText::Document(sent) = read(numbered.to_string().as_bytes(), &no_yaml) else {
            panic!("not taken");
        };
        let warnings: Vec<String> = sent.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, ["version: should be text (\"1\"), not a number"]);
    }
}

#[test]
fn unknown_field_is_ignored_with_a_warning() {
    let sample = with(mission(), "/constraints/no_git_comit", Some(json!(true)));
    let sample = with(sample, "/time_out", Some(json!(1)));
    let (_, warnings) =
        read_as(DocumentKind::Mission, sample.to_string().as_bytes(), &no_yaml).expect("good");
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "time_out: is unknown and was ignored",
            "constraints.no_git_comit: is unknown and was ignored",
        ]
    );
}

#[test]
fn document_too_large_or_too_deep_is_not_parsed() {
    let large = format!("{{\"taskId\":\"{}\"}}", "x".repeat(1 << 20));
    let deep = format!("{{\"taskId\":1,\"result\":{}{}}}", "[".repeat(70), "]".repeat(70));
    for (text, reason) in [(large, Reason::PayloadTooLarge), (deep, Reason::NestingTooDeep)] {
        let IncomingText::Refused(refusal) = read(text.as_bytes(), &no_yaml) else {
            panic!("not refused");
        };
        assert_eq!(refusal.reason, reason);
        assert!(read_as(DocumentKind::AttemptCompletion, text.as_bytes(), &no_yaml).is_err());
    }
}

#[test]
fn document_content_is_limited_to_what_a_task_can_store() {
    let long = "x".repeat(100_000);
    let fits = with(mission(), "/instruction", Some(long.clone().into()));
    check(DocumentKind::Mission, &fits, &[]);
    let task = with(new_task(), "/context", Some(long.clone().into()));
    let task = with(task, "/objective", Some(long.into()));
    let found = problems(DocumentKind::NewTask, &task);
    assert!(found[0].starts_with("must have at most 131072 bytes, not 20"), "{found:?}");
}

#[test]
fn outcome_table_has_every_status_of_every_dialect() {
    let words = |dialect| {
        let rows = STATUS_MAPPINGS.iter().filter(move |row| row.dialect == dialect);
        rows.map(|row| row.status).collect::<Vec<_>>()
    };
    let all = |words: &[&'static str]| words.to_vec();
    let results = ResultStatus::ALL.map(ResultStatus::as_str);
    let attempts = AttemptResult::ALL.map(AttemptResult::as_str);
    let outcomes = WorkOutcome::ALL.map(WorkOutcome::as_str);
    assert_eq!(words(ProtocolDialect::Aof), all(&outcomes));
    assert_eq!(words(ProtocolDialect::Mission), results);
    assert_eq!(words(ProtocolDialect::NewTask), attempts);
    assert_eq!(words(ProtocolDialect::Prompt), all(&[]));
    for row in STATUS_MAPPINGS {
        assert_eq!(find_mapping(row.dialect, row.status), Some(&row).copied().as_ref());
    }
}

#[test]
fn document_words_map_to_their_meaning() {
    for priority in Priority::ALL {
        let back = NewTaskPriority::from_priority(priority).to_priority();
        assert!(back == priority || priority == Priority::Critical);
    }
    let levels = LogLevel::ALL.map(LogLevel::as_str);
    assert_eq!(levels, ["info", "tip", "warn", "error", "critical"]);
    let Ok((ProtocolDocument::NewTask(task), _)) =
        read_as(DocumentKind::NewTask, new_task().to_string().as_bytes(), &no_yaml)
    else {
        panic!("a good document");
    };
    assert_eq!(task.due_by(), None);
}

#[test]
fn optional_fields_may_be_null() {
    for (kind, mut document) in samples() {
        let required: &[&str] = match kind {
            DocumentKind::Mission => {
                &["version", "task_id", "epic_id", "prd_id", "instruction", "context"]
            }
            DocumentKind::Result => {
                &["version", "task_id", "status", "files_modified", "log", "completed_at"]
            }
            DocumentKind::NewTask => &["taskId", "delegatedToMode", "objective"],
            DocumentKind::AttemptCompletion => &["taskId", "result", "summary"],
        };
        for (name, value) in document.as_object_mut().expect("an object") {
            if !required.contains(&name.as_str()) {
                *value = Value::Null;
            }
        }
        assert_eq!(problems(kind, &document), Vec::<String>::new(), "{document}");
        let mut missing = document.clone();
        missing[required[1]] = Value::Null;
        assert_eq!(problems(kind, &missing), [format!("{}: is required", required[1])]);
    }
    let mut mission = mission();
    mission["context"]["memory"] = Value::Null;
    mission["constraints"]["max_files"] = Value::Null;
    assert_eq!(problems(DocumentKind::Mission, &mission), Vec::<String>::new());
}
