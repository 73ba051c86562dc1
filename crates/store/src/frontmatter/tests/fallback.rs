//! Tests of texts that cannot be edited line by line, or not at all.

use serde_json::{Value, json};

use super::super::{EditError, edit};
use super::{check, remove, set};

#[test]
fn top_level_flow_mapping_is_rewritten() {
    check("{id: x, tags: [a, b]} # c\n", &[set(&["id"], "z")], "id: z\ntags:\n  - a\n  - b\n");
    check("{id: x}\n", &[remove(&["id"])], "");
}

#[test]
fn question_mark_key_is_rewritten_only_if_it_changes() {
    let yaml = "? a\n: 1 # one\nb: 2\n";
    check(yaml, &[set(&["b"], 3)], "? a\n: 1 # one\nb: 3\n");
    check(yaml, &[set(&["a"], 3)], "a: 3\nb: 2\n");
    check(yaml, &[remove(&["a"])], "b: 2\n");
}

#[test]
fn aliases_stay_while_their_anchor_stays() {
    let yaml = "a: &x [1] # c\nb: *x\nc: 2\n";
    check(yaml, &[set(&["c"], 3)], "a: &x [1] # c\nb: *x\nc: 3\n");
    check(yaml, &[set(&["b"], 3)], "a: &x [1] # c\nb: 3\nc: 2\n");
    check(yaml, &[set(&["a"], 3)], "a: 3\nb:\n  - 1\nc: 2\n");
    check("a: &x 1\nb: 2\n", &[set(&["a"], 3)], "a: 3\nb: 2\n");
}

#[test]
fn merged_fields_can_be_overridden_and_removed() {
    let yaml = "base: &b {x: 1, w: 2}\nm:\n  <<: *b\n  z: 3\n";
    check(yaml, &[set(&["m", "x"], 9)], "base: &b {x: 1, w: 2}\nm:\n  <<: *b\n  z: 3\n  x: 9\n");
    check(yaml, &[set(&["m", "z"], 9)], "base: &b {x: 1, w: 2}\nm:\n  <<: *b\n  z: 9\n");
    check(yaml, &[remove(&["m", "x"])], "base:\n  x: 1\n  w: 2\nm:\n  z: 3\n  w: 2\n");
}

#[test]
fn document_end_marker_gets_nothing_added_after_it() {
    check("a: 1\n...\n", &[set(&["a"], 2)], "a: 2\n...\n");
    check("a: 1\n...\n", &[set(&["b"], 2)], "a: 1\nb: 2\n");
}

#[test]
fn unreadable_front_matter_is_not_edited() {
    let error = edit("a: [\n", &[], "\n").expect_err("this is not YAML");
    assert!(matches!(error, EditError::Unreadable(_)), "{error:?}");
}

#[test]
fn fields_beside_deeply_nested_ones_can_be_edited() {
    let flow = format!("{}{}", "[".repeat(63), "]".repeat(63));
    check(&format!("a: {flow}\nb: 1\n"), &[set(&["b"], 2)], &format!("a: {flow}\nb: 2\n"));
    let block: String = (1..63).map(|depth| " ".repeat(depth) + "k:\n").collect();
    check(&format!("a:\n{block}b: 1\n"), &[set(&["b"], 2)], &format!("a:\n{block}b: 2\n"));
}

#[test]
fn edit_over_a_read_limit_is_refused() {
    let deep = (0..70).fold(json!(1), |inner, _| json!([inner]));
    let long = Value::from("x".repeat(2 * 1024 * 1024));
    for value in [deep, long] {
        assert_eq!(edit("a: 1\n", &[set(&["b"], value)], "\n"), Err(EditError::Unwritable));
    }
}
