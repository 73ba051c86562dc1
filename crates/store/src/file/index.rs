//! The index: a cache of parsed task files, so that opening a folder checks each file's signature
//! instead of parsing it. It can be deleted at any time, and the files always win over it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_core::World;
use adjutant_model::{EventId, Task, TaskId};
use serde::{Deserialize, Serialize};

use super::fingerprint::{FileFingerprint, FileSignature};
use super::journal::JournalPosition;
use crate::batch::{EffectId, PendingEffect, StoreVersion};
use crate::format::INDEX_FORMAT;
use crate::hash::ShortHash;
use crate::store::StoreError;

pub(super) struct TaskIndex {
    path: PathBuf,
    /// 0 if the index is missing or cannot be appended to.
    lines: usize,
}

/// The content of the index.
#[derive(Default)]
pub(super) struct IndexContent {
    pub(super) tasks: BTreeMap<TaskId, Arc<Task>>,
    pub(super) fingerprints: HashMap<TaskId, FileFingerprint>,
    pub(super) pending_effects: BTreeMap<EffectId, PendingEffect>,
    pub(super) version: StoreVersion,
    pub(super) position: JournalPosition,
    pub(super) last_event: EventId,
    /// The highest ids of their days whose tasks are gone. They must not be used again.
    pub(super) used_ids: Vec<TaskId>,
    /// The last states of tasks whose files are gone.
    pub(super) retired: Vec<Task>,
    end: IndexEnd,
}

#[derive(Serialize, Deserialize)]
struct IndexEntry<'a> {
    task: Cow<'a, Task>,
    sig: Option<(u64, u64, i64)>,
    hash: Option<String>,
}

/// Ends a section of entries. Entries without it do not count.
#[derive(Serialize, Deserialize)]
struct IndexSection {
    version: u64,
    number: u64,
    offset: u64,
    event: u64,
    /// Only in older indexes: the highest id of the latest day.
    #[serde(default, skip_serializing)]
    highest: Option<String>,
    #[serde(default)]
    spent: Vec<String>,
    /// The last states of tasks whose files are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    retired: Vec<Task>,
    #[serde(rename = "owed")]
    pending_effects: Vec<PendingEffect>,
}

#[derive(Debug, Clone, Copy, Default)]
struct IndexEnd {
    lines: usize,
    bytes: u64,
}

/// The first line before the format number.
const HEAD: &str = "adjutant index ";

fn head() -> String {
    format!("{HEAD}{INDEX_FORMAT}\n")
}

/// Returns the format number in the first bytes of an index; `None` if it is damaged.
pub(super) fn format_of(start: &[u8]) -> Option<u64> {
    let line = start.split(|byte| *byte == b'\n').next()?;
    std::str::from_utf8(line).ok()?.strip_prefix(HEAD)?.parse().ok()
}

/// The state that an update of the index writes.
pub(super) struct IndexInput<'a> {
    pub(super) world: &'a World,
    pub(super) fingerprints: &'a HashMap<TaskId, FileFingerprint>,
    pub(super) pending_effects: &'a BTreeMap<EffectId, PendingEffect>,
    pub(super) version: StoreVersion,
    pub(super) position: JournalPosition,
}

impl TaskIndex {
    /// Reads the index; `None` if there is none that can be used.
    pub(super) fn load(journal: &Path) -> (Self, Option<IndexContent>) {
        let path = journal.join("index");
        let indexed = read(&path);
        let length = fs::metadata(&path).ok().map(|meta| meta.len());
        // Lines appended after an incomplete line would never be read.
        let whole = indexed.as_ref().filter(|indexed| Some(indexed.end.bytes) == length);
        let lines = whole.map_or(0, |indexed| indexed.end.lines);
        (Self { path, lines }, indexed)
    }

    /// Returns true if there is no index to append to.
    pub(super) fn is_missing(&self) -> bool {
        self.lines == 0
    }

    /// Appends the changed tasks, or rewrites the index if that is shorter.
    pub(super) fn update(
        &mut self,
        current: &IndexInput<'_>,
        changed: &BTreeSet<TaskId>,
    ) -> Result<(), StoreError> {
        let total = current.world.tasks().len();
        if self.lines == 0 || self.lines + changed.len() > 2 * total + 1_000 {
            return self.rewrite(current);
        }
        let mut text = String::new();
        for id in changed {
            match (current.world.task(id), current.fingerprints.get(id)) {
                (Some(task), Some(known)) => push_entry(&mut text, task, known),
                _ => push_line(&mut text, 'x', &id.as_str()),
            }
        }
        push_line(&mut text, 'v', &index_section(current));
        let Ok(mut file) = open_whole(&self.path) else { return self.rewrite(current) };
        file.write_all(text.as_bytes()).map_err(StoreError::io("write", &self.path))?;
        self.lines += changed.len() + 1;
        Ok(())
    }

    fn rewrite(&mut self, current: &IndexInput<'_>) -> Result<(), StoreError> {
        let new = self.path.with_extension("new");
        let io = |attempt| StoreError::io(attempt, &self.path);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)
            .map_err(io("create"))?;
        let mut out = io::BufWriter::with_capacity(1 << 20, file);
        let mut text = head();
        let mut lines = 1;
        for task in current.world.tasks() {
            if let Some(known) = current.fingerprints.get(&task.id) {
                push_entry(&mut text, task, known);
                lines += 1;
            }
            out.write_all(text.as_bytes()).map_err(io("write"))?;
            text.clear();
        }
        push_line(&mut text, 'v', &index_section(current));
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(io("write"))?;
        fs::rename(&new, &self.path).map_err(io("write"))?;
        self.lines = lines;
        Ok(())
    }
}

