//! The seven examples of the protocol's guide, each sent by `adjutant send` to a prepared folder.
//!
//! Answers, files and the event log are compared whole. Only the times of the test are masked as
//! `<now>`, and the hash chain of the event log is checked line by line.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::commands::support::{CliProject, example};

/// The values of a task file in which the examples differ.
struct ExampleTask<'a> {
    id: &'a str,
    status: &'a str,
    agent: &'a str,
    updated: &'a str,
    moved: &'a str,
    more: &'a str,
    body: &'a str,
}

const BEFORE: &str = "2026-02-09T20:00:00.000Z";

impl<'a> ExampleTask<'a> {
    fn new(id: &'a str, status: &'a str, agent: &'a str) -> Self {
        Self { id, status, agent, updated: BEFORE, moved: BEFORE, more: "", body: "\nDo it.\n" }
    }

    fn path(&self) -> String {
        format!("tasks/{}/{}.md", self.status, self.id)
    }

    /// Adds a comment, an unknown field and odd spacing to the file: all of them must survive.
    fn text(&self) -> String {
        let Self { id, status, agent, updated, moved, more, body } = self;
        format!(
            "---\nschemaVersion: 1\nid: {id}\ntitle:   'An example'\nstatus: {status}\n\
             priority: high # ask Bob\ncreatedAt: {BEFORE}\nupdatedAt: {updated}\n\
             lastTransitionAt: {moved}\ncreatedBy: human:alice\nrouting:\n  agent: {agent}\n\
             estimate: 3 days\n{more}---\n{body}"
        )
    }

    fn entry(&self) -> (String, String) {
        (self.path(), self.text())
    }
}

