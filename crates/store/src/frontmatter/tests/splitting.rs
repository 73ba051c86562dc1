//! Tests of splitting a task file and joining it again.

use super::super::{FrontMatterParts, SplitError};

fn split(text: &str) -> (&str, &str, &str) {
    let parts = FrontMatterParts::split(text).expect("the text has front matter");
    assert_eq!(parts.join(parts.yaml(), parts.body()), text);
    (parts.yaml(), parts.body(), parts.eol())
}

#[test]
fn task_file_splits_into_front_matter_and_body() {
    assert_eq!(split("---\nid: x\n---\n# Title\n"), ("id: x\n", "# Title\n", "\n"));
}

#[test]
fn line_ends_are_those_of_the_opening_fence() {
    assert_eq!(split("---\r\nid: x\r\n---\r\nbody\r\n"), ("id: x\r\n", "body\r\n", "\r\n"));
    assert_eq!(split("---\nid: x\r\n---\r\nbody"), ("id: x\r\n", "body", "\n"));
}

#[test]
fn byte_order_mark_is_kept() {
    assert_eq!(split("\u{feff}---\nid: x\n---\nbody"), ("id: x\n", "body", "\n"));
}

#[test]
fn fence_may_have_trailing_blanks() {
    assert_eq!(split("--- \t\nid: x\n---  \nbody"), ("id: x\n", "body", "\n"));
}

#[test]
fn closing_fence_may_end_the_file() {
    assert_eq!(split("---\nid: x\n---"), ("id: x\n", "", "\n"));
    assert_eq!(split("---\r\n---"), ("", "", "\r\n"));
}

#[test]
fn body_may_contain_fences() {
    assert_eq!(split("---\nid: x\n---\na\n---\nb\n"), ("id: x\n", "a\n---\nb\n", "\n"));
}

#[test]
fn fence_is_only_an_unindented_line_of_three_dashes() {
    let yaml = "a: |\n  ---\nb: 1 ---\n---- # c\n";
    assert_eq!(split(&format!("---\n{yaml}---\nbody")), (yaml, "body", "\n"));
}

#[test]
fn text_without_fences_is_refused() {
    assert_eq!(FrontMatterParts::split(""), Err(SplitError::NoOpening));
    assert_eq!(FrontMatterParts::split("# Title\n"), Err(SplitError::NoOpening));
    assert_eq!(FrontMatterParts::split("\n---\nid: x\n---\n"), Err(SplitError::NoOpening));
    assert_eq!(FrontMatterParts::split(" ---\nid: x\n---\n"), Err(SplitError::NoOpening));
    assert_eq!(FrontMatterParts::split("---"), Err(SplitError::NoClosing));
    assert_eq!(FrontMatterParts::split("---\nid: x\n --- \n----\n"), Err(SplitError::NoClosing));
}

#[test]
fn join_keeps_fences_on_their_own_lines() {
    let parts =
        FrontMatterParts::split("\u{feff}---\r\nid: x\r\n---").expect("the text has front matter");
    assert_eq!(parts.join("id: y", "body"), "\u{feff}---\r\nid: y\r\n---\r\nbody");
    assert_eq!(parts.join("", ""), "\u{feff}---\r\n---");
}
