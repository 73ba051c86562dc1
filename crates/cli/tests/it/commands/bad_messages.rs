//! Invalid messages, in hundreds of variants: each gets one clear refusal and changes nothing.
//!
//! Real processes read them: many at once by `send --lines`, messages with line breaks singly.

use adjutant_model::Status::{InProgress, Ready};
use serde_json::{Value, json};

use crate::commands::support::{CliProject, document, example, lines, run_with};

/// Makes a folder in which every example would be applied.
fn ready_for_anything() -> CliProject {
    let project = CliProject::foreign();
    let task = |id: &str, status, agent: &str| {
        let id = format!("TASK-2026-02-09-{id}");
        project.task(&id, status, &format!("routing:\n  agent: {agent}\n"));
    };
    task("057", InProgress, "swe-backend");
    task("058", InProgress, "swe-backend");
    task("059", InProgress, "swe-qa");
    task("060", InProgress, "swe-qa");
    task("061", Ready, "swe-qa");
    task("062", Ready, "swe-qa");
    project.does(["task", "list"]);
    project
}

/// Returns invalid values for a field.
fn spoilt(field: &str) -> Vec<Value> {
    let not_text = vec![json!(null), json!(true), json!(3), json!([]), json!({}), json!(["x"])];
    let text = |more: Vec<Value>| [not_text.clone(), vec![json!("a\0b")], more].concat();
    let list = |more: Vec<Value>| {
        let wrong = [json!(null), json!(true), json!(3), json!("x"), json!({}), json!([3])];
        let items = [json!([null]), json!([["x"]]), json!(["x".repeat(257)]), json!(["a\0b"])];
        let many = [json!(vec!["x"; 51])];
        [wrong.to_vec(), items.to_vec(), many.to_vec(), more].concat()
    };
    let paths = || {
        let bad =
            ["", "/etc/passwd", "../x", "a/../../b", "~/x", "C:\\x", "\\\\h\\x", "a\nb", ".."];
        bad.map(|path| json!([path])).to_vec()
    };
    match field {
        "taskId" | "parentTaskId" => {
            let bad =
                ["", "TASK", "TASK-2026-02-09-57", "task-2026-02-09-057", "../TASK-2026-02-09-057"];
            text(bad.map(Value::from).to_vec())
        }
        "fromAgent" | "agentId" => {
            let bad = ["", "  ", "a\nb", "system", "human:root"].map(Value::from).to_vec();
            text([bad, vec![json!("x".repeat(257))]].concat())
        }
        "toAgent" => text(vec![json!(""), json!("a\u{1b}b"), json!("x".repeat(257))]),
        "sentAt" | "dueBy" => {
            let bad = ["", "now", "2026-02-09", "2026-02-30T00:00:00Z", "2026-02-09T21:10:00"];
            text(bad.map(Value::from).to_vec())
        }
        "type" => text(vec![json!(""), json!("x".repeat(257))]),
        "outcome" | "status" => text(vec![json!(""), json!("finished"), json!("Done")]),
        "summaryRef" => {
            let bad = paths().into_iter().map(|path| path[0].clone()).collect();
            text([bad, vec![json!("x".repeat(257))]].concat())
        }
        "notes" => text(vec![json!("x".repeat(10_001))]),
        "progress" => text(vec![json!("x".repeat(1_001))]),
        "reason" => text(vec![json!("x".repeat(513))]),
        "deliverables" | "expectedOutputs" | "contextRefs" => list(paths()),
        "blockers" | "constraints" => list(vec![]),
        "tests" => vec![
            json!(null),
            json!(true),
            json!(3),
            json!("x"),
            json!([]),
            json!({}),
            json!({"total": 1, "passed": 1}),
            json!({"total": 1, "passed": 1, "failed": 1}),
            json!({"total": -1, "passed": 0, "failed": 0}),
            json!({"total": 1.5, "passed": 0, "failed": 0}),
            json!({"total": "1", "passed": 0, "failed": 0}),
            json!({"total": 1, "passed": null, "failed": 0}),
            json!({"total": 1, "passed": u64::MAX, "failed": u64::MAX}),
        ],
        "accepted" => vec![json!(null), json!("true"), json!(1), json!([]), json!({})],
        "version" => vec![json!(null), json!(0), json!(2), json!(1.5), json!("1"), json!([1])],
        "payload" => vec![json!(null), json!(true), json!(3), json!("x"), json!([]), json!({})],
        // Entries that are not text are dropped, so only these lists are refused.
        "acceptanceCriteria" => {
            vec![json!(vec!["x"; 51]), json!(["x".repeat(257)]), json!(["a\0b"])]
        }
        other => panic!("nobody thought of {other}"),
    }
}

