//! Tests of how values are written.

use serde_json::{Map, Value, json};

use super::super::{read, write};

fn check(value: Value, expected: &str) {
    let Value::Object(map) = value else { panic!("only mappings are written") };
    let text = write(&map, "\n");
    assert_eq!(text, expected);
    assert_eq!(read(&text), Ok(map));
}

fn check_string(text: &str, expected: &str) {
    check(json!({"s": text}), &format!("s: {expected}\n"));
}

#[test]
fn mapping_is_written_in_block_style_and_order() {
    check(
        json!({
            "id": "TASK-2026-02-09-057", "rank": 1, "z": null, "ok": true,
            "tags": ["a", "b"], "none": [], "metadata": {"b": {"c": 1.5}, "a": {}},
        }),
        "id: TASK-2026-02-09-057\nrank: 1\nz: null\nok: true\ntags:\n  - a\n  - b\nnone: []\n\
         metadata:\n  b:\n    c: 1.5\n  a: {}\n",
    );
    check(json!({}), "");
}

#[test]
fn lists_can_contain_lists_and_mappings() {
    check(
        json!({"a": [{"b": 1, "c": [2]}, [3, [4]], {}, []]}),
        "a:\n  - b: 1\n    c:\n      - 2\n  - - 3\n    - - 4\n  - {}\n  - []\n",
    );
}

#[test]
fn written_lines_use_given_eol() {
    let map = Map::from_iter([("a".to_owned(), json!({"b": "x\r\ny"}))]);
    assert_eq!(write(&map, "\r\n"), "a:\r\n  b: \"x\\r\\ny\"\r\n");
}

#[test]
fn unambiguous_strings_are_plain() {
    for text in [
        "done",
        "in_progress",
        "TASK-2026-02-09-057",
        "Fix a, b (and c)",
        "it's",
        "/home/project",
        "https://x.org/a?b=c&d",
        "a:b",
        "Größe ändern",
        "名前",
        "user@host",
        "yes we can",
        "2026-02-09T21:10:00.000Z",
        "2026-02-09T21:10:00Z",
        "2026-02-09T21:10:00.5+01:00",
    ] {
        check_string(text, text);
    }
}

#[test]
fn ambiguous_strings_are_quoted() {
    for text in [
        "",
        " ",
        "~",
        "null",
        "True",
        "yes",
        "NO",
        "on",
        "Off",
        "y",
        "N",
        ".nan",
        ".inf",
        "NaN",
        "<<",
        "=",
        "2026-02-09",
        "2026-02-09 21:10:00",
        "2026-02-09T21:10:00",
        "2026-02-09T21:10:00.Z",
        "12:30:45",
        "1",
        "-1",
        "+1",
        "1_000",
        "0x1F",
        "0o7",
        "007",
        "1e3",
        "e5",
        "E-5",
        "1.5",
        ".5",
        "-",
        "- a",
        "? a",
        ": a",
        "a: b",
        "a:",
        "a #b",
        "#a",
        "a ",
        " a",
        "[a]",
        "{a}",
        "a]",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "%a",
        "@a",
        "`a",
        "'a'",
        "---",
        "...",
        "--- a",
        "🐛",
    ] {
        check_string(text, &format!("\"{text}\""));
    }
}

#[test]
fn unprintable_characters_are_escaped() {
    check_string("a\nb\r\n\tc", r#""a\nb\r\n\tc""#);
    check_string("say \"x\" \\ y #", r#""say \"x\" \\ y #""#);
    check_string("\0\u{7}\u{1b}\u{7f}\u{85}\u{9f}", r#""\u0000\u0007\u001b\u007f\u0085\u009f""#);
    check_string("a\u{a0}\u{2028}\u{2029}\u{202e}\u{feff}", r#""a\u00a0\u2028\u2029\u202e\ufeff""#);
    check_string("\u{fffe}\u{ffff}\u{1ffff}", r#""\ufffe\uffff\U0001ffff""#);
}

#[test]
fn numbers_are_written_for_yaml_1_1_parsers() {
    check(
        json!({"a": 1e300, "b": 1.5e-9, "c": 1.0, "d": -0.5}),
        "a: 1.0e+300\nb: 1.5e-9\nc: 1.0\nd: -0.5\n",
    );
    check(
        json!({"a": u64::MAX, "b": i64::MIN}),
        "a: 18446744073709551615\nb: -9223372036854775808\n",
    );
}

#[test]
fn keys_are_quoted_like_strings() {
    check(
        json!({"a b": 1, "1": 2, "": 3, "yes": 4, "a: b": {"#": 5}}),
        "a b: 1\n\"1\": 2\n\"\": 3\n\"yes\": 4\n\"a: b\":\n  \"#\": 5\n",
    );
}

#[test]
fn overlong_key_is_written_with_a_question_mark() {
    let key = "k".repeat(2000);
    check(json!({key.clone(): {"a": [1]}}), &format!("? {key}\n:\n  a:\n    - 1\n"));
}
