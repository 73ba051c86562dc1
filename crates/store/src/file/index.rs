//! The index: what was read from the task files, so that opening a folder costs a look at each
//! file and not a parse. It can be removed at any time, and is never trusted over the files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use adjutant_core::{EventId, Task, TaskId, World};
use serde::{Deserialize, Serialize};

use super::journal::Position;
use super::known::{Known, Sig};
use crate::batch::{EffectId, Owed, Version};
use crate::format::INDEX_FORMAT;
use crate::hash::Hash;
use crate::store::StoreError;
use crate::wire::{OwedWire, TaskWire};

/// The index, opened for writing.
pub(super) struct Index {
    path: PathBuf,
    /// How many lines it has.
    lines: usize,
}

/// What the index says.
#[derive(Default)]
pub(super) struct Indexed {
    pub(super) tasks: BTreeMap<TaskId, Arc<Task>>,
    pub(super) known: HashMap<TaskId, Known>,
    pub(super) owed: BTreeMap<EffectId, Owed>,
    pub(super) version: Version,
    pub(super) position: Position,
    pub(super) last_event: EventId,
    /// The highest ids that were ever given out on their days and have no task any more.
    pub(super) spent: Vec<TaskId>,
    /// How far it was read.
    end: End,
}

#[derive(Serialize, Deserialize)]
struct EntryWire {
    task: TaskWire,
    sig: Option<(u64, u64, i64)>,
    hash: Option<String>,
}

/// Ends a stretch of entries: without it they do not count.
#[derive(Serialize, Deserialize)]
struct Stand {
    version: u64,
    number: u64,
    offset: u64,
    event: u64,
    /// In older indexes, the highest id of the latest day alone.
    #[serde(default, skip_serializing)]
    highest: Option<String>,
    #[serde(default)]
    spent: Vec<String>,
    owed: Vec<OwedWire>,
}

/// How far the index was read.
#[derive(Debug, Clone, Copy, Default)]
struct End {
    lines: usize,
    bytes: u64,
}

/// What the first line says before the format.
const HEAD: &str = "adjutant index ";

fn head() -> String {
    format!("{HEAD}{INDEX_FORMAT}\n")
}

/// Returns the format of an index, by its first bytes; none if it is damaged.
pub(super) fn format_of(start: &[u8]) -> Option<u64> {
    let line = start.split(|byte| *byte == b'\n').next()?;
    std::str::from_utf8(line).ok()?.strip_prefix(HEAD)?.parse().ok()
}

/// What is written next to a task when the index is brought up to date.
pub(super) struct Current<'a> {
    pub(super) world: &'a World,
    pub(super) known: &'a HashMap<TaskId, Known>,
    pub(super) owed: &'a BTreeMap<EffectId, Owed>,
    pub(super) version: Version,
    pub(super) position: Position,
}

impl Index {
    /// Reads the index; none if there is none that can be used.
    pub(super) fn load(journal: &Path) -> (Self, Option<Indexed>) {
        let path = journal.join("index");
        let indexed = read(&path);
        let length = fs::metadata(&path).ok().map(|meta| meta.len());
        // Lines added behind one that was never finished would never be read.
        let whole = indexed.as_ref().filter(|indexed| Some(indexed.end.bytes) == length);
        let lines = whole.map_or(0, |indexed| indexed.end.lines);
        (Self { path, lines }, indexed)
    }

    /// Says whether there is no index that could be added to.
    pub(super) fn is_missing(&self) -> bool {
        self.lines == 0
    }

    /// Brings the index up to date: adds these tasks, or writes it anew if that is shorter.
    pub(super) fn update(
        &mut self,
        current: &Current<'_>,
        changed: &BTreeSet<TaskId>,
    ) -> Result<(), StoreError> {
        let total = current.world.tasks().len();
        if self.lines == 0 || self.lines + changed.len() > 2 * total + 1_000 {
            return self.rewrite(current);
        }
        let mut text = String::new();
        for id in changed {
            match (current.world.task(id), current.known.get(id)) {
                (Some(task), Some(known)) => push_entry(&mut text, task, known),
                _ => push(&mut text, 'x', &id.as_str()),
            }
        }
        push(&mut text, 'v', &stand(current));
        let Ok(mut file) = open_whole(&self.path) else { return self.rewrite(current) };
        file.write_all(text.as_bytes()).map_err(StoreError::io("write", &self.path))?;
        self.lines += changed.len() + 1;
        Ok(())
    }

    fn rewrite(&mut self, current: &Current<'_>) -> Result<(), StoreError> {
        let new = self.path.with_extension("new");
        let io = |attempt| StoreError::io(attempt, &self.path);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&new)
            .map_err(io("make"))?;
        let mut out = io::BufWriter::with_capacity(1 << 20, file);
        let mut text = head();
        let mut lines = 1;
        for task in current.world.tasks() {
            if let Some(known) = current.known.get(&task.id) {
                push_entry(&mut text, task, known);
                lines += 1;
            }
            out.write_all(text.as_bytes()).map_err(io("write"))?;
            text.clear();
        }
        push(&mut text, 'v', &stand(current));
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(io("write"))?;
        fs::rename(&new, &self.path).map_err(io("write"))?;
        self.lines = lines;
        Ok(())
    }
}

