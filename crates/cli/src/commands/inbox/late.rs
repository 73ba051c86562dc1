//! What a report said that did not count when it came.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use adjutant_core::TaskId;
use serde_json::Value;

use crate::table::fit;

/// More than a message has, however it is laid out.
const BYTES_MAX: u64 = 4 << 20;

/// As much as a person reads before deciding; the rest is in the file.
const WIDTH_MAX: usize = 300;

/// Returns the outcome of a report and the reason for it, in one line; none if it is no report of
/// the kind that has one, or cannot be read.
pub(super) fn said(root: &Path, task: &TaskId, name: &str) -> Option<String> {
    let path = root.join("runs").join(task.as_str()).join("salvage").join(name);
    let mut text = Vec::new();
    File::open(path).ok()?.take(BYTES_MAX).read_to_end(&mut text).ok()?;
    let message: Value = serde_json::from_slice(&text).ok()?;
    let payload = &message["payload"];
    let outcome = payload["outcome"].as_str()?;
    let blockers = payload["blockers"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let blockers: Vec<&str> = blockers.collect();
    let notes = payload["notes"].as_str().unwrap_or_default();
    let reason = if blockers.is_empty() { notes.to_owned() } else { blockers.join("; ") };
    let words: Vec<&str> = reason.split_whitespace().collect();
    let because = if words.is_empty() { String::new() } else { format!(", {}", words.join(" ")) };
    Some(fit(&format!("{outcome}{because}"), WIDTH_MAX))
}
