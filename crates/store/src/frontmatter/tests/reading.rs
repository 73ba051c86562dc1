//! Tests of how YAML is read, and of what is refused.

use std::fmt::Write;

use serde_json::{Value, json};

use super::super::{ReadError, read};

fn check(yaml: &str, expected: Value) {
    assert_eq!(read(yaml).map(Value::Object), Ok(expected), "reading {yaml:?}");
}

fn refuse(yaml: &str, expected: &str) {
    let error = read(yaml).expect_err("this should be refused");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn empty_text_is_an_empty_mapping() {
    check("", json!({}));
    check("\r\n  \n", json!({}));
    check("# nothing yet\n", json!({}));
    check("null\n", json!({}));
}

#[test]
fn timestamps_and_ids_are_strings() {
    check(
        "id: TASK-2026-02-09-057\nat: 2026-02-09T21:10:00.000Z\nday: 2026-02-09\nhour: 12:30:45\n",
        json!({
            "id": "TASK-2026-02-09-057", "at": "2026-02-09T21:10:00.000Z",
            "day": "2026-02-09", "hour": "12:30:45",
        }),
    );
}

#[test]
fn only_true_and_false_are_booleans() {
    check("a: true\nb: False\n", json!({"a": true, "b": false}));
    check(
        "a: yes\nb: No\nc: on\nd: OFF\ne: y\nf: n\n",
        json!({"a": "yes", "b": "No", "c": "on", "d": "OFF", "e": "y", "f": "n"}),
    );
}

#[test]
fn numbers_are_numbers() {
    check("a: 3\nb: -4\nc: 1.5\nd: 0x1F\n", json!({"a": 3, "b": -4, "c": 1.5, "d": 31}));
    check("a: 18446744073709551615\n", json!({"a": u64::MAX}));
    check("a: -9223372036854775808\n", json!({"a": i64::MIN}));
}

#[test]
fn integers_that_do_not_fit_become_floats() {
    check("a: 18446744073709551616\n", json!({"a": 18_446_744_073_709_551_616.0}));
    check("a: 007\n", json!({"a": 7.0}));
}

#[test]
fn numbers_outside_json_are_refused() {
    refuse("a: .nan\n", "line 2, column 4: `.nan` is not a finite number");
    refuse("a: -.inf\n", "line 2, column 4: `-.inf` is not a finite number");
    refuse("commit: 12e4567\n", "line 2, column 9: `12e4567` is not a finite number");
}

#[test]
fn simple_keys_are_their_text() {
    check(
        "1: a\n0x2: b\ntrue: c\n1.50: d\n",
        json!({"1": "a", "0x2": "b", "true": "c", "1.50": "d"}),
    );
}

#[test]
fn non_text_keys_are_refused() {
    refuse("a: 1\n~: 2\n", "line 3, column 1: a key is empty or null");
    refuse(": 2\n", "line 2, column 1: a key is empty or null");
    refuse("? [a, b]\n: 2\n", "line 2, column 3: expected string scalar");
}

#[test]
fn duplicate_key_is_refused() {
    refuse("a: 1\nb: 2\na: 3\n", "line 4, column 1: the key `a` appears twice");
    refuse("m:\n  a: 1\n  'a': 2\n", "line 4, column 3: the key `a` appears twice");
    // The parser takes these for two keys, an integer and a string.
    refuse("m:\n  1: a\n  '1': b\n", "line 3, column 3: the key `1` appears twice");
}

#[test]
fn non_mapping_is_refused() {
    refuse("- a\n", "line 2, column 1: invalid type: sequence, expected a mapping of fields");
    refuse("7\n", "line 2, column 1: invalid type: integer `7`, expected a mapping of fields");
}

#[test]
fn second_document_is_refused() {
    refuse("a: 1\n--- # two\nb: 2\n", "line 3, column 1: a second YAML document starts here");
}

#[test]
fn errors_name_the_line_of_the_file_in_one_short_line() {
    refuse("a: 1\nb: [1\n", "line 3, column 4: unclosed bracket '['");
    refuse(
        "a:\n\tb: 1\n",
        "line 3, column 2: tabs disallowed within this context (block indentation)",
    );
    let error = read(&"long ".repeat(1000)).expect_err("a string is no mapping").to_string();
    assert!(error.len() < 160 && !error.contains('\n'), "{error}");
}

#[test]
fn tags_are_dropped_and_execute_nothing() {
    check(
        "a: !!python/object/apply:os.system x\nb: !include /etc/passwd\nc: !map {d: 1}\ne: !!str 1\n",
        json!({"a": "x", "b": "/etc/passwd", "c": {"d": 1}, "e": "1"}),
    );
}

#[test]
fn aliases_and_merges_are_expanded() {
    check(
        "base: &b {x: 1, y: 2}\nuse: *b\nmore:\n  <<: *b\n  y: 3\n",
        json!({"base": {"x": 1, "y": 2}, "use": {"x": 1, "y": 2}, "more": {"x": 1, "y": 3}}),
    );
}

#[test]
fn alias_bomb_is_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..20 {
        let aliases = vec![format!("*a{}", n - 1); 8].join(", ");
        writeln!(bomb, "a{n}: &a{n} [{aliases}]").expect("strings can be written to");
    }
    refuse(&bomb, "line 6, column 10: aliases expand to too much");
    refuse("a: &a [*a]\n", "line 2, column 8: an alias contains itself");
}

#[test]
fn too_deep_or_long_text_is_refused() {
    let limit = "too long, nested too deep, or too many values";
    let nested = |depth| format!("a: {}{}\n", "[".repeat(depth), "]".repeat(depth));
    assert!(read(&nested(63)).is_ok());
    refuse(&nested(64), &format!("line 2, column 67: {limit}"));
    refuse(&nested(100_000), "line 2, column 68: recursion limit exceeded");
    refuse(&format!("a: [{}]\n", "1, ".repeat(60_000)), &format!("line 2, column 149996: {limit}"));
    let bytes = 1024 * 1024 + 1;
    assert_eq!(read(&"#".repeat(bytes)), Err(ReadError::TooLong { bytes }));
}
