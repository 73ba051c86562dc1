//! Messages with many mistakes at once: one answer names them all, in the order of the message.

use adjutant_model::answer::{AnswerVerdict, Reason};
use adjutant_model::event::Event;
use serde_json::json;

use super::{
    a_completion, a_rejection, a_request, an_acceptance, an_update, check_harmless, check_invalid,
    check_refused, decided, valid, with,
};
use crate::support::{envelope, id};

#[test]
fn empty_envelope_names_every_missing_field() {
    check_invalid(
        &json!({"protocol": "aof"}),
        &[
            "version: is required",
            "fromAgent: is required",
            "type: is required",
            "taskId: is required",
            "toAgent: is required",
            "sentAt: is required",
            "payload: is required",
        ],
    );
    check_refused(
        "AOF/1 {}",
        Reason::InvalidEnvelope,
        &[
            "protocol: is required",
            "version: is required",
            "fromAgent: is required",
            "type: is required",
            "taskId: is required",
            "toAgent: is required",
            "sentAt: is required",
            "payload: is required",
        ],
    );
}

#[test]
fn empty_payload_names_every_missing_field() {
    let check = |kind: &str, problems: &[&str]| {
        check_invalid(&envelope(kind, &id(1), "swe", &json!({})), problems);
    };
    check(
        "completion.report",
        &[
            "payload.outcome: is required",
            "payload.summaryRef: is required",
            "payload.tests: is required",
            "payload.notes: is required",
        ],
    );
    check(
        "status.update",
        &[
            "payload.taskId: is required",
            "payload.agentId: is required",
            "payload: at least one of status, progress, blockers, notes is required",
        ],
    );
    check(
        "handoff.request",
        &[
            "payload.taskId: is required",
            "payload.parentTaskId: is required",
            "payload.fromAgent: is required",
            "payload.toAgent: is required",
            "payload.dueBy: is required",
        ],
    );
    check("handoff.accepted", &["payload.taskId: is required"]);
    check("handoff.rejected", &["payload.taskId: is required"]);
}

#[test]
fn completion_wrong_in_every_field_names_every_field() {
    let message = json!({
        "protocol": "aof",
        "version": 2,
        "type": "completion.report",
        "taskId": "TASK-57",
        "fromAgent": "human:alice",
        "toAgent": "  ",
        "sentAt": "yesterday",
        "runToken": 12,
        "payload": {
            "taskId": null,
            "outcome": "in-progress",
            "summaryRef": "../summary.md",
            "deliverables": ["/etc/passwd", 3, "a\u{0}b", "ok.md", ""],
            "tests": {"total": -1, "passed": 1.5},
            "blockers": [null, "fine", "x".repeat(257), "nul\u{0}"],
            "notes": "n".repeat(10_001),
        },
    });
    check_invalid(
        &message,
        &[
            "version: unsupported version 2: must be 1",
            "fromAgent: is a reserved name that no agent may have",
            "taskId: must match TASK-YYYY-MM-DD-NNN",
            "toAgent: must not be empty",
            "sentAt: must be an ISO 8601 datetime (RFC 3339), such as 2026-02-09T21:00:00.000Z",
            "runToken: must be text, not a number",
            "payload.taskId: must be text, not null",
            "payload.outcome: must be one of: done, blocked, needs_review, partial",
            "payload.summaryRef: must stay inside its folder (no `..`)",
            "payload.deliverables[0]: must be a relative path",
            "payload.deliverables[1]: must be text, not a number",
            "payload.deliverables[2]: must not contain control characters",
            "payload.deliverables[4]: must not be empty",
            "payload.tests.total: must be non-negative",
            "payload.tests.passed: must be a whole number",
            "payload.tests.failed: is required",
            "payload.blockers[0]: must be text, not null",
            "payload.blockers[2]: must have at most 256 characters",
            "payload.blockers[3]: must not contain a NUL character",
            "payload.notes: must have at most 10000 characters",
        ],
    );
}

