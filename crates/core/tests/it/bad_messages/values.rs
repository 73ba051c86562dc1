//! Values of the right type with invalid content: ids, times, paths, names, counts, texts.

use adjutant_model::answer::Reason;
use serde_json::{Value, json};

use super::{
    a_completion, a_rejection, a_request, an_acceptance, an_update, check_invalid, check_refused,
    check_taken, valid, with,
};

const BAD_TIME: &str = "must be an ISO 8601 datetime (RFC 3339), such as 2026-02-09T21:00:00.000Z";

/// Checks that each value is refused at each path, with the same problem.
fn check_each(message: &Value, paths: &[&str], values: &[&str], said: &str) {
    for path in paths {
        for value in values {
            check_invalid(&with(message, path, *value), &[&format!("{path}: {said}")]);
        }
    }
}

#[test]
fn invalid_ids_are_refused() {
    let bad = [
        "TASK",
        "invalid-format",
        "TASK-2026-02-09",
        "TASK-2026-02-09-",
        "TASK-2026-02-09-57",
        "task-2026-02-09-057",
        "TASK-2026-2-9-057",
        "TASK-26-02-09-057",
        "TASK-2026-02-09-05a",
        "TASK-2026-02-09-057 ",
        " TASK-2026-02-09-057",
        "TASK-2026-02-09-057\n",
        "TASK-2026-02-09-../../x",
        "TASK-2026-02-09-0٣7",
        "TASK-2026-02-09-abcdefghi",
        "XTASK-2026-02-09-057",
        "TASK_2026_02_09_057",
        "TASK-2026-02-09-1111111111111111111111111111111111111111111111111",
    ];
    let said = "must match TASK-YYYY-MM-DD-NNN";
    for message in valid() {
        check_each(&message, &["taskId"], &bad, said);
    }
    check_each(&a_completion(), &["payload.taskId"], &bad, said);
    check_each(&an_update(), &["payload.taskId"], &bad, said);
    check_each(&an_acceptance(), &["payload.taskId"], &bad, said);
    check_each(&a_request(), &["payload.taskId", "payload.parentTaskId"], &bad, said);
}

#[test]
fn invalid_times_are_refused() {
    let bad = [
        "tomorrow",
        "not-a-timestamp",
        "2026-02-09",
        "21:10:00Z",
        "2026-02-09T21:10:00",
        "2026-02-09T21:10Z",
        "2026-02-09T21Z",
        "2026-02-09 21:10:00Z",
        "2026-02-09T21:10:00 Z",
        "2026-02-09T21:10:00.Z",
        "2026-02-09T21:10:00,5Z",
        "2026-02-09T21:10:00+02",
        "2026-02-09T21:10:00+0200",
        "2026-02-09T21:10:00+02:60",
        "2026-02-09T21:10:00−02:00",
        "2026-02-09T21:10:00Z[UTC]",
        "2026-02-09T21:10:00UTC",
        "2026-02-09T24:00:00Z",
        "2026-02-09T21:60:00Z",
        "2026-02-09T21:10:61Z",
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2025-02-29T00:00:00Z",
        "20260209T211000Z",
        "2026-W07-1T21:10:00Z",
        "+002026-02-09T21:10:00Z",
        "-002026-02-09T21:10:00Z",
        "02026-02-09T21:10:00Z",
        "1770671400",
        "Mon, 09 Feb 2026 21:10:00 GMT",
        "2026-02-09T21:10:00Z\n",
        " 2026-02-09T21:10:00Z",
        "2026-02-09T2١:10:00Z",
    ];
    for message in valid() {
        check_each(&message, &["sentAt"], &bad, BAD_TIME);
    }
    check_each(&a_request(), &["payload.dueBy"], &bad, BAD_TIME);
}

#[test]
fn time_offset_of_a_whole_day_is_refused() {
    let bad = ["2026-02-09T21:10:00+24:00", "2026-02-09T21:10:00-25:59"];
    check_each(&a_request(), &["sentAt", "payload.dueBy"], &bad, BAD_TIME);
}

