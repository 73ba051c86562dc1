//! Summarises a late report for the inbox.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use adjutant_model::TaskId;
use serde_json::Value;

use crate::text::fit;

/// No message is larger, however it is formatted.
const BYTES_MAX: u64 = 4 << 20;

/// The most text that a person reads before deciding; the file has the rest.
const WIDTH_MAX: usize = 300;

/// Returns the outcome and reason of a report in one line; `None` if it has no outcome
/// or cannot be read.
pub(super) fn summarize_report(root: &Path, task: &TaskId, name: &str) -> Option<String> {
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
