//! Tests of front matter, one behaviour per test; `laws` holds the property tests.

mod editing;
mod fallback;
mod fast_reader;
mod laws;
mod nesting;
mod reading;
mod splitting;
mod writing;

use serde_json::Value;

use super::{FieldEdit, edit};

/// Returns an edit that sets a field.
fn set<'a>(path: &'a [&'a str], value: impl Into<Value>) -> FieldEdit<'a> {
    FieldEdit { path, value: Some(value.into()) }
}

/// Returns an edit that removes a field.
fn remove<'a>(path: &'a [&'a str]) -> FieldEdit<'a> {
    FieldEdit { path, value: None }
}

fn check(yaml: &str, edits: &[FieldEdit<'_>], expected: &str) {
    assert_eq!(edit(yaml, edits, "\n"), Ok(expected.to_owned()), "editing {yaml:?}");
}