#[test]
fn rfc_3339_times_are_accepted() {
    for good in [
        "2026-02-09T21:10:00Z",
        "2026-02-09T21:10:00.123456789Z",
        "2026-02-09t21:10:00z",
        "2026-02-09T21:10:00+00:00",
        "2026-02-09T21:10:00-00:00",
        "2026-02-09T21:10:00+23:59",
        "2024-02-29T00:00:00Z",
        "1937-01-01T12:00:27.87+00:20",
        "1990-12-31T23:59:60Z",
        "0001-01-01T00:00:00Z",
    ] {
        check_taken(with(&a_request(), "payload.dueBy", good).to_string());
    }
}

#[test]
fn last_representable_day_is_accepted() {
    for good in ["9999-12-30T23:00:00Z", "9999-12-31T23:59:59Z"] {
        check_taken(with(&a_request(), "payload.dueBy", good).to_string());
    }
}

#[test]
fn paths_outside_the_folder_are_refused() {
    let request = a_request();
    let places = [
        (a_completion(), "payload.summaryRef"),
        (a_completion(), "payload.deliverables[0]"),
        (request.clone(), "payload.expectedOutputs[0]"),
        (request, "payload.contextRefs[0]"),
    ];
    let absolute = [
        "/",
        "/etc/passwd",
        "//host/share",
        "\\",
        "\\\\host\\share",
        "\\windows",
        "C:\\x",
        "c:/x",
        "C:",
        "c:x",
        "~",
        "~/x",
        "~/../x",
        "/../x",
    ];
    let escapes = [
        "..",
        "../x",
        "../../etc/passwd",
        "a/..",
        "a/../b",
        "a/../../b",
        "./..",
        "..\\x",
        "a\\..\\b",
        "a/..\\b",
        "a//../b",
    ];
    let control = ["a\nb", "a\tb", "\u{7f}", "a\u{85}b", "\r"];
    for (message, path) in &places {
        check_each(message, &[path], &absolute, "must be a relative path");
        let inside = "must stay inside its folder (no `..`)";
        check_each(message, &[path], &escapes, inside);
        let plain = "must not contain control characters";
        check_each(message, &[path], &control, plain);
        for good in ["a", "./a", "a/./b", "...", "a/..b", "..a/b", "ü b/ä.md"] {
            check_taken(with(message, path, good).to_string());
        }
    }
}

#[test]
fn nul_is_refused_in_every_text() {
    let check = |message: &Value, paths: &[&str], said: &str| {
        check_each(message, paths, &["\0", "a\0", "\0a", "a\0b"], said);
    };
    let text = "must not contain a NUL character";
    let control = "must not contain control characters";
    check(
        &a_completion(),
        &[
            "type",
            "taskId",
            "fromAgent",
            "toAgent",
            "sentAt",
            "runToken",
            "payload.outcome",
            "payload.summaryRef",
            "payload.blockers[0]",
            "payload.notes",
        ],
        text,
    );
    check(&a_completion(), &["payload.deliverables[0]"], control);
    check(
        &an_update(),
        &[
            "payload.agentId",
            "payload.status",
            "payload.progress",
            "payload.blockers[0]",
            "payload.notes",
        ],
        text,
    );
    check(
        &a_request(),
        &[
            "payload.parentTaskId",
            "payload.toAgent",
            "payload.acceptanceCriteria[0]",
            "payload.constraints[0]",
            "payload.dueBy",
        ],
        text,
    );
    check(&a_request(), &["payload.expectedOutputs[0]"], control);
    check(&a_request(), &["payload.contextRefs[0]"], control);
    check(&a_rejection(), &["payload.reason"], text);
    check(&an_acceptance(), &["payload.reason"], text);
}

#[test]
fn names_empty_or_with_control_characters_are_refused() {
    let message = a_request();
    let names = ["fromAgent", "toAgent", "payload.fromAgent", "payload.toAgent"];
    check_each(&message, &names, &[" ", "\t", "\u{a0}"], "must not be empty");
    let control = "must not contain control characters";
    check_each(&message, &names, &["a\nb", "a\u{1b}[31m", "b\u{7f}"], control);
}