/// Opens the index for appending. Fails if it is missing or its last line is incomplete: another
/// process may have died while writing it, and lines appended to that are never read.
fn open_whole(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).append(true).open(path)?;
    let mut last = [0];
    file.read_exact_at(&mut last, file.metadata()?.len().saturating_sub(1))?;
    if last == *b"\n" { Ok(file) } else { Err(io::ErrorKind::InvalidData.into()) }
}

fn index_section(current: &IndexInput<'_>) -> IndexSection {
    IndexSection {
        version: current.version.0,
        number: current.position.number,
        offset: current.position.offset,
        event: current.world.last_event().0,
        highest: None,
        spent: current.world.retired_ids().map(|id| id.to_string()).collect(),
        retired: current.world.retired_tasks().cloned().collect(),
        pending_effects: current.pending_effects.values().cloned().collect(),
    }
}

fn push_entry(text: &mut String, task: &Task, known: &FileFingerprint) {
    let entry = IndexEntry {
        task: Cow::Borrowed(task),
        sig: known.sig.map(|sig| (sig.inode, sig.size, sig.mtime_ns)),
        hash: known.hash.map(|hash| hash.to_string()),
    };
    push_line(text, 't', &entry);
}

fn push_line(text: &mut String, kind: char, content: &impl Serialize) {
    let json = serde_json::to_string(content).expect("text and numbers always make JSON");
    let sum = crc32fast::hash(json.as_bytes());
    writeln!(text, "{sum:08x}{kind}{json}").expect("a string takes all that is written to it");
}

/// Reads the index. Entries of an unfinished section do not count, so in that case the file is read
/// a second time, up to the end of the last finished section.
fn read(path: &Path) -> Option<IndexContent> {
    let mut indexed = IndexContent::default();
    let finished = indexed.read(BufReader::new(File::open(path).ok()?))?;
    if finished.bytes == indexed.end.bytes {
        return Some(indexed);
    }
    let mut again = IndexContent::default();
    again.read(BufReader::new(File::open(path).ok()?).take(finished.bytes))?;
    Some(again)
}

impl IndexContent {
    /// Reads lines up to the end or to a malformed one. Returns the end of the last finished
    /// section; `None` if there is none.
    fn read(&mut self, mut file: impl BufRead) -> Option<IndexEnd> {
        let mut line = String::new();
        file.read_line(&mut line).ok().filter(|_| line == head())?;
        self.end = IndexEnd { lines: 1, bytes: line.len() as u64 };
        let mut finished = None;
        loop {
            line.clear();
            if file.read_line(&mut line).ok().is_none_or(|length| length == 0) {
                return finished;
            }
            let taken = verify_checksum(&line).and_then(|(kind, json)| self.apply_line(kind, json));
            self.end.lines += 1;
            self.end.bytes += line.len() as u64;
            match taken {
                None => return finished,
                Some(IndexLine::Entry) => {}
                Some(IndexLine::SectionEnd) => finished = Some(self.end),
            }
        }
    }

    fn apply_line(&mut self, kind: char, json: &str) -> Option<IndexLine> {
        match kind {
            't' => {
                let (task, known) = decode_entry(json)?;
                self.fingerprints.insert(task.id.clone(), known);
                self.tasks.insert(task.id.clone(), Arc::new(task));
                Some(IndexLine::Entry)
            }
            'x' => {
                let id = TaskId::parse(serde_json::from_str(json).ok()?).ok()?;
                self.fingerprints.remove(&id);
                self.tasks.remove(&id);
                Some(IndexLine::Entry)
            }
            'v' => {
                self.apply_section(serde_json::from_str(json).ok()?);
                Some(IndexLine::SectionEnd)
            }
            _ => None,
        }
    }

    fn apply_section(&mut self, section: IndexSection) {
        let effects = section.pending_effects.into_iter();
        self.pending_effects = effects.map(|effect| (effect.id, effect)).collect();
        self.version = StoreVersion(section.version);
        self.position = JournalPosition { number: section.number, offset: section.offset };
        self.last_event = EventId(section.event);
        self.retired = section.retired;
        let spent = section.spent.iter().chain(&section.highest);
        self.used_ids = spent.filter_map(|text| TaskId::parse(text).ok()).collect();
    }
}

enum IndexLine {
    Entry,
    /// The end of a section.
    SectionEnd,
}

fn verify_checksum(line: &str) -> Option<(char, &str)> {
    let line = line.strip_suffix('\n')?;
    let (sum, kind, json) = (line.get(..8)?, line.get(8..9)?, line.get(9..)?);
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (crc32fast::hash(json.as_bytes()) == sum).then_some((kind.chars().next()?, json))
}

fn decode_entry(json: &str) -> Option<(Task, FileFingerprint)> {
    let wire: IndexEntry<'_> = serde_json::from_str(json).ok()?;
    let task = wire.task.into_owned();
    let sig = wire.sig.map(|(inode, size, mtime_ns)| FileSignature { inode, size, mtime_ns });
    let hash = wire.hash.as_deref().and_then(ShortHash::parse);
    let known = FileFingerprint { status: task.status(), sig, hash };
    Some((task, known))
}
