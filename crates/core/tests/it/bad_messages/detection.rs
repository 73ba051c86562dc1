//! Telling messages, broken messages and unrelated text apart.

use adjutant_core::protocols::aof::{self, IncomingText};
use adjutant_model::answer::Reason;
use serde_json::{Value, json};

use super::damage::check_not_json;
use super::{a_completion, an_update, check_ignored, check_refused, check_taken, valid, without};

#[test]
fn plain_text_is_ignored() {
    for text in [
        "",
        " ",
        "\n",
        "Hello, this is a chat message",
        "AOF",
        "AOF/1",
        "AOF/1:",
        "AOF/1{}",
        "aof/1 {}",
        "Aof/1 {}",
        "AOF/2 {}",
        "AOF/1.0 {}",
        "AOF/10 {}",
        "AOF /1 {}",
        "AOF/1\t{}",
        "AOF/1\n{}",
        "AOF/1\u{a0}{}",
        "> AOF/1 {\"protocol\":\"aof\"}",
        "I sent \"protocol\":\"aof\" to you",
        "`{\"protocol\":\"aof\"}`",
        "\0",
        "\u{feff}",
        "\"protocol\":\"aof\"",
    ] {
        check_ignored(text);
    }
}

#[test]
fn unrelated_json_is_ignored() {
    for text in [
        "{}",
        "[]",
        "null",
        "true",
        "7",
        "-1.5e3",
        "\"text\"",
        "[1, 2, 3]",
        "{\"protocol\":\"mcp\"}",
        "{\"protocol\":[\"aof\"]}",
        "{\"protocol\":{\"protocol\":\"aof\"}}",
        "{\"Protocol\":\"aof\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}",
        "{\"version\":1,\"type\":\"completion.report\"}",
        "{\"payload\":null,\"message\":7,\"content\":[]}",
        "{\"payload\":{},\"message\":\"hello\",\"content\":\"AOF/1\"}",
    ] {
        check_ignored(text);
    }
    for message in valid() {
        check_ignored(format!("[{message}]"));
        check_ignored(Value::String(message.to_string()).to_string());
        check_ignored(Value::String(format!("AOF/1 {message}")).to_string());
    }
}

#[test]
fn broken_json_without_protocol_name_is_ignored() {
    for text in [
        "{",
        "{]",
        "{\"protocol\":",
        "{\"protocol\":\"ao",
        "{\"protocol\":\"mcp\",",
        "{\"protocol\" \"aof\"",
        "{\"protocol\":\"aof2\"",
        "{'protocol':'aof'}",
        "{protocol: aof}",
        "[1,",
    ] {
        check_ignored(text);
    }
}

#[test]
fn broken_json_with_protocol_name_is_refused() {
    for text in [
        "{\"protocol\":\"aof\"",
        "{\"protocol\" : \"aof\",",
        "{\"protocol\"\n:\n\"aof\" oops}",
        "{\"a\":1,\"protocol\":\"aof\"]",
        "{\"protocol\":\"aof\",}",
        "{\"protocol\":\"aof\"} // comment",
        "{\"protocol\":\"aof\"}{\"protocol\":\"aof\"}",
        "{\"payload\":{\"protocol\":\"aof\"}",
    ] {
        check_not_json(text);
    }
}

#[test]
fn text_starting_with_a_bracket_is_never_a_message() {
    // A list is not a message, so a broken list is not a broken message.
    for message in valid() {
        check_ignored(format!("[{message}"));
        check_ignored(format!("[{message},]"));
    }
    check_ignored("[".repeat(65));
}

#[test]
fn prefix_marks_any_text_as_a_message() {
    for text in [
        "AOF/1 x",
        "AOF/1 {invalid json",
        "AOF/1 {",
        "AOF/1 }",
        "AOF/1 {\"protocol\":\"aof\"",
        "AOF/1 AOF/1 {}",
        "AOF/1 \u{feff}{}",
        "AOF/1 {} trailing",
        "AOF/1 'text'",
        "AOF/1 undefined",
    ] {
        check_not_json(text);
    }
    let no_object = ["must be a JSON object"];
    for json in ["[]", "7", "null", "true", "\"{}\"", "[{\"protocol\":\"aof\"}]"] {
        check_refused(format!("AOF/1 {json}"), Reason::InvalidEnvelope, &no_object);
    }
}

#[test]
fn prefix_alone_is_a_broken_message() {
    for text in ["AOF/1 ", "AOF/1  ", "AOF/1 \n", "\u{feff}AOF/1 "] {
        check_not_json(text);
    }
}

