//! Taking a text apart and putting it together.

use super::super::{Parts, SplitError};

fn split(text: &str) -> (&str, &str, &str) {
    let parts = Parts::split(text).expect("the text has front matter");
    assert_eq!(parts.join(parts.yaml(), parts.body()), text);
    (parts.yaml(), parts.body(), parts.eol())
}

#[test]
fn a_task_file_has_front_matter_and_a_body() {
    assert_eq!(split("---\nid: x\n---\n# Title\n"), ("id: x\n", "# Title\n", "\n"));
}

#[test]
fn line_ends_are_those_of_the_opening_fence() {
    assert_eq!(split("---\r\nid: x\r\n---\r\nbody\r\n"), ("id: x\r\n", "body\r\n", "\r\n"));
    assert_eq!(split("---\nid: x\r\n---\r\nbody"), ("id: x\r\n", "body", "\n"));
}

#[test]
fn a_byte_order_mark_is_kept() {
    assert_eq!(split("\u{feff}---\nid: x\n---\nbody"), ("id: x\n", "body", "\n"));
}

#[test]
fn blanks_may_follow_the_dashes() {
    assert_eq!(split("--- \t\nid: x\n---  \nbody"), ("id: x\n", "body", "\n"));
}

#[test]
fn the_closing_fence_may_end_the_file() {
    assert_eq!(split("---\nid: x\n---"), ("id: x\n", "", "\n"));
    assert_eq!(split("---\r\n---"), ("", "", "\r\n"));
}

#[test]
fn a_body_may_hold_fences() {
    assert_eq!(split("---\nid: x\n---\na\n---\nb\n"), ("id: x\n", "a\n---\nb\n", "\n"));
}

#[test]
fn only_a_line_of_three_dashes_at_the_margin_is_a_fence() {
    let yaml = "a: |\n  ---\nb: 1 ---\n---- # c\n";
    assert_eq!(split(&format!("---\n{yaml}---\nbody")), (yaml, "body", "\n"));
}

#[test]
fn a_text_without_fences_is_refused() {
    assert_eq!(Parts::split(""), Err(SplitError::NoOpening));
    assert_eq!(Parts::split("# Title\n"), Err(SplitError::NoOpening));
    assert_eq!(Parts::split("\n---\nid: x\n---\n"), Err(SplitError::NoOpening));
    assert_eq!(Parts::split(" ---\nid: x\n---\n"), Err(SplitError::NoOpening));
    assert_eq!(Parts::split("---"), Err(SplitError::NoClosing));
    assert_eq!(Parts::split("---\nid: x\n --- \n----\n"), Err(SplitError::NoClosing));
}

#[test]
fn joining_keeps_fences_on_lines_of_their_own() {
    let parts = Parts::split("\u{feff}---\r\nid: x\r\n---").expect("the text has front matter");
    assert_eq!(parts.join("id: y", "body"), "\u{feff}---\r\nid: y\r\n---\r\nbody");
    assert_eq!(parts.join("", ""), "\u{feff}---\r\n---");
}
