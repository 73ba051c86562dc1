//! What front matter does, one behaviour per test; `laws` holds the random ones.

mod editing;
mod fallback;
mod laws;
mod nesting;
mod quick;
mod reading;
mod splitting;
mod writing;

use serde_json::Value;

use super::{Edit, edit};

/// An edit that sets a field.
fn set<'a>(path: &'a [&'a str], value: impl Into<Value>) -> Edit<'a> {
    Edit { path, value: Some(value.into()) }
}

/// An edit that removes a field.
fn remove<'a>(path: &'a [&'a str]) -> Edit<'a> {
    Edit { path, value: None }
}

/// Applies the edits to `yaml` and compares the whole result.
fn check(yaml: &str, edits: &[Edit<'_>], expected: &str) {
    assert_eq!(edit(yaml, edits, "\n"), Ok(expected.to_owned()), "editing {yaml:?}");
}
