//! Tests that change, add and remove fields inside a mapping.

use serde_json::json;

use super::{check, remove, set};

#[test]
fn nested_field_is_replaced_in_place() {
    let yaml = "metadata:\n    # about a\n    a: 1 # one\n\n    b: [x]\nc: 2\n";
    check(
        yaml,
        &[set(&["metadata", "a"], 9)],
        "metadata:\n    # about a\n    a: 9 # one\n\n    b: [x]\nc: 2\n",
    );
    check(
        yaml,
        &[set(&["metadata", "b"], json!({"x": [1]}))],
        "metadata:\n    # about a\n    a: 1 # one\n\n    b:\n      x:\n        - 1\nc: 2\n",
    );
}

#[test]
fn nested_field_is_added_at_the_indentation_of_its_siblings() {
    check(
        "m:\n   a: 1\n\n# c\nc: 2\n",
        &[set(&["m", "b"], 3)],
        "m:\n   a: 1\n   b: 3\n\n# c\nc: 2\n",
    );
    check("m:\n  a: 1", &[set(&["m", "b"], 3), set(&["o"], 4)], "m:\n  a: 1\n  b: 3\no: 4");
    check(
        "m:\n  a: |+\n    x\n\nn: 1\n",
        &[set(&["m", "b"], 3)],
        "m:\n  a: |+\n    x\n\n  b: 3\nn: 1\n",
    );
}

#[test]
fn nested_field_is_removed_with_its_lines() {
    check("m:\n  a:\n  - 1\n  b: 2\nc: 3\n", &[remove(&["m", "a"])], "m:\n  b: 2\nc: 3\n");
    check("m:\n  a: 1\n  b: 2\n", &[remove(&["m", "b"])], "m:\n  a: 1\n");
}

#[test]
fn mapping_without_fields_is_written_as_empty() {
    check("m: # why\n  a: 1\nc: 3\n", &[remove(&["m", "a"])], "m: {} # why\nc: 3\n");
    check("m:\n  a: 1\n  b: 2\n", &[remove(&["m", "a"]), remove(&["m", "b"])], "m: {}\n");
}

#[test]
fn mapping_with_replaced_fields_stays_in_block_style() {
    check(
        "m:\n  # c\n  a: 1\n",
        &[remove(&["m", "a"]), set(&["m", "b"], 2)],
        "m:\n  # c\n  b: 2\n",
    );
}

#[test]
fn flow_mapping_becomes_a_block_mapping() {
    check(
        "m: {a: 1, b: [x]} # why\nc: 2\n",
        &[set(&["m", "a"], 3)],
        "m: # why\n  a: 3\n  b:\n    - x\nc: 2\n",
    );
    check("m: {a: 1}\n", &[remove(&["m", "a"])], "m: {}\n");
    check("m: {}\n", &[set(&["m", "a"], 1)], "m:\n  a: 1\n");
}

#[test]
fn mapping_is_created_for_nested_field() {
    for yaml in ["", "m:\n", "m: ~\n", "m: {}\n", "m: text\n", "m:\n- a\n- b\n"] {
        check(yaml, &[set(&["m", "a"], 1)], "m:\n  a: 1\n");
    }
    for yaml in ["", "m:\n", "m: text\n", "m:\n- a\n"] {
        check(yaml, &[remove(&["m", "a"])], yaml);
    }
}

#[test]
fn mapping_is_changed_key_by_key() {
    check(
        "m:\n  a: 1 # one\n  b: 2\n  c: 3 # three\n",
        &[set(&["m"], json!({"a": 1, "c": 4, "d": 5}))],
        "m:\n  a: 1 # one\n  c: 4 # three\n  d: 5\n",
    );
}

#[test]
fn outer_and_inner_fields_can_be_added_together() {
    check("m:\n  a: 1\n", &[set(&["o"], 2), set(&["m", "b"], 3)], "m:\n  a: 1\n  b: 3\no: 2\n");
}

#[test]
fn list_item_fields_are_left_unchanged() {
    let yaml = "m:\n  - a: 1\n    b: 2\n  - a: 3\na: 4\n";
    check(yaml, &[set(&["a"], 5)], "m:\n  - a: 1\n    b: 2\n  - a: 3\na: 5\n");
}
