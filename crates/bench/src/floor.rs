//! The floor of a commit: the same bytes to the same files with the same syncs, and no thought.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::Value;

/// What an engine wrote: its journal tells.
pub(crate) struct Trace {
    commits: Vec<Commit>,
}

struct Commit {
    line: Vec<u8>,
    events: Vec<u8>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

/// Where a journal stood before.
pub(crate) struct Before {
    file: PathBuf,
    length: usize,
}

impl Trace {
    /// Takes note of where the journal stands.
    pub(crate) fn start(root: &Path) -> Before {
        let mut files: Vec<PathBuf> = std::fs::read_dir(root.join("journal"))
            .expect("a journal")
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "wal"))
            .collect();
        files.sort();
        let file = files.pop().expect("a file of the journal");
        let length = std::fs::read(&file).expect("the journal").len();
        Before { file, length }
    }
}

impl Before {
    /// Reads what was added since. If the journal was dropped meanwhile, what is left of it.
    pub(crate) fn end(self) -> Trace {
        let bytes = std::fs::read(&self.file).unwrap_or_default();
        let added = bytes.get(self.length..).unwrap_or_default();
        Trace { commits: added.split_inclusive(|byte| *byte == b'\n').map(commit).collect() }
    }
}

fn commit(line: &[u8]) -> Commit {
    let entry: Value = serde_json::from_slice(&line[9..]).expect("a commit");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let events = entry["lines"].as_array().expect("lines").iter().map(|line| text(line) + "\n");
    let files = entry["ops"].as_array().expect("changes").iter().map(|op| {
        let op = &op["task"];
        let path = format!("tasks/{}/{}.md", text(&op["to"]), text(&op["id"]));
        (PathBuf::from(path), text(&op["text"]).into_bytes())
    });
    Commit {
        line: line.to_vec(),
        events: events.collect::<String>().into_bytes(),
        files: files.collect(),
    }
}

/// Writes it all again, into another folder, and returns how long that took.
pub(crate) fn replay(trace: &Trace, root: &Path) -> Duration {
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
            renameat_with(CWD, &staged, CWD, root.join(path), RenameFlags::EXCHANGE).expect("there");
            std::fs::remove_file(staged).expect("there");
        }
        events.write_all(&commit.events).expect("room");
        marker.write_all_at(&[b'x'; 90], 0).expect("room");
    }
    start.elapsed()
}
