//! Valid messages, for a test to send unchanged or to break.

use serde_json::{Value, json};

pub fn envelope(kind: &str, task: &str, from: &str, payload: &Value) -> Value {
    json!({
        "protocol": "aof",
        "version": 1,
        "type": kind,
        "taskId": task,
        "fromAgent": from,
        "toAgent": "dispatcher",
        "sentAt": "2026-02-09T21:10:00.000Z",
        "payload": payload,
    })
}

/// Makes a `completion.report`.
pub fn completion(task: &str, from: &str, outcome: &str) -> Value {
    let payload = json!({
        "outcome": outcome,
        "summaryRef": "outputs/summary.md",
        "deliverables": [],
        "tests": {"total": 10, "passed": 10, "failed": 0},
        "blockers": [],
        "notes": "All acceptance criteria met.",
    });
    envelope("completion.report", task, from, &payload)
}

/// Makes a `status.update` with progress.
pub fn progress(task: &str, from: &str, text: &str) -> Value {
    let payload = json!({"taskId": task, "agentId": from, "progress": text});
    envelope("status.update", task, from, &payload)
}

/// Makes a `handoff.request` from `parent` to `child`.
pub fn handoff(child: &str, parent: &str, from: &str, to: &str) -> Value {
    let payload = json!({
        "taskId": child,
        "parentTaskId": parent,
        "fromAgent": from,
        "toAgent": to,
        "acceptanceCriteria": ["All tests pass"],
        "expectedOutputs": ["tests/report.md"],
        "contextRefs": [format!("tasks/in-progress/{parent}.md")],
        "constraints": ["No new dependencies"],
        "dueBy": "2026-02-10T12:00:00.000Z",
    });
    envelope("handoff.request", child, from, &payload)
}
