//! What can be wrong with the record: gaps, lines that are no events, lines that were changed.

use serde::Deserialize;

use super::{Code, Finding};
use crate::document::EVENTS;
use crate::file::folder::Folder;
use crate::file::log::{EventFiles, LogLine};
use crate::hash::Hash;
use crate::store::StoreError;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    event_id: u64,
    prev: Option<String>,
}

/// The line before the one being looked at.
#[derive(Default)]
struct Before {
    id: Option<u64>,
    hash: Option<Hash>,
}

/// Goes through the whole record, each line against the one before.
pub(super) fn examine(folder: &Folder) -> Result<Vec<Finding>, StoreError> {
    let mut files = EventFiles::open(folder.root());
    let mut findings = Vec::new();
    let mut before = Before::default();
    let mut file = String::new();
    while let Some(line) = files.next_line()? {
        file.clone_from(&line.file);
        findings.extend(check(&line, &before));
        let id = parse(&line).map(|line| line.event_id);
        before = Before { id: id.or(before.id), hash: Some(Hash::of(&line.bytes)) };
    }
    if !files.unfinished().is_empty() {
        let text = "the last line was never finished";
        let path = format!("{EVENTS}/{}", files.file());
        findings.push(Finding::new(Code::TornEventTail, path, text));
    }
    Ok(findings)
}

fn parse(line: &LogLine) -> Option<Line> {
    serde_json::from_slice(&line.bytes).ok()
}

fn check(line: &LogLine, before: &Before) -> Option<Finding> {
    let path = format!("{EVENTS}/{}:{}", line.file, line.number);
    let Some(event) = parse(line) else {
        return Some(Finding::new(Code::EventUnreadable, path, "is not an event"));
    };
    // Lines that others wrote are not chained, and count as they like.
    let prev = event.prev.as_deref()?;
    let expected = before.id.map_or(1, |id| id + 1);
    if event.event_id != expected {
        let text = format!("event {} where {expected} should be", event.event_id);
        return Some(Finding::new(Code::EventGap, path, text));
    }
    if Hash::parse(prev) != before.hash {
        let text = "the line before is not the one this was written after";
        return Some(Finding::new(Code::EventChainBroken, path, text));
    }
    None
}
