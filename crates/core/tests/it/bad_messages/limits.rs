//! Every limit, met exactly and exceeded by one.

use adjutant_core::protocols::aof::{DEPTH_MAX, MESSAGE_BYTES_MAX};
use adjutant_model::answer::Reason;
use serde_json::{Value, json};

use super::{
    a_completion, a_rejection, a_request, an_acceptance, an_update, check_ignored, check_invalid,
    check_refused, check_taken, valid, with,
};

/// Lengths are counted in characters, so these texts use two bytes for each.
fn check_length(message: &Value, path: &str, most: usize) {
    check_taken(with(message, path, "ü".repeat(most)).to_string());
    let said = format!("{path}: must have at most {most} characters");
    check_invalid(&with(message, path, "ü".repeat(most + 1)), &[&said]);
}

#[test]
fn text_length_limits_are_exact() {
    check_length(&a_completion(), "payload.notes", 10_000);
    check_length(&an_update(), "payload.notes", 10_000);
    check_length(&an_update(), "payload.progress", 1_000);
    check_length(&a_rejection(), "payload.reason", 512);
    check_length(&an_acceptance(), "payload.reason", 512);
}

#[test]
fn refs_and_list_items_have_at_most_256_characters() {
    check_length(&a_completion(), "payload.summaryRef", 256);
    check_length(&a_completion(), "payload.deliverables[0]", 256);
    check_length(&a_completion(), "payload.blockers[1]", 256);
    check_length(&an_update(), "payload.blockers[0]", 256);
    check_length(&a_request(), "payload.acceptanceCriteria[0]", 256);
    check_length(&a_request(), "payload.expectedOutputs[0]", 256);
    check_length(&a_request(), "payload.contextRefs[0]", 256);
    check_length(&a_request(), "payload.constraints[0]", 256);
}

#[test]
fn names_and_tokens_have_at_most_256_characters() {
    for message in valid() {
        check_length(&message, "toAgent", 256);
        check_length(&message, "runToken", 256);
        let long = "type: must have at most 256 characters";
        check_invalid(&with(&message, "type", "x".repeat(257)), &[long]);
    }
    check_length(&a_request(), "payload.toAgent", 256);
}

#[test]
fn overlong_text_is_refused_with_its_own_limit() {
    let long = "x".repeat(10_001);
    let check = |message: &Value, path: &str, said: &str| {
        check_invalid(&with(message, path, long.as_str()), &[&format!("{path}: {said}")]);
    };
    let most = "must have at most 256 characters";
    check(&a_completion(), "payload.summaryRef", most);
    check(&a_completion(), "payload.deliverables[0]", most);
    check(&a_completion(), "toAgent", most);
    check(&a_completion(), "taskId", "must match TASK-YYYY-MM-DD-NNN");
}

fn check_list(message: &Value, path: &str) {
    check_taken(with(message, path, vec!["x"; 50]).to_string());
    let said = format!("{path}: must have at most 50 items, not 51");
    check_invalid(&with(message, path, vec!["x"; 51]), &[&said]);
}

#[test]
fn lists_have_at_most_50_items() {
    check_list(&a_completion(), "payload.deliverables");
    check_list(&a_completion(), "payload.blockers");
    check_list(&an_update(), "payload.blockers");
    check_list(&a_request(), "payload.acceptanceCriteria");
    check_list(&a_request(), "payload.expectedOutputs");
    check_list(&a_request(), "payload.contextRefs");
    check_list(&a_request(), "payload.constraints");
}

#[test]
fn overlong_list_is_not_checked_to_its_end() {
    let said = ["payload.blockers: must have at most 50 items, not 1000"];
    let long = vec!["x".repeat(300); 1000];
    let message = with(&an_update(), "payload.blockers", long);
    let item = |i| format!("payload.blockers[{i}]: must have at most 256 characters");
    let items: Vec<String> = (0..50).map(item).collect();
    let all: Vec<&str> = said.into_iter().chain(items.iter().map(String::as_str)).collect();
    check_invalid(&message, &all);
}

#[test]
fn criteria_that_are_not_text_count_as_items() {
    let long = with(&a_request(), "payload.acceptanceCriteria", vec![0; 51]);
    let said = "payload.acceptanceCriteria: must have at most 50 items, not 51";
    check_invalid(&long, &[said]);
}

#[test]
fn message_has_at_most_one_mebibyte() {
    assert_eq!(MESSAGE_BYTES_MAX, 1_048_576);
    let too_large = ["is larger than 1048576 bytes"];
    for message in valid() {
        for text in [message.to_string(), format!("AOF/1 {message}")] {
            let full = text.clone() + &" ".repeat(MESSAGE_BYTES_MAX - text.len());
            check_taken(&full);
            check_refused(full + " ", Reason::PayloadTooLarge, &too_large);
        }
    }
}

#[test]
fn oversized_message_is_refused_before_parsing() {
    let too_large = ["is larger than 1048576 bytes"];
    let fill = |byte: u8| vec![byte; MESSAGE_BYTES_MAX + 1];
    for byte in [b'x', b'{', b'[', b'"', b' ', 0, 0xff] {
        check_refused(fill(byte), Reason::PayloadTooLarge, &too_large);
    }
}

/// Returns nested lists of this depth.
fn nested(levels: usize) -> Value {
    (1..levels).fold(json!([]), |inner, _| json!([inner]))
}

const TOO_DEEP: [&str; 1] = ["is nested deeper than 64 levels"];

#[test]
fn message_nesting_is_at_most_64_levels() {
    assert_eq!(DEPTH_MAX, 64);
    for message in valid() {
        // The envelope is the first level, and the payload the second.
        check_taken(with(&message, "extra", nested(63)).to_string());
        check_taken(with(&message, "payload.extra", nested(62)).to_string());
        for deep in
            [with(&message, "extra", nested(64)), with(&message, "payload.extra", nested(63))]
        {
            let reason = Reason::NestingTooDeep;
            check_refused(deep.to_string(), reason, &TOO_DEEP);
            check_refused(format!("AOF/1 {deep}"), reason, &TOO_DEEP);
            let carried = json!({"content": deep.to_string()}).to_string();
            check_refused(carried, reason, &TOO_DEEP);
        }
    }
}

#[test]
fn brackets_inside_texts_do_not_count_as_nesting() {
    for brackets in ["[".repeat(100), "\\\"{[".repeat(100), "\"[".repeat(100)] {
        check_taken(with(&a_completion(), "payload.notes", brackets).to_string());
    }
}

#[test]
fn deeply_nested_brackets_do_not_overflow_the_stack() {
    let many = MESSAGE_BYTES_MAX - 6;
    for bracket in ["[", "{", "{\"a\":"] {
        let text = format!("AOF/1 {}", bracket.repeat(many / bracket.len()));
        check_refused(text, Reason::NestingTooDeep, &TOO_DEEP);
    }
    check_ignored("]".repeat(many));
}
