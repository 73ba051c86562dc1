//! The floor of a commit: the same bytes to the same files with the same syncs, without decisions.
//!
//! The floor makes a file for every text and removes the replaced one. The store reuses the
//! replaced file instead, so it beats the floor where making files is slow.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::Value;

/// The commits an engine wrote, read from its journal.
pub(crate) struct CommitTrace {
    commits: Vec<TracedCommit>,
}

struct TracedCommit {
    line: Vec<u8>,
    events: Vec<u8>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// A position in a journal. The file stays open, because the store may delete it in the meantime.
pub(crate) struct JournalMark {
    folder: PathBuf,
    number: u64,
    file: File,
    length: u64,
}

impl CommitTrace {
    pub(crate) fn mark_journal(root: &Path) -> JournalMark {
        let folder = root.join("journal");
        let number = last_journal_part(&folder);
        let file = File::open(journal_part(&folder, number)).expect("the journal");
        let length = file.metadata().expect("the journal").len();
        JournalMark { folder, number, file, length }
    }
}

fn last_journal_part(folder: &Path) -> u64 {
    let names = std::fs::read_dir(folder).expect("a journal").flatten();
    let number = |name: std::ffi::OsString| name.to_str()?.strip_suffix(".wal")?.parse().ok();
    names.filter_map(|entry| number(entry.file_name())).max().expect("a file of the journal")
}

fn journal_part(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:08}.wal"))
}

impl JournalMark {
    /// Reads the commits that were added since.
    pub(crate) fn read_trace(mut self) -> CommitTrace {
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(self.length)).expect("the journal");
        self.file.read_to_end(&mut bytes).expect("the journal");
        let next = |number: &u64| journal_part(&self.folder, *number).exists();
        for number in (self.number + 1..).take_while(next) {
            let whole = std::fs::read(journal_part(&self.folder, number)).expect("the journal");
            let head = whole.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            bytes.extend_from_slice(&whole[head..]);
        }
        CommitTrace {
            commits: bytes.split_inclusive(|byte| *byte == b'\n').map(parse_commit).collect(),
        }
    }
}

fn parse_commit(line: &[u8]) -> TracedCommit {
    let entry: Value = serde_json::from_slice(&line[9..]).expect("a commit");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let events = entry["lines"].as_array().expect("lines").iter().map(|line| text(line) + "\n");
    let files = entry["ops"].as_array().expect("changes").iter().map(|op| {
        let op = &op["task"];
        let path = format!("tasks/{}/{}.md", text(&op["to"]), text(&op["id"]));
        (PathBuf::from(path), text(&op["text"]).into_bytes())
    });
    TracedCommit {
        line: line.to_vec(),
        events: events.collect::<String>().into_bytes(),
        files: files.collect(),
    }
}

/// Writes the same commits into another folder and returns the duration.
pub(crate) fn replay_trace(trace: &CommitTrace, root: &Path) -> Duration {
    assert!(!trace.commits.is_empty(), "the journal tells nothing");
    std::fs::create_dir_all(root.join("journal/tmp")).expect("a folder");
    let append = |name: &str| {
        let options = OpenOptions::new().append(true).create(true).open(root.join(name));
        options.expect("a file to append to")
    };
    let (mut journal, mut events) = (append("journal/00000001.wal"), append("events/floor.jsonl"));
    let marker = File::create(root.join("journal/state")).expect("a marker");
    let start = Instant::now();
    for commit in &trace.commits {
        for (number, (_, text)) in commit.files.iter().enumerate() {
            std::fs::write(root.join(format!("journal/tmp/{number}")), text).expect("room");
        }
        journal.write_all(&commit.line).expect("room");
        journal.sync_data().expect("a sync");
        for (number, (path, _)) in commit.files.iter().enumerate() {
            let staged = root.join(format!("journal/tmp/{number}"));
            renameat_with(CWD, &staged, CWD, root.join(path), RenameFlags::EXCHANGE)
                .expect("there");
            std::fs::remove_file(staged).expect("there");
        }
        events.write_all(&commit.events).expect("room");
        marker.write_all_at(&[b'x'; 90], 0).expect("room");
    }
    start.elapsed()
}