fn prepared(tasks: &[ExampleTask<'_>]) -> CliProject {
    let project = CliProject::foreign();
    for task in tasks {
        project.write(&task.path(), task.text());
    }
    project
}

fn check(project: &CliProject, number: usize, answer: &Value, files: &[(String, String)]) {
    assert_eq!(project.send(example(number).as_bytes()), (0, answer.clone()));
    let files: BTreeMap<String, String> = files.iter().cloned().collect();
    assert_eq!(project.files(), files);
}

fn event(id: u64, kind: &str, actor: &str, task: &str, payload: &Value) -> Value {
    json!({
        "eventId": id, "type": kind, "timestamp": "<now>", "actor": actor, "taskId": task,
        "payload": payload,
    })
}

fn adopted(tasks: u64) -> Value {
    json!({
        "eventId": 1, "type": "folder.adopted", "timestamp": "<now>", "actor": "system",
        "payload": {"tasks": tasks},
    })
}

fn received(actor: &str, task: &str, kind: &str, to: &str, sent_at: &str) -> Value {
    let payload = json!({"type": kind, "toAgent": to, "sentAt": sent_at});
    event(2, "protocol.message.received", actor, task, &payload)
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

#[test]
fn example_1_done_report_waits_for_review() {
    let id = "TASK-2026-02-09-057";
    let project = prepared(&[ExampleTask::new(id, "in-progress", "swe-backend")]);
    project.write(&format!("tasks/in-progress/{id}/outputs/summary.md"), "All done.\n");
    project.write(&format!("tasks/in-progress/{id}/outputs/handoff.md"), "Over to you.\n");
    let result = json!({
        "taskId": id,
        "agentId": "swe-backend",
        "completedAt": "2026-02-09T21:10:00.000Z",
        "outcome": "done",
        "summaryRef": "outputs/summary.md",
        "handoffRef": "outputs/handoff.md",
        "deliverables": ["src/api/users.ts", "src/api/auth.ts"],
        "tests": {"total": 120, "passed": 120, "failed": 0},
        "blockers": [],
        "notes": "All acceptance criteria met. Tests passing. Ready for review.",
    });
    check(
        &project,
        1,
        &json!({
            "result": "applied", "reason": null, "taskId": id, "events": [2, 3, 4],
            "status": "review", "errors": [],
        }),
        &[
            ExampleTask {
                updated: "<now>",
                moved: "<now>",
                more: "metadata:\n  reportedBy: swe-backend\n  statusReason: All acceptance criteria \
                       met. Tests passing. Ready for review.\n",
                ..ExampleTask::new(id, "review", "swe-backend")
            }
            .entry(),
            (format!("tasks/review/{id}/outputs/summary.md"), "All done.\n".into()),
            (format!("tasks/review/{id}/outputs/handoff.md"), "Over to you.\n".into()),
            (format!("runs/{id}/run_result.json"), pretty(&result)),
        ],
    );
    let reason = "All acceptance criteria met. Tests passing. Ready for review.";
    let moved = json!({"from": "in-progress", "to": "review", "reason": reason});
    let sent_at = "2026-02-09T21:10:00.000Z";
    assert_eq!(
        project.record(),
        [
            adopted(1),
            received("swe-backend", id, "completion.report", "dispatcher", sent_at),
            event(3, "task.completed", "swe-backend", id, &result),
            event(4, "task.transitioned", "swe-backend", id, &moved),
        ]
    );
}

#[test]
fn example_2_blocked_report_names_blockers() {
    let id = "TASK-2026-02-09-058";
    let project = prepared(&[ExampleTask::new(id, "in-progress", "swe-backend")]);
    let blockers = ["Awaiting API key for external service", "Need database credentials"];
    let result = json!({
        "taskId": id,
        "agentId": "swe-backend",
        "completedAt": "2026-02-09T21:15:00.000Z",
        "outcome": "blocked",
        "summaryRef": "outputs/summary.md",
        "handoffRef": "outputs/handoff.md",
        "deliverables": ["src/api/users.ts"],
        "tests": {"total": 50, "passed": 50, "failed": 0},
        "blockers": blockers,
        "notes": "Implemented core logic. Cannot proceed without credentials.",
    });
    check(
        &project,
        2,
        &json!({
            "result": "applied", "reason": null, "taskId": id, "events": [2, 3, 4, 5, 6],
            "status": "blocked", "errors": [],
        }),
        &[
            ExampleTask {
                updated: "<now>",
                moved: "<now>",
                more: "metadata:\n  reportedBy: swe-backend\n  statusReason: Awaiting API key for \
                       external service; Need database credentials\n",
                ..ExampleTask::new(id, "blocked", "swe-backend")
            }
            .entry(),
            (format!("runs/{id}/run_result.json"), pretty(&result)),
        ],
    );
    let missing = |id_of, reason: &str, file: &str| {
        let payload = json!({"reason": reason, "detail": file});
        event(id_of, "protocol.message.warning", "swe-backend", id, &payload)
    };
    let reason = blockers.join("; ");
    let moved = json!({"from": "in-progress", "to": "blocked", "reason": reason});
    let sent_at = "2026-02-09T21:15:00.000Z";
    assert_eq!(
        project.record(),
        [
            adopted(1),
            received("swe-backend", id, "completion.report", "dispatcher", sent_at),
            event(3, "task.completed", "swe-backend", id, &result),
            missing(4, "summary_file_not_found", "outputs/summary.md"),
            missing(5, "handoff_file_not_found", "outputs/handoff.md"),
            event(6, "task.transitioned", "swe-backend", id, &moved),
        ]
    );
}

#[test]
fn example_3_progress_is_added_to_work_log() {
    let id = "TASK-2026-02-09-059";
    let project = prepared(&[ExampleTask::new(id, "in-progress", "swe-qa")]);
    check(
        &project,
        3,
        &json!({
            "result": "applied", "reason": null, "taskId": id, "events": [2, 3],
            "status": "in-progress", "errors": [],
        }),
        &[ExampleTask {
            updated: "<now>",
            body: "\nDo it.\n\n## Work Log\n\n- 2026-02-09T21:20:00.000Z Progress: Executed \
                   50/100 test cases | Notes: No issues found so far\n",
            ..ExampleTask::new(id, "in-progress", "swe-qa")
        }
        .entry()],
    );
    let sent_at = "2026-02-09T21:20:00.000Z";
    let logged = json!({
        "at": sent_at, "progress": "Executed 50/100 test cases", "notes": "No issues found so far",
    });
    assert_eq!(
        project.record(),
        [
            adopted(1),
            received("swe-qa", id, "status.update", "dispatcher", sent_at),
            event(3, "task.logged", "swe-qa", id, &logged),
        ]
    );
}

#[test]
fn example_4_status_update_moves_task() {
    let id = "TASK-2026-02-09-060";
    let project = prepared(&[ExampleTask::new(id, "in-progress", "swe-qa")]);
    check(
        &project,
        4,
        &json!({
            "result": "applied", "reason": null, "taskId": id, "events": [2, 3],
            "status": "blocked", "errors": [],
        }),
        &[ExampleTask {
            updated: "<now>",
            moved: "<now>",
            more: "metadata:\n  statusReason: Test environment unreachable\n",
            ..ExampleTask::new(id, "blocked", "swe-qa")
        }
        .entry()],
    );
    let reason = "Test environment unreachable";
    let moved = json!({"from": "in-progress", "to": "blocked", "reason": reason});
    assert_eq!(
        project.record(),
        [
            adopted(1),
            received("swe-qa", id, "status.update", "dispatcher", "2026-02-09T21:25:00.000Z"),
            event(3, "task.transitioned", "swe-qa", id, &moved),
        ]
    );
}

#[test]
fn example_5_handoff_is_written_to_inputs_of_child() {
    let (id, parent) = ("TASK-2026-02-09-061", "TASK-2026-02-09-057");
    let project = prepared(&[
        ExampleTask::new(id, "ready", "swe-backend"),
        ExampleTask::new(parent, "in-progress", "swe-backend"),
    ]);
    let handoff = json!({
        "taskId": id,
        "parentTaskId": parent,
        "fromAgent": "swe-backend",
        "toAgent": "swe-qa",
        "acceptanceCriteria": [
            "All unit tests pass", "Integration tests pass", "Code coverage >= 80%",
        ],
        "expectedOutputs": ["tests/report.md", "coverage/report.html"],
        "contextRefs": [
            "tasks/in-progress/TASK-2026-02-09-057.md",
            "tasks/in-progress/TASK-2026-02-09-057/outputs/handoff.md",
            "src/api/users.ts",
            "src/api/auth.ts",
        ],
        "constraints": ["No new dependencies", "Use existing test framework"],
        "dueBy": "2026-02-10T12:00:00.000Z",
    });
    check(
        &project,
        5,
        &json!({
            "result": "applied", "reason": null, "taskId": id, "events": [2, 3],
            "status": "ready", "errors": [],
        }),
        &[
            ExampleTask {
                updated: "<now>",
                more: "parentId: TASK-2026-02-09-057\nmetadata:\n  delegationDepth: 1\n",
                ..ExampleTask::new(id, "ready", "swe-qa")
            }
            .entry(),
            ExampleTask::new(parent, "in-progress", "swe-backend").entry(),
            (format!("tasks/ready/{id}/inputs/handoff.json"), pretty(&handoff)),
            (format!("tasks/ready/{id}/inputs/handoff.md"), HANDOFF_5.to_owned()),
        ],
    );
    assert_eq!(
        project.record(),
        [
            adopted(2),
            received("swe-backend", id, "handoff.request", "swe-qa", "2026-02-09T21:30:00.000Z"),
            event(3, "delegation.requested", "swe-backend", id, &handoff),
        ]
    );
}

const HANDOFF_5: &str = "\
# Handoff Request

**From:** swe-backend
**To:** swe-qa
**Due By:** 2026-02-10T12:00:00.000Z

## Acceptance Criteria

- All unit tests pass
- Integration tests pass
- Code coverage >= 80%

## Expected Outputs

- tests/report.md
- coverage/report.html

## Context References

- tasks/in-progress/TASK-2026-02-09-057.md
- tasks/in-progress/TASK-2026-02-09-057/outputs/handoff.md
- src/api/users.ts
- src/api/auth.ts

## Constraints

- No new dependencies
- Use existing test framework
";

#[test]
fn example_6_accepted_handoff_moves_nothing() {
    let id = "TASK-2026-02-09-061";
    let project = prepared(&[ExampleTask::new(id, "ready", "swe-qa")]);
    check(
        &project,
        6,
        &json!({
            "result": "applied", "reason": null, "taskId": id, "events": [2, 3],
            "status": "ready", "errors": [],
        }),
        &[ExampleTask::new(id, "ready", "swe-qa").entry()],
    );
    assert_eq!(
        project.record(),
        [
            adopted(1),
            received("swe-qa", id, "handoff.accepted", "dispatcher", "2026-02-09T21:35:00.000Z"),
            event(3, "delegation.accepted", "swe-qa", id, &json!({})),
        ]
    );
}

#[test]
fn example_7_rejected_handoff_blocks_child() {
    let id = "TASK-2026-02-09-062";
    let project = prepared(&[ExampleTask::new(id, "ready", "swe-qa")]);
    check(
        &project,
        7,
        &json!({
            "result": "applied", "reason": null, "taskId": id, "events": [2, 3, 4],
            "status": "blocked", "errors": [],
        }),
        &[ExampleTask {
            updated: "<now>",
            moved: "<now>",
            more: "metadata:\n  statusReason: \"Insufficient context: no test plan provided\"\n",
            ..ExampleTask::new(id, "blocked", "swe-qa")
        }
        .entry()],
    );
    let reason = "Insufficient context: no test plan provided";
    let moved = json!({"from": "ready", "to": "blocked", "reason": reason});
    assert_eq!(
        project.record(),
        [
            adopted(1),
            received("swe-qa", id, "handoff.rejected", "dispatcher", "2026-02-09T21:40:00.000Z"),
            event(3, "task.transitioned", "swe-qa", id, &moved),
            event(4, "delegation.rejected", "swe-qa", id, &json!({"reason": reason})),
        ]
    );
}

#[test]
fn examples_are_accepted_as_announced_lines() {
    let tasks = [
        ExampleTask::new("TASK-2026-02-09-057", "in-progress", "swe-backend"),
        ExampleTask::new("TASK-2026-02-09-058", "in-progress", "swe-backend"),
        ExampleTask::new("TASK-2026-02-09-059", "in-progress", "swe-qa"),
        ExampleTask::new("TASK-2026-02-09-060", "in-progress", "swe-qa"),
        ExampleTask::new("TASK-2026-02-09-061", "ready", "swe-backend"),
        ExampleTask::new("TASK-2026-02-09-062", "ready", "swe-qa"),
    ];
    let project = prepared(&tasks);
    // Example 5 comes first: its sender may speak for the parent only while the parent is assigned
    // to it.
    let line = |number| format!("AOF/1 {}\n", crate::commands::support::document(&example(number)));
    let lines: String = [5, 1, 2, 3, 4, 6, 7].into_iter().map(line).collect();
    let (code, answers) = project.send_lines(lines.as_bytes());
    let results: Vec<&str> =
        answers.iter().filter_map(|answer| answer["result"].as_str()).collect();
    assert_eq!((code, results), (0, vec!["applied"; 7]));
}