#[test]
fn white_space_and_byte_order_mark_around_message_are_ignored() {
    for message in valid() {
        let text = message.to_string();
        let pretty = format!("{message:#}");
        for around in [
            format!("{text}\n"),
            format!("{text}\r\n"),
            format!("\r\n\t {text} \t"),
            format!("\u{feff}{text}"),
            format!("AOF/1 {text}"),
            format!("AOF/1    {text}"),
            format!("AOF/1 \n{text}\n"),
            format!("  AOF/1 {text}"),
            format!("\u{feff}AOF/1 {text}"),
            pretty.clone(),
            pretty.replace('\n', "\r\n"),
            format!("AOF/1 {pretty}"),
        ] {
            assert_eq!(aof::read(around.as_bytes()), aof::read(text.as_bytes()), "{around}");
            check_taken(around);
        }
    }
}

#[test]
fn trailing_text_after_message_makes_it_invalid_json() {
    for message in valid() {
        for after in ["x", "}", ",", "{}", "\0", "\u{feff}", " and more", "\n7"] {
            check_not_json(format!("{message}{after}"));
            check_not_json(format!("AOF/1 {message}{after}"));
        }
    }
}

#[test]
fn message_may_be_nested_in_an_object() {
    for message in valid() {
        let text = message.to_string();
        let read = aof::read(text.as_bytes());
        for carrier in ["payload", "message", "content"] {
            for carried in [
                message.clone(),
                json!(text),
                json!(format!("AOF/1 {text}")),
                json!(format!("\n{text}\n")),
            ] {
                let outer = json!({"event": "message_received", carrier: carried, "protocol": "x"});
                let outer = outer.to_string();
                assert_eq!(aof::read(outer.as_bytes()), read, "{outer}");
                check_taken(outer);
            }
        }
    }
}

#[test]
fn message_nested_two_levels_deep_is_ignored() {
    for message in valid() {
        let text = message.to_string();
        for inner in [
            json!({"payload": message}),
            json!({"content": text}),
            json!({"message": format!("AOF/1 {text}")}),
            json!([message]),
            json!(json!({"payload": message}).to_string()),
        ] {
            for carrier in ["payload", "message", "content"] {
                check_ignored(json!({carrier: inner}).to_string());
            }
        }
        check_ignored(json!({"data": message, "Payload": message}).to_string());
    }
}

#[test]
fn nested_message_is_checked_like_any_other() {
    let bad = without(&an_update(), "sentAt");
    let said = ["sentAt: is required"];
    for carried in [json!(bad), json!(bad.to_string()), json!(format!("AOF/1 {bad}"))] {
        let outer = json!({"content": carried}).to_string();
        check_refused(outer, Reason::InvalidEnvelope, &said);
    }
    check_not_json(json!({"content": "AOF/1 {oops"}).to_string());
    check_not_json(json!({"message": "{\"protocol\":\"aof\",oops"}).to_string());
}

#[test]
fn first_carrier_key_with_a_message_counts() {
    let (report, update) = (a_completion(), an_update());
    let both = json!({"content": update, "message": report, "payload": "hello"});
    assert_eq!(aof::read(both.to_string().as_bytes()), aof::read(report.to_string().as_bytes()));
}

#[test]
fn duplicate_key_takes_the_last_value() {
    let report = a_completion();
    let twice = |extra: &str| {
        let text = report.to_string();
        let body = text.strip_suffix('}').expect("an object");
        format!("{body},{extra}}}")
    };
    check_taken(twice("\"version\":1"));
    check_refused(
        twice("\"version\":2"),
        Reason::InvalidEnvelope,
        &["version: unsupported version 2: must be 1"],
    );
    check_refused(
        twice("\"payload\":null"),
        Reason::InvalidEnvelope,
        &["payload: must be an object, not null"],
    );
    check_ignored(twice("\"protocol\":\"other\""));
}

#[test]
fn refusal_names_task_and_sender_as_far_as_readable() {
    let named = |message: &Value| match aof::read(message.to_string().as_bytes()) {
        IncomingText::Refused(refusal) => {
            (refusal.task.map(|task| task.to_string()), refusal.from.map(|from| from.to_string()))
        }
        other => panic!("not refused: {other:?}"),
    };
    let (task, from) = (Some("TASK-2026-02-09-001".to_owned()), Some("swe".to_owned()));
    let bad = without(&a_completion(), "sentAt");
    assert_eq!(named(&bad), (task.clone(), from.clone()));
    assert_eq!(named(&without(&bad, "taskId")), (None, from));
    assert_eq!(named(&without(&bad, "fromAgent")), (task, None));
}
