//! Checks the event log: gaps, lines that are not events, and lines that were altered.

use std::fs::File;
use std::os::unix::fs::FileExt;

use adjutant_model::{Event, RecordedEvent, Time};
use serde::Deserialize;

use super::{DoctorFinding, FindingCode};
use crate::document_paths::EVENTS;
use crate::event_log::decode;
use crate::file::disk::FolderDisk;
use crate::file::event_files::{EventFiles, LogLine};
use crate::hash::ShortHash;
use crate::store::StoreError;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChainedLine {
    event_id: u64,
    prev: Option<String>,
}

#[derive(Default)]
struct PreviousLine {
    id: Option<u64>,
    hash: Option<ShortHash>,
}

/// Checks every line of the event log against the line before it.
pub(super) fn examine(disk: &FolderDisk) -> Result<Vec<DoctorFinding>, StoreError> {
    let mut files = EventFiles::open(disk.root());
    let mut findings = Vec::new();
    let mut before = PreviousLine::default();
    while let Some(line) = files.next_line()? {
        findings.extend(check(&line, &before));
        let id = parse(&line).map(|line| line.event_id);
        before = PreviousLine { id: id.or(before.id), hash: Some(ShortHash::digest(&line.bytes)) };
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

/// Every day's file can end in an incomplete line, not only the last one.
fn check_end(disk: &FolderDisk, path: String) -> Result<Option<DoctorFinding>, StoreError> {
    let full = disk.root().join(&path);
    let io = |attempt| StoreError::io(attempt, &full);
    let file = File::open(&full).map_err(io("open"))?;
    let length = file.metadata().map_err(io("read"))?.len();
    let mut last = *b"\n";
    if length > 0 {
        file.read_exact_at(&mut last, length - 1).map_err(io("read"))?;
    }
    let torn =
        || DoctorFinding::new(FindingCode::TornEventTail, path, "the last line is incomplete");
    Ok((last != *b"\n").then(torn))
}

/// Returns true for an event with which the operator accepted that those before it are missing.
fn explains_gap(line: &[u8], before: &PreviousLine) -> bool {
    let event = std::str::from_utf8(line).ok().and_then(|line| decode(line).ok());
    let Some(RecordedEvent { id, new_event, .. }) = event else { return false };
    let Event::LogRestored { kept, missing } = new_event.event else { return false };
    kept.0 == before.id.unwrap_or_default() && missing.next() == id
}

fn parse(line: &LogLine) -> Option<ChainedLine> {
    serde_json::from_slice(&line.bytes).ok()
}

fn check(line: &LogLine, before: &PreviousLine) -> Option<DoctorFinding> {
    let path = format!("{EVENTS}/{}:{}", line.file, line.number);
    let Some(event) = parse(line) else {
        return Some(DoctorFinding::new(FindingCode::EventUnreadable, path, "is not an event"));
    };
    // Lines without `prev` come from another program: they are not chained, and any number is fine.
    let prev = event.prev.as_deref()?;
    let expected = before.id.map_or(1, |id| id.saturating_add(1));
    if event.event_id != expected && !explains_gap(&line.bytes, before) {
        let text = format!("event {} follows where {expected} is expected", event.event_id);
        return Some(DoctorFinding::new(FindingCode::EventGap, path, text));
    }
    if ShortHash::parse(prev) != before.hash {
        let text = "the hash of the previous line does not match";
        return Some(DoctorFinding::new(FindingCode::EventChainBroken, path, text));
    }
    None
}
