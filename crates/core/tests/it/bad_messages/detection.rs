//! What is a message of ours, what is a broken one, and what is none of our business.

use adjutant_core::answer::Reason;
use adjutant_core::aof::{self, Incoming};
use serde_json::{Value, json};

use super::damage::check_not_json;
use super::{a_completion, an_update, check_ignored, check_refused, check_taken, valid, without};

#[test]
fn talk_is_ignored() {
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
fn json_of_others_is_ignored() {
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
fn broken_json_that_does_not_name_us_is_ignored() {
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
fn broken_json_that_names_us_is_refused() {
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
fn text_that_starts_with_a_bracket_is_never_ours() {
    // A list is no message, so a broken list is no broken message.
    for message in valid() {
        check_ignored(format!("[{message}"));
        check_ignored(format!("[{message},]"));
    }
    check_ignored("[".repeat(65));
}

#[test]
fn whatever_follows_the_prefix_is_meant_for_us() {
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
fn the_prefix_with_nothing_after_it_is_a_broken_message() {
    for text in ["AOF/1 ", "AOF/1  ", "AOF/1 \n", "\u{feff}AOF/1 "] {
        check_not_json(text);
    }
}

#[test]
fn white_space_and_byte_order_marks_around_a_message_do_not_matter() {
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
fn anything_but_white_space_after_a_message_makes_it_no_json() {
    for message in valid() {
        for after in ["x", "}", ",", "{}", "\0", "\u{feff}", " and more", "\n7"] {
            check_not_json(format!("{message}{after}"));
            check_not_json(format!("AOF/1 {message}{after}"));
        }
    }
}

#[test]
fn an_object_may_carry_the_message() {
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
fn a_message_carried_two_levels_deep_is_not_ours() {
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
fn a_message_carried_inside_is_checked_like_any_other() {
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
fn the_first_carrier_with_something_of_ours_counts() {
    let (report, update) = (a_completion(), an_update());
    let both = json!({"content": update, "message": report, "payload": "hello"});
    assert_eq!(aof::read(both.to_string().as_bytes()), aof::read(report.to_string().as_bytes()));
}

#[test]
fn of_a_key_that_stands_twice_the_last_one_counts() {
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
fn a_refusal_names_task_and_sender_as_far_as_they_can_be_read() {
    let named = |message: &Value| match aof::read(message.to_string().as_bytes()) {
        Incoming::Refused(refusal) => {
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