const OPTIONAL: [&str; 10] = [
    "deliverables",
    "blockers",
    "acceptanceCriteria",
    "expectedOutputs",
    "contextRefs",
    "constraints",
    "accepted",
    "reason",
    "status",
    "progress",
];

/// Returns every example with one field invalid or missing, each with a description of the change.
fn every_spoilt_example() -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for number in 1..=7 {
        let good = document(&example(number));
        for part in ["", "/payload"] {
            let fields = good.pointer(part).and_then(Value::as_object).expect("an object");
            for field in fields.keys().filter(|field| *field != "protocol") {
                let what = format!("example {number}, {part}/{field}");
                for value in spoilt(field) {
                    let mut bad = good.clone();
                    bad.pointer_mut(part).expect("an object")[field] = value.clone();
                    let value: String = value.to_string().chars().take(40).collect();
                    all.push((format!("{what} = {value}"), bad));
                }
                let in_update = good["type"] == "status.update" && field == "notes";
                if !OPTIONAL.contains(&&**field) && !in_update {
                    let mut bad = good.clone();
                    let object = bad.pointer_mut(part).and_then(Value::as_object_mut);
                    object.expect("an object").shift_remove(field);
                    all.push((format!("{what} is not there"), bad));
                }
            }
        }
    }
    all
}

#[test]
fn message_with_any_invalid_field_is_refused_and_changes_nothing() {
    let project = ready_for_anything();
    let (before, events) = (project.digest(), project.events().len());
    let spoilt = every_spoilt_example();
    assert!(spoilt.len() > 600, "only {}", spoilt.len());
    let messages = lines(spoilt.iter().map(|(_, message)| message));
    let (code, answers) = project.send_lines(messages.as_bytes());
    assert_eq!((code, answers.len()), (1, spoilt.len()));
    for ((what, _), answer) in spoilt.iter().zip(&answers) {
        assert_eq!(answer["result"], "rejected", "{what}: {answer}");
        let errors = answer["errors"].as_array().expect("a list");
        assert!(!errors.is_empty(), "{what}: {answer}");
        let reasons = ["invalid_envelope", "taskId_mismatch", "agentId_mismatch"];
        assert!(
            reasons.contains(&answer["reason"].as_str().expect("a reason")),
            "{what}: {answer}"
        );
        assert_eq!(answer["events"].as_array().map(Vec::len), Some(1), "{what}: {answer}");
    }
    assert_eq!(project.digest(), before);
    let types = project.types();
    assert!(types[events..].iter().all(|kind| kind == "protocol.message.rejected"));
    assert_eq!(types.len(), events + spoilt.len());
    assert_eq!(project.does(["doctor"]), "no problems found\n");
}