/// Opens a file of lines to add to it, unless it is gone or its last line was never finished:
/// another process may have died in the middle of it, and what is added to that is never read.
fn open_whole(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).append(true).open(path)?;
    let mut last = [0];
    file.read_exact_at(&mut last, file.metadata()?.len().saturating_sub(1))?;
    if last == *b"\n" { Ok(file) } else { Err(io::ErrorKind::InvalidData.into()) }
}

fn stand(current: &Current<'_>) -> Stand {
    Stand {
        version: current.version.0,
        number: current.position.number,
        offset: current.position.offset,
        event: current.world.last_event().0,
        highest: None,
        spent: current.world.spent_ids().map(|id| id.to_string()).collect(),
        owed: current.owed.values().map(OwedWire::from).collect(),
    }
}

fn push_entry(text: &mut String, task: &Task, known: &Known) {
    let entry = EntryWire {
        task: TaskWire::from(task),
        sig: known.sig.map(|sig| (sig.inode, sig.size, sig.mtime_ns)),
        hash: known.hash.map(|hash| hash.to_string()),
    };
    push(text, 't', &entry);
}

fn push(text: &mut String, kind: char, content: &impl Serialize) {
    let json = serde_json::to_string(content).expect("text and numbers always make JSON");
    let sum = crc32fast::hash(json.as_bytes());
    writeln!(text, "{sum:08x}{kind}{json}").expect("a string takes all that is written to it");
}

/// Reads the index. If its last stretch was never finished, it is read again up to there, because
/// what belongs to that stretch does not count.
fn read(path: &Path) -> Option<Indexed> {
    let mut indexed = Indexed::default();
    let finished = indexed.read(BufReader::new(File::open(path).ok()?))?;
    if finished.bytes == indexed.end.bytes {
        return Some(indexed);
    }
    let mut again = Indexed::default();
    again.read(BufReader::new(File::open(path).ok()?).take(finished.bytes))?;
    Some(again)
}

impl Indexed {
    /// Takes in line after line, up to the end or to one that makes no sense. Returns where the
    /// last finished stretch ends; none if there is no such.
    fn read(&mut self, mut file: impl BufRead) -> Option<End> {
        let mut line = String::new();
        file.read_line(&mut line).ok().filter(|_| line == head())?;
        self.end = End { lines: 1, bytes: line.len() as u64 };
        let mut finished = None;
        loop {
            line.clear();
            if file.read_line(&mut line).ok().is_none_or(|length| length == 0) {
                return finished;
            }
            let taken = checked(&line).and_then(|(kind, json)| self.take(kind, json));
            self.end.lines += 1;
            self.end.bytes += line.len() as u64;
            match taken {
                None => return finished,
                Some(Taken::Entry) => {}
                Some(Taken::Stand) => finished = Some(self.end),
            }
        }
    }

    fn take(&mut self, kind: char, json: &str) -> Option<Taken> {
        match kind {
            't' => {
                let (task, known) = entry(json)?;
                self.known.insert(task.id.clone(), known);
                self.tasks.insert(task.id.clone(), Arc::new(task));
                Some(Taken::Entry)
            }
            'x' => {
                let id = TaskId::parse(serde_json::from_str(json).ok()?).ok()?;
                self.known.remove(&id);
                self.tasks.remove(&id);
                Some(Taken::Entry)
            }
            'v' => self.stand(serde_json::from_str(json).ok()?).map(|()| Taken::Stand),
            _ => None,
        }
    }

    fn stand(&mut self, stand: Stand) -> Option<()> {
        let owed = stand.owed.into_iter().map(|wire| Owed::try_from(wire).ok());
        let owed: Option<Vec<Owed>> = owed.collect();
        self.owed = owed?.into_iter().map(|owed| (owed.id, owed)).collect();
        self.version = Version(stand.version);
        self.position = Position { number: stand.number, offset: stand.offset };
        self.last_event = EventId(stand.event);
        let spent = stand.spent.iter().chain(&stand.highest);
        self.spent = spent.filter_map(|text| TaskId::parse(text).ok()).collect();
        Some(())
    }
}

/// What a line of the index was.
enum Taken {
    Entry,
    /// The end of a stretch.
    Stand,
}

fn checked(line: &str) -> Option<(char, &str)> {
    let line = line.strip_suffix('\n')?;
    let (sum, kind, json) = (line.get(..8)?, line.get(8..9)?, line.get(9..)?);
    let sum = u32::from_str_radix(sum, 16).ok()?;
    (crc32fast::hash(json.as_bytes()) == sum).then_some((kind.chars().next()?, json))
}

fn entry(json: &str) -> Option<(Task, Known)> {
    let wire: EntryWire = serde_json::from_str(json).ok()?;
    let task = Task::try_from(wire.task).ok()?;
    let sig = wire.sig.map(|(inode, size, mtime_ns)| Sig { inode, size, mtime_ns });
    let hash = wire.hash.as_deref().and_then(Hash::parse);
    let known = Known { status: task.status(), sig, hash };
    Some((task, known))
}
