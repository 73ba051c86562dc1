//! What can be wrong with the record: gaps, lines that are no events, lines that were changed.

use std::fs::File;
use std::os::unix::fs::FileExt;

use adjutant_core::Time;
use serde::Deserialize;

use super::{Code, Finding};
use crate::document::EVENTS;
use crate::file::disk::Disk;
use crate::file::event_files::{EventFiles, LogLine};
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
pub(super) fn examine(disk: &Disk) -> Result<Vec<Finding>, StoreError> {
    let mut files = EventFiles::open(disk.root());
    let mut findings = Vec::new();
    let mut before = Before::default();
    while let Some(line) = files.next_line()? {
        findings.extend(check(&line, &before));
        let id = parse(&line).map(|line| line.event_id);
        before = Before { id: id.or(before.id), hash: Some(Hash::of(&line.bytes)) };
    }
    for name in disk.names(EVENTS)?.into_iter().filter(|name| is_day(name)) {
        findings.extend(check_end(disk, format!("{EVENTS}/{name}"))?);
    }
    Ok(findings)
}

fn is_day(name: &str) -> bool {
    let day = name.strip_suffix(".jsonl");
    day.is_some_and(|day| Time::parse(&format!("{day}T00:00:00Z")).is_ok())
}

/// Any day's file can end in the middle of a line, not only the last one.
fn check_end(disk: &Disk, path: String) -> Result<Option<Finding>, StoreError> {
    let full = disk.root().join(&path);
    let io = |attempt| StoreError::io(attempt, &full);
    let file = File::open(&full).map_err(io("open"))?;
    let length = file.metadata().map_err(io("read"))?.len();
    let mut last = *b"\n";
    if length > 0 {
        file.read_exact_at(&mut last, length - 1).map_err(io("read"))?;
    }
    let torn = || Finding::new(Code::TornEventTail, path, "the last line was never finished");
    Ok((last != *b"\n").then(torn))
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
    let expected = before.id.map_or(1, |id| id.saturating_add(1));
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