/// Returns single lines that are announced as messages but are invalid, with the expected reason.
fn damaged() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let good = document(&example(1)).to_string();
    let text = |text: String| text.into_bytes();
    let swapped = |from: &str, to: &str| good.replacen(from, to, 1).into_bytes();
    let deep = |open: &str, close: &str, levels: usize| {
        let nested = format!("{}1{}", open.repeat(levels), close.repeat(levels));
        text(good.replacen("{\"protocol\"", &format!("{{\"x\":{nested},\"protocol\""), 1))
    };
    let mut bytes = swapped("swe-backend", "swe-\u{ff}backend");
    let at = bytes.iter().position(|byte| *byte == 0xc3).expect("the two bytes of ÿ");
    bytes.remove(at);
    vec![
        ("nothing after the announcement", text("AOF/1 ".into()), "invalid_json"),
        ("a word after the announcement", text("AOF/1 hello".into()), "invalid_json"),
        ("a list after the announcement", text("AOF/1 []".into()), "invalid_envelope"),
        ("null after the announcement", text("AOF/1 null".into()), "invalid_envelope"),
        ("an empty object", text("AOF/1 {}".into()), "invalid_envelope"),
        (
            "another protocol, announced as ours",
            text("AOF/1 {\"protocol\":\"x\"}".into()),
            "invalid_envelope",
        ),
        ("the announcement twice", text(format!("AOF/1 AOF/1 {good}")), "invalid_json"),
        ("two messages on a line", text(format!("{good}{good}")), "invalid_json"),
        ("text after the message", text(format!("{good} and so on")), "invalid_json"),
        (
            "single quotes",
            text(good.replace('"', "'").replacen("'protocol':'aof'", "\"protocol\":\"aof\"", 1)),
            "invalid_json",
        ),
        ("a trailing comma", swapped("\"version\":1,", "\"version\":1,,"), "invalid_json"),
        ("a comment", swapped("\"version\":1", "\"version\":1 /* one */"), "invalid_json"),
        ("not a number", swapped("\"version\":1", "\"version\":NaN"), "invalid_json"),
        ("a number too large", swapped("\"version\":1", "\"version\":1e999"), "invalid_json"),
        (
            "a number with a leading zero",
            swapped("\"version\":1", "\"version\":01"),
            "invalid_json",
        ),
        ("a raw NUL", swapped("swe-backend", "swe-\0backend"), "invalid_json"),
        ("a raw tab", swapped("swe-backend", "swe-\tbackend"), "invalid_json"),
        ("a lone surrogate", swapped("swe-backend", "swe-\\ud800"), "invalid_json"),
        ("a pair the wrong way round", swapped("swe-backend", "\\udc00\\ud800"), "invalid_json"),
        ("a bad escape", swapped("swe-backend", "swe-\\x41"), "invalid_json"),
        ("bytes that are no text", bytes, "invalid_json"),
        (
            "announced bytes that are no text",
            b"AOF/1 {\"protocol\":\"aof\",\xff}".to_vec(),
            "invalid_json",
        ),
        ("lists, 65 deep", deep("[", "]", 64), "nesting_too_deep"),
        ("lists, very deep", deep("[", "]", 100_000), "nesting_too_deep"),
        ("objects, very deep", deep("{\"a\":", "}", 50_000), "nesting_too_deep"),
        (
            "lists that never close",
            text(format!("AOF/1 {}", "[".repeat(500_000))),
            "nesting_too_deep",
        ),
        (
            "one byte too many",
            text(format!("{good}{}", " ".repeat((1 << 20) + 1 - good.len()))),
            "payload_too_large",
        ),
        (
            "many bytes too many",
            text(format!("AOF/1 \"{}\"", "x".repeat(5 << 20))),
            "payload_too_large",
        ),
        (
            "a carried message that is broken",
            text(json!({"message": "AOF/1 {"}).to_string()),
            "invalid_json",
        ),
        (
            "a carried message that is wrong",
            text(json!({"payload": {"protocol": "aof"}}).to_string()),
            "invalid_envelope",
        ),
    ]
}

#[test]
fn announced_text_that_is_no_message_is_refused() {
    let project = ready_for_anything();
    let (before, events) = (project.digest(), project.events().len());
    let damaged = damaged();
    let lines: Vec<u8> =
        damaged.iter().map(|(_, line, _)| &**line).collect::<Vec<_>>().join(&b'\n');
    let (code, answers) = project.send_lines(&lines);
    assert_eq!((code, answers.len()), (1, damaged.len()));
    for ((what, _, reason), answer) in damaged.iter().zip(&answers) {
        let got = (&answer["result"], &answer["reason"]);
        assert_eq!(got, (&json!("rejected"), &json!(reason)), "{what}: {answer}");
        assert_eq!(answer["taskId"], Value::Null, "{what}");
    }
    assert_eq!(project.digest(), before);
    assert_eq!(project.events().len(), events + damaged.len());
}

#[test]
fn message_cut_short_anywhere_is_refused() {
    let project = ready_for_anything();
    let before = project.digest();
    let good = format!("AOF/1 {}", document(&example(1)));
    let short = lines((6..good.len()).step_by(7).map(|end| &good[..end]));
    let (code, answers) = project.send_lines(short.as_bytes());
    assert_eq!((code, answers.len()), (1, short.lines().count()));
    for (line, answer) in short.lines().zip(&answers) {
        assert_eq!(answer["reason"], "invalid_json", "{line}");
    }
    assert_eq!(project.digest(), before);
}