#[test]
fn sender_cannot_use_a_reserved_name() {
    let said = "is a reserved name that no agent may have";
    let kept = ["system", "scheduler", "router", "human:alice", "human:"];
    for message in valid() {
        check_each(&message, &["fromAgent"], &kept, said);
    }
}

#[test]
fn counts_must_be_whole_and_not_negative() {
    let check = |literal: &str, said: &str| {
        for field in ["total", "passed", "failed"] {
            // Inserted as text, because not every number fits into a `Value`.
            let message = with(&a_completion(), &format!("payload.tests.{field}"), "HERE");
            let raw = message.to_string().replace("\"HERE\"", literal);
            let problem = format!("payload.tests.{field}: {said}");
            check_refused(raw, Reason::InvalidEnvelope, &[&problem]);
        }
    };
    for negative in ["-1", "-0.5", "-1e3", "-9223372036854775808", "-1e300"] {
        check(negative, "must be non-negative");
    }
    for fraction in ["0.5", "1.5", "1e-3", "99.999999999999"] {
        check(fraction, "must be a whole number");
    }
    for huge in ["18446744073709551616", "1e300", "99999999999999999999999"] {
        check(huge, "must be a whole number");
    }
    for text in ["\"1\"", "\"NaN\"", "\"Infinity\"", "\"0x10\""] {
        check(text, "must be a whole number, not text");
    }
}

#[test]
fn invalid_json_numbers_are_refused() {
    let numbers = [
        "NaN",
        "Infinity",
        "-Infinity",
        "+1",
        "01",
        "0x10",
        "1.",
        ".5",
        "1e",
        "1_000",
        "1e400",
        "-",
    ];
    for literal in numbers {
        let message = with(&a_completion(), "payload.tests.total", "HERE");
        let raw = message.to_string().replace("\"HERE\"", literal);
        super::damage::check_not_json(raw);
    }
}

#[test]
fn passed_and_failed_must_not_exceed_total() {
    let tests = |total: u64, passed: u64, failed: u64| {
        let tests = json!({"total": total, "passed": passed, "failed": failed});
        with(&a_completion(), "payload.tests", tests)
    };
    let said = ["payload.tests: passed and failed together must not exceed total"];
    for bad in [
        (0, 1, 0),
        (0, 0, 1),
        (10, 11, 0),
        (10, 0, 11),
        (10, 8, 3),
        (10, u64::MAX, 1),
        (u64::MAX, u64::MAX, 1),
        (u64::MAX, u64::MAX, u64::MAX),
    ] {
        check_invalid(&tests(bad.0, bad.1, bad.2), &said);
    }
    for good in
        [(0, 0, 0), (10, 8, 2), (10, 8, 1), (u64::MAX, u64::MAX, 0), (u64::MAX, u64::MAX - 1, 1)]
    {
        check_taken(tests(good.0, good.1, good.2).to_string());
    }
}

#[test]
fn versions_other_than_one_are_refused_by_number() {
    for version in [json!(0), json!(2), json!(-1), json!(1.5), json!(10)] {
        for message in valid() {
            let said = format!("version: unsupported version {version}: must be 1");
            check_invalid(&with(&message, "version", version.clone()), &[&said]);
        }
    }
}

#[test]
fn outcomes_and_statuses_must_match_exactly() {
    check_each(
        &a_completion(),
        &["payload.outcome"],
        &[
            "Done",
            "DONE",
            "done ",
            "in-progress",
            "needs-review",
            "needs review",
            "failed",
            "success",
            "review",
        ],
        "must be one of: done, blocked, needs_review, partial",
    );
    check_each(
        &an_update(),
        &["payload.status"],
        &[
            "Blocked",
            "in_progress",
            "in progress",
            "inprogress",
            "needs_review",
            "todo",
            "completed",
            " done",
        ],
        "must be one of: backlog, ready, in-progress, blocked, review, done, cancelled, deadletter",
    );
}

#[test]
fn unknown_fields_are_accepted() {
    for message in valid() {
        let extra = json!({"deep": [1, null, {"x": "\u{0}"}]});
        let message = with(&message, "mood", extra.clone());
        check_taken(with(&message, "payload.mood", extra).to_string());
    }
}
