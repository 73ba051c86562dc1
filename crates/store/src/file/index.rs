//! The index: what was read from the task files, so that opening a folder costs a look at each
//! file and not a parse. It can be removed at any time, and is never trusted over the files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use adjutant_core::{EventId, Task, TaskId, World};
use serde::{Deserialize, Serialize};

use super::journal::Position;
use super::known::{Known, Sig};
use crate::batch::{EffectId, Owed, Version};
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
pub(super) struct Indexed {
    pub(super) tasks: BTreeMap<TaskId, Task>,
    pub(super) known: HashMap<TaskId, Known>,
    pub(super) owed: BTreeMap<EffectId, Owed>,
    pub(super) version: Version,
    pub(super) position: Position,
    pub(super) last_event: EventId,
    /// The highest id that was ever given out on the latest day.
    pub(super) highest: Option<TaskId>,
    lines: usize,
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
    highest: Option<String>,
    owed: Vec<OwedWire>,
}

#[derive(Default)]
struct Pending {
    changed: Vec<(Task, Known)>,
    gone: Vec<TaskId>,
}

const HEAD: &str = "adjutant index 1\n";

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
        let indexed = File::open(&path).ok().and_then(|file| read(BufReader::new(file)));
        let lines = indexed.as_ref().map_or(0, |indexed| indexed.lines);
        (Self { path, lines }, indexed)
    }

    /// Says whether there is no index that could be used.
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
        self.lines += changed.len() + 1;
        let io = |attempt| StoreError::io(attempt, &self.path);
        let mut file = OpenOptions::new().append(true).open(&self.path).map_err(io("open"))?;
        file.write_all(text.as_bytes()).map_err(io("write"))
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
        let mut out = std::io::BufWriter::with_capacity(1 << 20, file);
        let mut text = HEAD.to_owned();
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

fn stand(current: &Current<'_>) -> Stand {
    Stand {
        version: current.version.0,
        number: current.position.number,
        offset: current.position.offset,
        event: current.world.last_event().0,
        highest: current.world.highest_id().map(|id| id.to_string()),
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
    text.push_str(&format!("{sum:08x}{kind}{json}\n"));
}

/// Reads up to the last line that ends a stretch; what comes after was never finished.
fn read(mut file: impl BufRead) -> Option<Indexed> {
    let mut line = String::new();
    file.read_line(&mut line).ok().filter(|_| line == HEAD)?;
    let mut indexed: Option<Indexed> = None;
    let mut pending = Pending::default();
    let mut lines = 1;
    loop {
        line.clear();
        match file.read_line(&mut line) {
            Ok(length) if length > 0 => {}
            _ => return indexed,
        }
        lines += 1;
        let Some((kind, json)) = checked(&line) else { return indexed };
        match kind {
            't' => pending.changed.push(entry(json)?),
            'x' => pending.gone.push(TaskId::parse(serde_json::from_str(json).ok()?).ok()?),
            'v' => indexed = Some(settle(indexed, std::mem::take(&mut pending), json, lines)?),
            _ => return indexed,
        }
    }
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

fn settle(before: Option<Indexed>, pending: Pending, json: &str, lines: usize) -> Option<Indexed> {
    let stand: Stand = serde_json::from_str(json).ok()?;
    let owed: Option<Vec<Owed>> = stand.owed.into_iter().map(|wire| wire.try_into().ok()).collect();
    let (mut tasks, mut known) = before.map_or_else(Default::default, |b| (b.tasks, b.known));
    for (task, file) in pending.changed {
        known.insert(task.id.clone(), file);
        tasks.insert(task.id.clone(), task);
    }
    for id in pending.gone {
        known.remove(&id);
        tasks.remove(&id);
    }
    Some(Indexed {
        tasks,
        known,
        owed: owed?.into_iter().map(|owed| (owed.id, owed)).collect(),
        version: Version(stand.version),
        position: Position { number: stand.number, offset: stand.offset },
        last_event: EventId(stand.event),
        highest: stand.highest.and_then(|text| TaskId::parse(&text).ok()),
        lines,
    })
}