#[test]
fn multi_line_invalid_messages_are_refused() {
    let project = ready_for_anything();
    let before = project.digest();
    let good = example(1);
    for (what, message, reason) in [
        (
            "a raw line break in a text",
            good.replacen("swe-backend", "swe-\nbackend", 1),
            "invalid_json",
        ),
        (
            "an announced message cut short",
            format!("AOF/1 {}", &good[..good.len() / 2]),
            "invalid_json",
        ),
        ("a message after a message", format!("{good}\n{good}"), "invalid_json"),
    ] {
        let ran = run_with(&mut project.command(["send", "--json"]), message.as_bytes());
        assert_eq!((ran.code, &*ran.err), (1, ""), "{what}");
        assert_eq!(document(&ran.out)["reason"], reason, "{what}");
    }
    assert_eq!(project.digest(), before);
}

#[test]
fn text_of_other_protocols_is_ignored_without_event() {
    let project = ready_for_anything();
    let (before, events) = (project.digest(), project.events().len());
    let lines: Vec<&[u8]> = vec![
        b"",
        b" ",
        b"hello",
        b"{",
        b"}",
        b"{}",
        b"[]",
        b"null",
        b"3",
        b"\"AOF/1 {}\"",
        b"AOF/1",
        b"AOF/2 {}",
        b"aof/1 {}",
        b"{\"protocol\":\"custom\",\"version\":1}",
        b"{\"protocol\":3}",
        b"{\"protocol\":\"AOF\"}",
        b"[{\"protocol\":\"aof\"}]",
        b"\xff\xfe",
        b"\0\0\0",
        b"{\"message\":{\"message\":{\"protocol\":\"aof\"}}}",
        b"<aof/>",
    ];
    let (code, answers) = project.send_lines(&lines.join(&b'\n'));
    assert_eq!((code, answers.len()), (0, lines.len()));
    let ignored = json!({
        "result": "ignored", "reason": null, "taskId": null, "events": [], "status": null,
        "errors": [],
    });
    for (line, answer) in lines.iter().zip(&answers) {
        assert_eq!(*answer, ignored, "{:?}", String::from_utf8_lossy(line));
    }
    assert_eq!((project.digest(), project.events().len()), (before, events));
}

#[test]
fn message_authorization_and_consistency_have_own_reasons() {
    let project = ready_for_anything();
    let before = project.digest();
    let change = |number: usize, pointer: &str, value: Value| {
        let mut message = document(&example(number));
        *message.pointer_mut(pointer).expect("it is there") = value;
        message
    };
    let both = |number: usize, value: &str| {
        let mut message = change(number, "/taskId", value.into());
        message["payload"]["taskId"] = value.into();
        message
    };
    let mut with_token = document(&example(1));
    with_token["runToken"] = "never given out".into();
    let cases = [
        ("no such task", both(1, "TASK-2026-02-09-999"), "task_not_found", 2),
        ("no such child", both(5, "TASK-2026-02-09-999"), "task_not_found", 3),
        (
            "no such parent",
            change(5, "/payload/parentTaskId", json!("TASK-2026-02-09-999")),
            "parent_not_found",
            2,
        ),
        ("the wrong sender", change(1, "/fromAgent", json!("eve")), "unauthorized_agent", 2),
        (
            "another task inside",
            change(3, "/payload/taskId", json!("TASK-2026-02-09-057")),
            "taskId_mismatch",
            1,
        ),
        (
            "another sender inside",
            change(3, "/payload/agentId", json!("eve")),
            "agentId_mismatch",
            1,
        ),
        (
            "another giver inside",
            change(5, "/payload/fromAgent", json!("eve")),
            "agentId_mismatch",
            1,
        ),
        (
            "its own parent",
            change(5, "/payload/parentTaskId", json!("TASK-2026-02-09-061")),
            "invalid_envelope",
            1,
        ),
        (
            "accepted and rejected",
            change(7, "/payload/accepted", json!(true)),
            "invalid_envelope",
            1,
        ),
        ("a token of no run", with_token, "unknown_token", 2),
    ];
    for (what, message, reason, events) in cases {
        let (code, answer) = project.send(message.to_string().as_bytes());
        let got = (code, &answer["result"], &answer["reason"]);
        assert_eq!(got, (1, &json!("rejected"), &json!(reason)), "{what}: {answer}");
        assert_eq!(answer["events"].as_array().map(Vec::len), Some(events), "{what}: {answer}");
    }
    let (code, answer) =
        project.send(change(1, "/type", json!("coffee.break")).to_string().as_bytes());
    let got = (code, &answer["result"], &answer["reason"]);
    assert_eq!(got, (1, &json!("unknown"), &json!("unknown_type")));
    assert_eq!(project.digest(), before);
}
