//! Every field of every message type: missing, null, of every wrong JSON type, and empty.

use adjutant_model::answer::Reason;
use serde_json::{Value, json};

use super::{
    a_completion, a_rejection, a_request, an_acceptance, an_update, check_ignored, check_invalid,
    check_refused, check_taken, valid, with, without,
};

/// The expected problem of a field that is, in this order: missing, null, a boolean, a number, an
/// empty text, an empty list, an empty object.
type ExpectedProblems = [&'static str; 7];

/// The value is accepted.
const FINE: &str = "";
/// The change causes more than one problem; these are in `whole`.
const MANY: &str = "*";

const REQUIRED: &str = "is required";
const BAD_ID: &str = "must match TASK-YYYY-MM-DD-NNN";
const BAD_TIME: &str = "must be an ISO 8601 datetime (RFC 3339), such as 2026-02-09T21:00:00.000Z";
const BAD_OUTCOME: &str = "must be one of: done, blocked, needs_review, partial";
const BAD_STATUS: &str =
    "must be one of: backlog, ready, in-progress, blocked, review, done, cancelled, deadletter";
const EMPTY: &str = "must not be empty";

const fn text(missing: &'static str, empty: &'static str) -> ExpectedProblems {
    [
        missing,
        "must be text, not null",
        "must be text, not a boolean",
        "must be text, not a number",
        empty,
        "must be text, not a list",
        "must be text, not an object",
    ]
}

const OBJECT: ExpectedProblems = [
    REQUIRED,
    "must be an object, not null",
    "must be an object, not a boolean",
    "must be an object, not a number",
    "must be an object, not text",
    "must be an object, not a list",
    MANY,
];

const LIST: ExpectedProblems = [
    FINE,
    "must be a list, not null",
    "must be a list, not a boolean",
    "must be a list, not a number",
    "must be a list, not text",
    FINE,
    "must be a list, not an object",
];

const COUNT: ExpectedProblems = [
    REQUIRED,
    "must be a whole number, not null",
    "must be a whole number, not a boolean",
    FINE,
    "must be a whole number, not text",
    "must be a whole number, not a list",
    "must be a whole number, not an object",
];

const VERSION: ExpectedProblems = [
    REQUIRED,
    "unsupported version: must be 1, not null",
    "unsupported version: must be 1, not a boolean",
    "unsupported version 7: must be 1",
    "unsupported version: must be 1, not text",
    "unsupported version: must be 1, not a list",
    "unsupported version: must be 1, not an object",
];

const NOT_TRUE: &str = "must be true in this type of message";
const NOT_FALSE: &str = "must be false in this type of message";
const TRUE: ExpectedProblems = [FINE, NOT_TRUE, FINE, NOT_TRUE, NOT_TRUE, NOT_TRUE, NOT_TRUE];
const FALSE: ExpectedProblems =
    [FINE, NOT_FALSE, NOT_FALSE, NOT_FALSE, NOT_FALSE, NOT_FALSE, NOT_FALSE];

/// Items that are not text are dropped with a warning, and the message is still accepted.
const CRITERIA: ExpectedProblems = [FINE; 7];

const ID: ExpectedProblems = text(REQUIRED, BAD_ID);
const NAME: ExpectedProblems = text(REQUIRED, EMPTY);
const STAMP: ExpectedProblems = text(REQUIRED, BAD_TIME);
const PATH: ExpectedProblems = text(REQUIRED, EMPTY);
const PATH_ITEM: ExpectedProblems = text(FINE, EMPTY);
const TEXT_ITEM: ExpectedProblems = text(FINE, FINE);
const OPTIONAL_TEXT: ExpectedProblems = text(FINE, FINE);

/// Makes the seven changes to one field, and checks the problem of each.
fn check_field(message: &Value, path: &str, said: ExpectedProblems) {
    let values = [json!(null), json!(true), json!(7), json!(""), json!([]), json!({})];
    let changed = values.map(|value| with(message, path, value)).into_iter();
    let changed = std::iter::once(without(message, path)).chain(changed);
    for (message, problem) in changed.zip(said) {
        match problem {
            FINE => check_taken(message.to_string()),
            MANY => {}
            problem => check_invalid(&message, &[&format!("{path}: {problem}")]),
        }
    }
}

fn check_fields(message: &Value, fields: &[(&str, ExpectedProblems)]) {
    for (path, said) in fields {
        check_field(message, path, *said);
    }
}

#[test]
fn envelope_fields_are_checked_in_every_type() {
    for mut message in valid() {
        message["runToken"] = json!("a-token");
        check_fields(
            &message,
            &[
                ("version", VERSION),
                ("type", text(REQUIRED, EMPTY)),
                ("taskId", ID),
                ("fromAgent", NAME),
                ("toAgent", NAME),
                ("sentAt", STAMP),
                ("runToken", OPTIONAL_TEXT),
                ("payload", OBJECT),
            ],
        );
    }
}

#[test]
fn message_without_protocol_name_is_ignored_unless_prefixed() {
    let name = "protocol: invalid protocol: must be \"aof\"";
    for message in valid() {
        let unnamed = without(&message, "protocol");
        check_ignored(unnamed.to_string());
        check_refused(
            format!("AOF/1 {unnamed}"),
            Reason::InvalidEnvelope,
            &["protocol: is required"],
        );
        let others = [
            json!(null),
            json!(true),
            json!(7),
            json!(""),
            json!("AOF"),
            json!("aof "),
            json!("custom"),
            json!([]),
            json!({}),
        ];
        for other in others {
            let message = with(&message, "protocol", other);
            check_ignored(message.to_string());
            let announced = format!("AOF/1 {message}");
            check_refused(announced, Reason::InvalidEnvelope, &[name]);
        }
    }
}

#[test]
fn completion_fields_are_checked() {
    let message = with(&a_completion(), "payload.taskId", a_completion()["taskId"].clone());
    check_fields(
        &message,
        &[
            ("payload.taskId", text(FINE, BAD_ID)),
            ("payload.outcome", text(REQUIRED, BAD_OUTCOME)),
            ("payload.summaryRef", PATH),
            ("payload.deliverables", LIST),
            ("payload.deliverables[0]", PATH_ITEM),
            ("payload.tests", OBJECT),
            ("payload.tests.total", COUNT),
            ("payload.tests.passed", COUNT),
            ("payload.tests.failed", COUNT),
            ("payload.blockers", LIST),
            ("payload.blockers[0]", TEXT_ITEM),
            ("payload.notes", text(REQUIRED, FINE)),
        ],
    );
}

#[test]
fn status_update_fields_are_checked() {
    check_fields(
        &an_update(),
        &[
            ("payload.taskId", ID),
            ("payload.agentId", NAME),
            ("payload.status", text(FINE, BAD_STATUS)),
            ("payload.progress", OPTIONAL_TEXT),
            ("payload.blockers", LIST),
            ("payload.blockers[0]", TEXT_ITEM),
            ("payload.notes", OPTIONAL_TEXT),
        ],
    );
}

#[test]
fn handoff_request_fields_are_checked() {
    check_fields(
        &a_request(),
        &[
            ("payload.taskId", ID),
            ("payload.parentTaskId", ID),
            ("payload.fromAgent", NAME),
            ("payload.toAgent", NAME),
            ("payload.acceptanceCriteria", CRITERIA),
            ("payload.acceptanceCriteria[0]", CRITERIA),
            ("payload.expectedOutputs", LIST),
            ("payload.expectedOutputs[0]", PATH_ITEM),
            ("payload.contextRefs", LIST),
            ("payload.contextRefs[0]", PATH_ITEM),
            ("payload.constraints", LIST),
            ("payload.constraints[0]", TEXT_ITEM),
            ("payload.dueBy", STAMP),
        ],
    );
}

#[test]
fn acknowledgement_fields_are_checked() {
    let acceptance = with(&an_acceptance(), "payload.reason", "Gladly");
    for (message, accepted) in [(acceptance, TRUE), (a_rejection(), FALSE)] {
        check_fields(
            &message,
            &[
                ("payload.taskId", ID),
                ("payload.accepted", accepted),
                ("payload.reason", OPTIONAL_TEXT),
            ],
        );
    }
}
