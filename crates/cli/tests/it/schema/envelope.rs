//! AOF messages: the schema accepts exactly what the message parser accepts.

use adjutant_core::protocols::aof::{self, IncomingText};
use adjutant_model::message_type::MessageType;
use serde_json::{Value, json};

use crate::schema::support::{complaints, example, schema, validator};

fn accepted(message: &Value) -> bool {
    matches!(aof::read(message.to_string().as_bytes()), IncomingText::Message(_))
}

#[test]
fn envelope_examples_are_valid() {
    let valid = validator("envelope");
    for number in 1..=7 {
        let message = example(number);
        assert_eq!(complaints(&valid, &message), [""; 0], "{number}");
        assert!(accepted(&message), "{number}");
    }
}

#[test]
fn envelope_schema_lists_every_message_type() {
    let types: Vec<Value> = schema("envelope")["oneOf"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|branch| branch["properties"]["type"]["const"].clone())
        .collect();
    let mut known = MessageType::ALL.map(|kind| json!(kind.as_str())).to_vec();
    known.sort_by_key(ToString::to_string);
    let mut types = types;
    types.sort_by_key(ToString::to_string);
    assert_eq!(types, known);
}

/// Replacement values, chosen to be mistaken for valid ones.
fn candidates() -> Vec<Value> {
    let texts = [
        "",
        " ",
        "\u{a0}",
        "\u{feff}",
        "x",
        "a\0b",
        "a\nb",
        "a\u{7f}b",
        "a\u{9f}b",
        "done",
        "Done",
        "blocked",
        "review",
        "in-progress",
        "in_progress",
        "system",
        "router",
        "scheduler",
        "human:x",
        "human",
        "TASK-2026-02-09-056",
        "TASK-2026-02-09-57",
        "TASK-2026-02-09-aB3_x-9z",
        "TASK-2026-02-09-1000",
        "task-2026-02-09-057",
        "TASK-2026-02-09-056\n",
        "aof",
        "/etc/passwd",
        "../x",
        "a/../b",
        "a/..",
        "..",
        "...",
        "..a",
        "~",
        "~/x",
        "~x",
        "C:",
        "C:x",
        "1:x",
        "\\x",
        "a\\..\\b",
        "a\\b",
        "./a",
        "2026-02-09T21:10:00.000Z",
        "2026-02-09t21:10:00z",
        "2026-02-09T21:10:00+02:00",
        "2026-02-30T21:10:00Z",
        "2026-02-09",
        "completion.report",
        "coffee.break",
        "true",
    ];
    let long = [255, 256, 257, 512, 513, 1_000, 1_001, 10_000, 10_001].map(|n| "é".repeat(n));
    let others = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(2),
        json!(-1),
        json!(1.5),
        json!([]),
        json!({}),
        json!([null]),
        json!([1]),
        json!(["x"]),
        json!([["x"]]),
        json!([""]),
        json!(["../x"]),
        json!(["/x"]),
        json!(["a\0b"]),
        json!(vec!["x"; 50]),
        json!(vec!["x"; 51]),
        json!(["é".repeat(256)]),
        json!(["é".repeat(257)]),
        json!(["x", 1, null]),
        json!({"total": 1, "passed": 1, "failed": 0}),
        json!({"total": 0, "passed": 0}),
        json!({"total": -1, "passed": 0, "failed": 0}),
        json!({"total": 1.5, "passed": 0, "failed": 0}),
        json!({"total": "1", "passed": 0, "failed": 0}),
        json!({"total": u64::MAX, "passed": 0, "failed": 0}),
        json!({"total": 18_446_744_073_709_551_616.0, "passed": 0, "failed": 0}),
        json!({"total": 1, "passed": 0, "failed": 0, "skipped": "x"}),
    ];
    let texts = texts.into_iter().map(Value::from).chain(long.map(Value::from));
    texts.chain(others).collect()
}

/// Copies a changed field to the fields that must equal it. A schema cannot express that rule.
fn agree(message: &mut Value, part: &str, field: &str) {
    let value = message.pointer(&format!("{part}/{field}")).cloned();
    let twins: &[&str] = match field {
        "taskId" => &["/taskId", "/payload/taskId"],
        "fromAgent" | "agentId" => &["/fromAgent", "/payload/fromAgent", "/payload/agentId"],
        _ => &[],
    };
    for twin in twins {
        if let (Some(value), Some(slot)) = (&value, message.pointer_mut(twin)) {
            *slot = value.clone();
        }
    }
}

