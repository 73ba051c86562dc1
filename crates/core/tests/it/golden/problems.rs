//! The problems of invalid messages and documents.

use std::fmt::Write as _;

use adjutant_core::input::MessageFacts;
use adjutant_core::protocols::dialect;
use adjutant_core::{Decision, Input, World, decide};
use adjutant_model::answer::{AnswerVerdict, FieldProblem};
use adjutant_model::completion::WorkOutcome;
use adjutant_model::document::DocumentKind;
use adjutant_model::message_type::MessageType;
use adjutant_model::{Event, Status};
use adjutant_test_support::golden::GoldenFolder;
use serde_json::{Map, Value, json};

use super::mutations::mutations;
use super::reasons::{ReasonSource, check_reasons};
use crate::support::{
    TaskBuilder, completion, envelope, handoff_accepted, handoff_rejected, handoff_request, id,
    now, status_update, task, world,
};

fn no_yaml(_: &str) -> Result<Map<String, Value>, Vec<FieldProblem>> {
    Err(vec![FieldProblem::new("", "is not read here")])
}

fn given() -> World {
    world([task(1, Status::InProgress).leased_to("swe", 1), task(2, Status::Ready).child_of(1)])
}

fn decided(raw: &[u8]) -> Decision {
    let incoming = dialect::read(raw, &no_yaml);
    decide(&given(), &Input::Message { incoming, facts: MessageFacts::default() }, now())
}

/// Returns the verdict, the reason, every problem and every warning of a decision.
pub(super) fn said(decision: &Decision) -> Vec<String> {
    let answer = &decision.answer;
    let reason = answer.reason.map_or_else(String::new, |reason| format!(" {reason}"));
    let mut said = vec![format!("{}{reason}", answer.verdict)];
    said.extend(answer.problems.iter().map(ToString::to_string));
    let warned = decision.events.iter().filter_map(|happened| match &happened.event {
        Event::MessageWarned { reason, detail } => Some(format!("warning {reason}: {detail}")),
        _ => None,
    });
    said.extend(warned);
    said
}

/// How many problems of one document are printed.
const PROBLEMS_MAX: usize = 6;

fn write(lines: &mut String, name: &str, decision: &Decision) {
    let mut said = said(decision);
    if said != [AnswerVerdict::Applied.as_str()] {
        let more = said.len().saturating_sub(PROBLEMS_MAX);
        said.truncate(PROBLEMS_MAX);
        said.extend((more > 0).then(|| format!("and {more} more")));
        let _ = writeln!(lines, "{name}\n    {}", said.join("\n    "));
    }
}

/// A valid message of a type, with every field it can have.
fn message(kind: MessageType) -> Value {
    match kind {
        MessageType::CompletionReport => completion(1, "swe", WorkOutcome::Blocked),
        MessageType::StatusUpdate => {
            let mut message = status_update(1, "swe", Some(Status::Blocked));
            message["payload"]["blockers"] = json!(["Awaiting API key"]);
            message["payload"]["notes"] = json!("Back tomorrow");
            message
        }
        MessageType::HandoffRequest => handoff_request(2, 1, "swe", "qa"),
        MessageType::HandoffAccepted => handoff_accepted(2, "qa"),
        MessageType::HandoffRejected => handoff_rejected(2, "qa"),
    }
}

/// A valid document of a kind, with every field it can have.
fn document(kind: DocumentKind) -> Value {
    match kind {
        DocumentKind::Mission => json!({
            "version": "1", "task_id": "T042", "epic_id": "E005", "prd_id": "PRD-001",
            "instruction": "Build it",
            "context": {
                "dev_md": "DEV.md", "epic_file": "epic.md", "task_file": "task.md",
                "memory": "memory.md", "toolset": "tools.md",
            },
            "constraints": {"max_files": 10, "no_git_commit": true, "no_new_deps": false},
            "timeout": 600,
        }),
        DocumentKind::Result => json!({
            "version": "1", "task_id": "T042", "status": "completed",
            "files_modified": [{"path": "src/a.js", "action": "created"}],
            "log": [
                {"level": "info", "message": "Built", "timestamp": "2025-01-15T10:30:00Z"},
                {"level": "tip", "message": "Use it", "timestamp": "2025-01-15T10:35:00Z"},
            ],
            "issues": [{"type": "concern", "description": "Slow"}],
            "completed_at": "2025-01-15T10:45:00Z",
        }),
        DocumentKind::NewTask => json!({
            "taskId": "A-1", "parentTaskId": "A-0", "delegatedToMode": "code",
            "objective": "Build it", "context": "There is none",
            "inputs": [{"type": "code", "path": "a.rs", "version": "2", "description": "it"}],
            "expectedOutputs": [{"type": "doc", "path": "b.md", "description": "what"}],
            "constraintsAndRules": ["none"], "acceptanceCriteria": ["it works"],
            "priority": "high", "deadlineHint": "soon",
        }),
        DocumentKind::AttemptCompletion => json!({
            "taskId": "A-1", "result": "success", "summary": "Built",
            "outputArtifacts": [{"type": "doc", "path": "b.md", "version": "1", "description": "d"}],
            "issues_encountered": [
                {"type": "other", "description": "Slow", "suggestedResolution": "Wait"},
            ],
        }),
    }
}

fn problems(sound: &Value) -> String {
    let mut lines = String::new();
    write(&mut lines, "as it should be", &decided(sound.to_string().as_bytes()));
    for mutation in mutations(sound) {
        let decision = decided(mutation.document.to_string().as_bytes());
        write(&mut lines, &mutation.name, &decision);
    }
    lines
}

/// Texts that are not messages, or of which only the type is known.
fn texts() -> String {
    let deep = format!("AOF/1 {}{}", "[".repeat(200), "]".repeat(200));
    let long = format!("AOF/1 {{\"x\": \"{}\"}}", "x".repeat(2 << 20));
    let unknown = envelope("coffee.break", &id(1), "swe", &json!({})).to_string();
    let all: [(&str, &[u8]); 10] = [
        ("nothing", b""),
        ("words", b"hello"),
        ("the prefix alone", b"AOF/1 "),
        ("a list", b"AOF/1 []"),
        ("half an object", b"AOF/1 {\"protocol\": \"aof\""),
        ("no UTF-8", b"AOF/1 {\"protocol\": \"aof\", \"x\": \"\xff\"}"),
        ("half a new_task", b"{\"taskId\": \"A-1\", \"delegatedToMode\": \"code\""),
        ("nested too deep", deep.as_bytes()),
        ("too long", long.as_bytes()),
        ("an unknown type", unknown.as_bytes()),
    ];
    let mut lines = String::new();
    for (name, raw) in all {
        write(&mut lines, name, &decided(raw));
    }
    lines
}

#[test]
fn problems_match_golden_files() {
    let messages = MessageType::ALL.map(|kind| (kind.as_str(), problems(&message(kind))));
    let documents = DocumentKind::ALL.map(|kind| (kind.as_str(), problems(&document(kind))));
    let mut golden = GoldenFolder::new("reasons/problems");
    let mut all = String::new();
    for (name, text) in messages.into_iter().chain(documents).chain([("texts", texts())]) {
        all += &text;
        golden.add(format!("{name}.txt"), text);
    }
    check_reasons(&all, ReasonSource::Reading);
    golden.check();
}
