//! The messages that agents sent, and where they are kept: in the event log if they count, in
//! salvage if they were too late.
//!
//! Every message of a test has a unique text, by which it is identified.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::fleet::node::Node;

/// Returns the texts of all messages in the outboxes of a node.
pub(crate) fn said(node: &Node) -> Vec<String> {
    let boxes = attempts(node).into_iter().map(|attempt| attempt.join("outbox.jsonl"));
    let lines = boxes.flat_map(|file| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<Vec<String>>()
    });
    lines.filter_map(|line| words_of_line(&line)).collect()
}

/// Returns how often the event log and the salvage of a node have each message text.
pub(crate) fn kept(node: &Node) -> BTreeMap<String, usize> {
    let mut kept = BTreeMap::new();
    let counted = node.events().into_iter().filter_map(|event| words_of_event(&event));
    let tasks = inside(&node.data().join("runs"));
    let late = tasks.iter().filter_map(|task| task.file_name()?.to_str()).flat_map(|task| {
        let texts = node.salvage(task).into_iter();
        texts.filter_map(|text| words(&serde_json::from_str::<Value>(&text).ok()?["payload"]))
    });
    for words in counted.chain(late) {
        *kept.entry(words).or_default() += 1;
    }
    kept
}

fn words_of_line(line: &str) -> Option<String> {
    let numbered: Value = serde_json::from_str(line).ok()?;
    let message = numbered["line"].as_str()?.strip_prefix("AOF/1 ")?;
    words(&serde_json::from_str::<Value>(message).ok()?["payload"])
}

fn words_of_event(event: &Value) -> Option<String> {
    let is_message = event["type"] == "task.logged" || event["type"] == "task.completed";
    if is_message { words(&event["payload"]) } else { None }
}

fn words(payload: &Value) -> Option<String> {
    payload["progress"].as_str().or(payload["notes"].as_str()).map(str::to_owned)
}

fn attempts(node: &Node) -> Vec<PathBuf> {
    let tasks = inside(&node.data().join("runs"));
    tasks.iter().flat_map(|task| inside(&task.join("attempts"))).collect()
}

fn inside(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
