//! Turns bytes into the files of a data folder.
//!
//! A line `#NAME` starts the file of that name; lines before the first go to the journal. In the
//! journal and the index, a line that starts with `~` gets a valid checksum, because no fuzzer
//! guesses one. In the marker, `$BOOT` stands for the id of the current boot.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde_json::Value;

/// The content of each file, by its path in the data folder.
pub(super) type LayoutFiles = BTreeMap<&'static str, Vec<u8>>;

/// The files that the input can name.
const NAMES: [&str; 11] = [
    "journal/00000001.wal",
    "journal/00000002.wal",
    "journal/18446744073709551615.wal",
    "journal/index",
    "journal/state",
    "events/2026-02-09.jsonl",
    "events/2026-02-10.jsonl",
    "tasks/in-progress/TASK-2026-02-09-001.md",
    "tasks/ready/TASK-2026-02-09-001.md",
    "tasks/ready/TASK-2026-02-09-002.md",
    "runs/TASK-2026-02-09-001/run_result.json",
];

/// Returns the files, or `None` if the journal names a path that would do harm if followed.
pub(super) fn parse_files(bytes: &[u8], levels: usize) -> Option<LayoutFiles> {
    let mut files = LayoutFiles::new();
    let mut name = NAMES[0];
    let mut climbs = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if let Some(other) = parse_name(line) {
            name = other;
            files.entry(name).or_default();
        } else {
            climbs += count_climbs(line)?;
            files.entry(name).or_default().extend(render_line(name, line));
        }
    }
    (climbs <= levels).then_some(files)
}

fn parse_name(line: &[u8]) -> Option<&'static str> {
    let name = line.strip_prefix(b"#")?.trim_ascii_end();
    NAMES.into_iter().find(|known| known.as_bytes() == name)
}

fn render_line(name: &str, line: &[u8]) -> Vec<u8> {
    let summed = line.strip_prefix(b"~").map(|rest| rest.strip_suffix(b"\n").unwrap_or(rest));
    match (name, summed) {
        ("journal/index", Some([kind, json @ ..])) => {
            let sum = format!("{:08x}{}", crc32fast::hash(json), char::from(*kind));
            [sum.as_bytes(), json, b"\n"].concat()
        }
        ("journal/state", _) => {
            String::from_utf8_lossy(line).replace("$BOOT", boot_id().trim()).into_bytes()
        }
        (path, Some(json)) if path.starts_with("journal/") => {
            let sum = format!("{:08x} ", crc32fast::hash(json));
            [sum.as_bytes(), json, b"\n"].concat()
        }
        _ => line.to_vec(),
    }
}

fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Counts the `..` in the texts of a journal line; `None` if a text is an absolute path.
///
/// This target looks for paths that lead outside; it must not follow them to where they do harm.
fn count_climbs(line: &[u8]) -> Option<usize> {
    // The journal's reader also accepts a list where the journal writes an object.
    let Some(start) = line.iter().position(|byte| matches!(byte, b'{' | b'[')) else {
        return Some(0);
    };
    serde_json::from_slice(&line[start..]).map_or(Some(0), |value| count_climbs_in(&value))
}

fn count_climbs_in(value: &Value) -> Option<usize> {
    match value {
        Value::String(text) if text.starts_with('/') => None,
        Value::String(text) => {
            let climbs = Path::new(text).components().filter(|part| *part == Component::ParentDir);
            Some(climbs.count())
        }
        Value::Array(items) => items.iter().map(count_climbs_in).sum(),
        Value::Object(fields) => fields.values().map(count_climbs_in).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(0),
    }
}