#[test]
fn envelope_schema_and_parser_agree_on_any_replaced_field() {
    let valid = validator("envelope");
    let (mut seen, mut good) = (0, 0);
    for number in 1..=7 {
        let mut message = example(number);
        message["runToken"] = json!("t");
        if message["type"] == "handoff.accepted" {
            message["payload"]["reason"] = json!("with pleasure");
        }
        for part in ["", "/payload"] {
            let fields = message.pointer(part).and_then(Value::as_object).expect("an object");
            for field in fields.keys() {
                for candidate in candidates() {
                    let mut changed = message.clone();
                    changed.pointer_mut(part).expect("an object")[field] = candidate;
                    agree(&mut changed, part, field);
                    let says = (accepted(&changed), valid.is_valid(&changed));
                    assert_eq!(says.0, says.1, "{part}/{field} of example {number}: {changed}");
                    seen += 1;
                    good += u32::from(says.0);
                }
            }
        }
    }
    assert!(seen > 4_000 && good > 300, "{good} of {seen} were accepted");
}

#[test]
fn envelope_schema_and_parser_agree_on_any_removed_field() {
    let valid = validator("envelope");
    for number in 1..=7 {
        let message = example(number);
        for part in ["", "/payload", "/payload/tests"] {
            let Some(fields) = message.pointer(part).and_then(Value::as_object) else { continue };
            for field in fields.keys() {
                let mut changed = message.clone();
                let object = changed.pointer_mut(part).and_then(Value::as_object_mut);
                object.expect("an object").shift_remove(field);
                let says = (accepted(&changed), valid.is_valid(&changed));
                assert_eq!(says.0, says.1, "example {number} without {part}/{field}");
            }
        }
    }
}

#[test]
fn status_update_must_have_content_for_schema_and_parser() {
    let valid = validator("envelope");
    let mut message = example(3);
    for said in [
        json!({}),
        json!({"progress": ""}),
        json!({"progress": " \t\n"}),
        json!({"notes": "\u{2003}\u{3000}"}),
        json!({"blockers": []}),
        json!({"progress": "", "notes": "", "blockers": []}),
        json!({"progress": "x"}),
        json!({"notes": "\u{feff}"}),
        json!({"blockers": [""]}),
        json!({"status": "blocked"}),
        json!({"status": "blocked", "progress": "", "notes": "", "blockers": []}),
    ] {
        message["payload"] = json!({"taskId": "TASK-2026-02-09-059", "agentId": "swe-qa"});
        let payload = message["payload"].as_object_mut().expect("an object");
        payload.extend(said.as_object().expect("an object").clone());
        assert_eq!(accepted(&message), valid.is_valid(&message), "{said}");
    }
}

#[test]
fn parser_refuses_messages_that_schema_cannot_exclude() {
    let valid = validator("envelope");
    let change = |number, pointer: &str, value: Value| {
        let mut message = example(number);
        *message.pointer_mut(pointer).expect("it is there") = value;
        message
    };
    let mut deep = json!(1);
    for _ in 0..64 {
        deep = json!([deep]);
    }
    let mut nested = example(1);
    nested["more"] = deep;
    let mut large = example(1);
    large["more"] = json!("x".repeat(1 << 20));
    for message in [
        change(3, "/payload/taskId", json!("TASK-2026-02-09-001")),
        change(3, "/payload/agentId", json!("eve")),
        change(5, "/payload/fromAgent", json!("eve")),
        change(5, "/payload/parentTaskId", json!("TASK-2026-02-09-061")),
        change(1, "/payload/tests/passed", json!(121)),
        change(1, "/payload/tests/total", json!(120.0)),
        nested,
        large,
    ] {
        assert!(valid.is_valid(&message) && !accepted(&message));
    }
}

#[test]
fn unknown_message_fields_are_ignored_by_schema_and_parser() {
    let valid = validator("envelope");
    for number in 1..=7 {
        let mut message = example(number);
        message["more"] = json!({"x": [1, null]});
        message["payload"]["more"] = json!(null);
        assert!(accepted(&message) && valid.is_valid(&message), "{number}");
    }
}
