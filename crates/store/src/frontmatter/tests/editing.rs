//! Tests that change, add and remove fields of the top mapping.

use serde_json::json;

use super::super::edit;
use super::{check, remove, set};

#[test]
fn plain_value_is_replaced_in_place() {
    check(
        "id: x\nstatus: todo\nrank: 1\n",
        &[set(&["status"], "done")],
        "id: x\nstatus: done\nrank: 1\n",
    );
}

#[test]
fn comment_behind_value_stays() {
    check("a: # why\n  x # x\nb: 1\n", &[set(&["a"], 2)], "a: 2 # why\nb: 1\n");
    check("a: x # why\nb: 1\n", &[set(&["a"], "z")], "a: z # why\nb: 1\n");
    check("a: 'it''s # x'\t# why\n", &[set(&["a"], 2)], "a: 2\t# why\n");
    check("a: [1,\n  2] # why\n", &[set(&["a"], 2)], "a: 2 # why\n");
    check("a: # why\nb: 1\n", &[set(&["a"], 2)], "a: 2 # why\nb: 1\n");
    check("a: # why\n  - 1 # one\nb: 1\n", &[set(&["a"], 2)], "a: 2 # why\nb: 1\n");
    check("a: |  # why\n  text # no\n", &[set(&["a"], 2)], "a: 2  # why\n");
    check("a: 1 # why\n", &[set(&["a"], json!([1]))], "a: # why\n  - 1\n");
    check("a: x#y\n", &[set(&["a"], 2)], "a: 2\n");
}

#[test]
fn blanks_before_value_stay() {
    check("id:     x\nstatus: y\n", &[set(&["id"], "z")], "id:     z\nstatus: y\n");
    check("id:\n  x\n", &[set(&["id"], "z")], "id: z\n");
    check("id : x\n", &[set(&["id"], "z")], "id : z\n");
}

#[test]
fn edit_to_same_value_leaves_text_unchanged() {
    check(
        "a: 'x'   # c\nb: {c:  1}\n",
        &[set(&["a"], "x"), set(&["b", "c"], 1)],
        "a: 'x'   # c\nb: {c:  1}\n",
    );
}

#[test]
fn absent_field_is_added_at_the_end() {
    check(
        "a: 1\n",
        &[set(&["b"], "x"), set(&["c"], json!({"d": []}))],
        "a: 1\nb: x\nc:\n  d: []\n",
    );
    check("", &[set(&["a"], 1)], "a: 1\n");
    check("# fields\n", &[set(&["a"], 1)], "# fields\na: 1\n");
    check("a: 1\n\n# end\n", &[set(&["b"], 2)], "a: 1\n\n# end\nb: 2\n");
    check("a: 1", &[set(&["b"], 2), set(&["c"], 3)], "a: 1\nb: 2\nc: 3");
    check("  a: 1\n", &[set(&["b"], 2)], "  a: 1\n  b: 2\n");
    check("a: |+\n  x\n\n", &[set(&["b"], 2)], "a: |+\n  x\n\nb: 2\n");
}

#[test]
fn removed_field_loses_its_lines() {
    check("a: 1\nb: 2 # gone\nc: 3\n", &[remove(&["b"])], "a: 1\nc: 3\n");
    check("a: 1\n", &[remove(&["a"])], "");
    check("a: 1\nb: 2", &[remove(&["b"])], "a: 1\n");
    check("a: 1\n", &[remove(&["b"])], "a: 1\n");
}

#[test]
fn comments_and_blank_lines_above_next_field_stay() {
    let yaml = "a:\n  - 1\n\n# about b\nb: 2\n\n# end\n";
    check(yaml, &[set(&["a"], 0)], "a: 0\n\n# about b\nb: 2\n\n# end\n");
    check(yaml, &[remove(&["a"])], "\n# about b\nb: 2\n\n# end\n");
    check(yaml, &[remove(&["b"])], "a:\n  - 1\n\n# about b\n\n# end\n");
}

#[test]
fn quoted_keys_are_found() {
    let yaml = "'a b': 1\n\"c\\td\": 2\n'it''s': 3\n";
    check(yaml, &[set(&["a b"], 9)], "'a b': 9\n\"c\\td\": 2\n'it''s': 3\n");
    check(yaml, &[set(&["c\td"], 9)], "'a b': 1\n\"c\\td\": 9\n'it''s': 3\n");
    check(yaml, &[remove(&["it's"])], "'a b': 1\n\"c\\td\": 2\n");
}