#[test]
fn handoff_wrong_in_every_field_names_every_field() {
    let message = json!({
        "protocol": "aof",
        "version": "1",
        "type": "handoff.request",
        "taskId": "TASK-2026-02-09-002",
        "fromAgent": "swe",
        "toAgent": "qa\n",
        "sentAt": 1_770_671_400,
        "payload": {
            "taskId": "TASK-2026-02-09-002",
            "parentTaskId": "TASK-2026-02-09-002",
            "fromAgent": "",
            "toAgent": false,
            "acceptanceCriteria": ["fine", 1, "x".repeat(257)],
            "expectedOutputs": "tests/report.md",
            "contextRefs": ["C:\\Users", "~/notes", "a\\..\\..\\b"],
            "constraints": {"no": "new dependencies"},
            "dueBy": "2026-02-30T00:00:00Z",
        },
    });
    check_invalid(
        &message,
        &[
            "version: unsupported version: must be 1, not text",
            "toAgent: must not contain control characters",
            "sentAt: must be text, not a number",
            "payload.parentTaskId: must not be the same task as taskId",
            "payload.fromAgent: must not be empty",
            "payload.toAgent: must be text, not a boolean",
            "payload.acceptanceCriteria[2]: must have at most 256 characters",
            "payload.expectedOutputs: must be a list, not text",
            "payload.contextRefs[0]: must be a relative path",
            "payload.contextRefs[1]: must be a relative path",
            "payload.contextRefs[2]: must stay inside its folder (no `..`)",
            "payload.constraints: must be a list, not an object",
            "payload.dueBy: must be an ISO 8601 datetime (RFC 3339), such as \
             2026-02-09T21:00:00.000Z",
        ],
    );
}

#[test]
fn update_and_rejection_wrong_in_every_field_name_every_field() {
    let update = json!({
        "taskId": "x",
        "agentId": "a\tb",
        "status": "finished",
        "progress": "p".repeat(1001),
        "notes": ["n"],
        "blockers": "b",
    });
    check_invalid(
        &envelope("status.update", &id(1), "swe", &update),
        &[
            "payload.taskId: must match TASK-YYYY-MM-DD-NNN",
            "payload.agentId: must not contain control characters",
            "payload.status: must be one of: backlog, ready, in-progress, blocked, review, done, \
             cancelled, deadletter",
            "payload.progress: must have at most 1000 characters",
            "payload.notes: must be text, not a list",
            "payload.blockers: must be a list, not text",
        ],
    );
    let rejection = json!({"taskId": 1, "accepted": "no", "reason": "r".repeat(513)});
    check_invalid(
        &envelope("handoff.rejected", &id(1), "swe", &rejection),
        &[
            "payload.taskId: must be text, not a number",
            "payload.accepted: must be false in this type of message",
            "payload.reason: must have at most 512 characters",
        ],
    );
}

#[test]
fn empty_status_update_is_refused() {
    let said = ["payload: at least one of status, progress, blockers, notes is required"];
    for silent in [
        json!({}),
        json!({"progress": ""}),
        json!({"progress": " \n", "notes": "\t"}),
        json!({"blockers": []}),
        json!({"mood": "good"}),
    ] {
        let mut payload = silent;
        payload["taskId"] = json!(id(1).as_str());
        payload["agentId"] = json!("swe");
        check_invalid(&envelope("status.update", &id(1), "swe", &payload), &said);
    }
}

#[test]
fn empty_test_results_name_all_three_counts() {
    check_invalid(
        &with(&a_completion(), "payload.tests", json!({})),
        &[
            "payload.tests.total: is required",
            "payload.tests.passed: is required",
            "payload.tests.failed: is required",
        ],
    );
}

#[test]
fn envelope_and_payload_must_name_the_same_task() {
    let said = ["payload.taskId: must equal the taskId of the envelope"];
    for message in valid() {
        let other = with(&message, "payload.taskId", "TASK-2026-02-09-009");
        check_refused(other.to_string(), Reason::TaskIdMismatch, &said);
    }
}

#[test]
fn envelope_and_payload_must_name_the_same_sender() {
    let check = |message: &serde_json::Value, path: &str| {
        let other = with(message, path, "somebody");
        let said = format!("{path}: must equal the fromAgent of the envelope");
        check_refused(other.to_string(), Reason::AgentIdMismatch, &[&said]);
    };
    check(&an_update(), "payload.agentId");
    check(&a_request(), "payload.fromAgent");
}

#[test]
fn unknown_type_is_unknown_in_valid_envelope_and_refused_in_bad_one() {
    for message in [a_completion(), an_acceptance(), a_rejection()] {
        for kind in ["custom.message", "Completion.Report", "completion.report "] {
            let unknown = with(&message, "type", kind);
            let raw = unknown.to_string();
            let decision = decided(raw.as_bytes());
            assert_eq!(decision.answer.verdict, AnswerVerdict::Unknown);
            assert_eq!(decision.answer.reason, Some(Reason::UnknownType));
            let kind = kind.to_owned();
            let events: Vec<&Event> = decision.events.iter().map(|it| &it.event).collect();
            assert_eq!(events, [&Event::MessageUnknown { kind }]);
            check_harmless(raw.as_bytes(), &decision);
            let bad = with(&unknown, "sentAt", "tomorrow");
            let said =
                "sentAt: must be an ISO 8601 datetime (RFC 3339), such as 2026-02-09T21:00:00.000Z";
            check_invalid(&bad, &[said]);
        }
    }
}