#[test]
fn unindented_list_belongs_to_its_key() {
    let yaml = "dependsOn:\n- a\n# half way\n- b\nstatus: x\n";
    check(yaml, &[set(&["dependsOn"], json!(["c"]))], "dependsOn:\n  - c\nstatus: x\n");
    check(yaml, &[remove(&["dependsOn"])], "status: x\n");
    check(yaml, &[set(&["status"], "z")], "dependsOn:\n- a\n# half way\n- b\nstatus: z\n");
    check("a:\n-\n-\nb: 1\n", &[remove(&["a"])], "b: 1\n");
}

#[test]
fn flow_collection_may_close_unindented() {
    let yaml = "a: [\n1,\n2\n]\nb: {\nc: 1\n}\nd: 2\n";
    check(yaml, &[set(&["a"], json!([]))], "a: []\nb: {\nc: 1\n}\nd: 2\n");
    check(yaml, &[remove(&["b"])], "a: [\n1,\n2\n]\nd: 2\n");
    check(yaml, &[set(&["c"], 3)], "a: [\n1,\n2\n]\nb: {\nc: 1\n}\nd: 2\nc: 3\n");
}

#[test]
fn block_scalars_may_look_like_fields() {
    let yaml = "a: |\n  b: 1\n\n  # no comment\n  ---\n\nb: >-\n  x\n    y\n\n  z\n";
    check(yaml, &[set(&["b"], 2)], "a: |\n  b: 1\n\n  # no comment\n  ---\n\nb: 2\n");
    check(yaml, &[set(&["a"], 2)], "a: 2\n\nb: >-\n  x\n    y\n\n  z\n");
    check(yaml, &[remove(&["a"])], "\nb: >-\n  x\n    y\n\n  z\n");
}

#[test]
fn block_scalars_end_before_a_comment_further_left() {
    check("a: |\n    x\n  # c\nb: 1\n", &[remove(&["a"])], "  # c\nb: 1\n");
    check("a: |\n\nb: 1\n", &[set(&["a"], "x")], "a: x\n\nb: 1\n");
    check("a: |+\n  x\n\n\nb: 1\n", &[set(&["a"], "x")], "a: x\nb: 1\n");
}

#[test]
fn multi_line_values_are_edited_whole() {
    let yaml = "a: one\n  two\n\n  three\nb: \"x: 1\n  y: 2\"\nc: 3\n";
    check(yaml, &[set(&["a"], 1)], "a: 1\nb: \"x: 1\n  y: 2\"\nc: 3\n");
    check(yaml, &[remove(&["b"])], "a: one\n  two\n\n  three\nc: 3\n");
}

#[test]
fn line_ends_stay_and_new_lines_use_given_eol() {
    let yaml = "a: 1\r\nb:\r\n  c: 2\r\n";
    let edits = [set(&["a"], json!([1, 2])), set(&["b", "d"], "x"), set(&["f"], 3)];
    let expected = "a:\r\n  - 1\r\n  - 2\r\nb:\r\n  c: 2\r\n  d: x\r\nf: 3\r\n";
    assert_eq!(edit(yaml, &edits, "\r\n"), Ok(expected.to_owned()));
    assert_eq!(edit(yaml, &[remove(&["a"])], "\r\n"), Ok("b:\r\n  c: 2\r\n".to_owned()));
    check("a: 1\rb: 2\rc: 3\r", &[set(&["b"], 9)], "a: 1\rb: 9\rc: 3\r");
}

#[test]
fn non_ascii_text_has_correct_positions() {
    check("ä: ö # ü\n名: \"値\"\nz: é\n", &[set(&["名"], 1)], "ä: ö # ü\n名: 1\nz: é\n");
    check("ä: ö # ü\n", &[set(&["ä"], "ß")], "ä: ß # ü\n");
}

#[test]
fn edits_apply_in_order() {
    check("a: 1\n", &[set(&["a"], 2), set(&["a"], 3)], "a: 3\n");
    check("a: 1\n", &[remove(&["a"]), set(&["a"], 1)], "a: 1\n");
    check("a: 1\nb: 2\n", &[set(&["c"], 3), remove(&["b"]), remove(&["c"])], "a: 1\n");
    check("a: 1\n", &[set(&[], 2), remove(&[])], "a: 1\n");
}
