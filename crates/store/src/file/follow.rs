//! Follows commits that were made in another folder.
//!
//! A commit that others made goes into the journal here as if a process of this machine had
//! written it and died, and the files are brought to where it leaves them by what finishes the
//! work of the dead. So a folder that follows is kept by the same rules as any other: what a
//! person changes in it is not trampled, and is seen as an edit.
//!
//! A sealed commit says what the files become and not what they were: each folder knows what its
//! own are.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use adjutant_core::{EventId, Recorded, Status, TaskId};
use serde::Deserialize;

use super::disk::Look;
use super::journal::{Entry, OpWire};
use super::known::Known;
use super::log::events_file;
use super::look::places;
use super::marker::Loss;
use super::open::{events, note_files, note_owed, note_unsynced};
use super::recover::{inside_companion, redo_files};
use super::underway::removed;
use super::{FileStore, Keeper, Trust, Turn};
use crate::batch::{Batch, Version};
use crate::document::{EVENTS, JOURNAL, companion, task_file};
use crate::hash::Hash;
use crate::plan::Op;
use crate::record::Chain;
use crate::store::{Loaded, StoreError};

/// Decides whether a commit comes next, before it is written here. It is called with the way to
/// get the commit in its sealed form, and with what can be done while it is being decided, which it
/// does once at most; if it fails, nothing was changed.
pub type Order<'a> =
    &'a mut dyn FnMut(&dyn Fn() -> String, &mut dyn FnMut()) -> Result<(), StoreError>;

impl FileStore {
    /// Commits a batch that others order: it is written here only after `order` has agreed.
    pub fn commit_through(
        &mut self,
        batch: &Batch,
        order: Order<'_>,
    ) -> Result<Version, StoreError> {
        self.commit_batch(batch, order, Keeper::Others)
    }

    /// Takes in commits that were made in another folder, in turn, and returns what happened.
    /// `node` is what this one is called: what was carried from here is here already.
    pub fn follow(&mut self, commits: &[String], node: &str) -> Result<Vec<Recorded>, StoreError> {
        if self.trust != Trust::Good || self.turn != Turn::Ours {
            return Err(StoreError::Stopped);
        }
        let followed = self.follow_all(commits, node);
        match &followed {
            Ok(_) => {}
            Err(StoreError::Stopped) => self.trust = Trust::Stopped,
            Err(_) => self.distrust(),
        }
        followed
    }

    /// Has everything read again before the next commit: the one under way may or may not count.
    pub fn doubt(&mut self) {
        self.distrust();
    }

    /// Reads the folder anew, in turn.
    pub fn read_again(&mut self) -> Result<Loaded, StoreError> {
        if self.turn != Turn::Ours {
            return Err(StoreError::Stopped);
        }
        self.reload()
    }

    /// Returns where the record ends.
    pub fn chain(&self) -> Chain {
        self.log.chain()
    }

    /// Returns what was known of a task before a person changed its file, if no commit tells of that
    /// yet: it is theirs, and not one of the texts that may be written over.
    fn known_before(&self, id: &TaskId) -> Option<Known> {
        self.unsaid.get(id).copied().unwrap_or_else(|| self.known.get(id).copied())
    }

    fn follow_all(&mut self, commits: &[String], node: &str) -> Result<Vec<Recorded>, StoreError> {
        let mut stand = Stand { version: self.version, chain: self.chain() };
        let mut local = Local { node, ..Local::default() };
        let mut entries = Vec::with_capacity(commits.len());
        for commit in commits {
            let mut entry = unseal(commit)?;
            stand.go_on(&entry)?;
            local.translate(self, &mut entry)?;
            entries.push(entry);
        }
        for path in &local.gone {
            self.disk.set_aside(path)?;
        }
        self.journal.append_all(&entries)?;
        // From here on it is committed. What fails now is finished by whoever comes next.
        self.show(&entries)?;
        let mut told = Vec::new();
        for entry in &entries {
            self.version = Version(entry.version);
            note_owed(&mut self.owed, entry)?;
            let events = events(entry)?;
            note_files(&mut self.known, &mut self.unindexed, entry, &events);
            told.extend(events);
        }
        for id in local.tasks.keys() {
            self.unsaid.remove(id);
        }
        for id in local.moved {
            // That it lies elsewhere than the record says is told at the next look.
            if let Some(Some((status, _))) = local.tasks.get(&id) {
                self.known.entry(id).and_modify(|known| known.status = *status);
            }
        }
        Ok(told)
    }

    pub(super) fn show(&mut self, entries: &[Entry<'_>]) -> Result<(), StoreError> {
        let Some(last) = entries.last() else { return Ok(()) };
        note_unsynced(&mut self.disk, entries, Version(0));
        redo_files(&mut self.disk, entries, Loss::Nothing)?;
        for entry in entries {
            self.log.append(entry)?;
            self.disk.note(&events_file(&entry.day));
        }
        self.marker.write(Version(last.version))
    }
}

/// Writes a commit down for others.
pub(super) fn sealed(entry: &Entry<'_>, ops: &[Op], answers: &[(String, String)]) -> String {
    let sealed = Entry {
        version: entry.version,
        day: Cow::Borrowed(&*entry.day),
        lines: entry.lines.iter().map(|line| Cow::Borrowed(&**line)).collect(),
        ops: ops.iter().map(seal).collect(),
        owed: entry.owed.clone(),
        settled: entry.settled.clone(),
        answers: answers.iter().map(|(to, said)| (to.into(), said.into())).collect(),
    };
    serde_json::to_string(&sealed).expect("text and numbers always make JSON")
}

/// Others may have something to move where there is nothing here, so that every move is told.
fn seal(op: &Op) -> OpWire<'_> {
    match op {
        Op::Task(op) => OpWire::Task {
            id: op.id.as_str().into(),
            from: op.from.map(|from| from.as_str().into()),
            to: op.to.as_str().into(),
            was: None,
            text: op.text.as_str().into(),
        },
        Op::Put { path, text } => {
            OpWire::Put { path: path.into(), was: None, text: text.as_str().into(), origin: None }
        }
        Op::Move { from, to } => OpWire::Move { from: from.into(), to: to.into(), was: None },
    }
}

fn unseal(commit: &str) -> Result<Entry<'static>, StoreError> {
    let damaged = |what: String| StoreError::Damaged { path: JOURNAL.into(), what };
    let mut entry: Entry<'static> = serde_json::from_str(commit)
        .map_err(|error| damaged(format!("a commit of the fleet makes no sense ({error})")))?;
    // Whoever asked reads its answer on the way; nobody needs it again.
    entry.answers.clear();
    if entry.stays_inside() {
        return Ok(entry);
    }
    Err(damaged(format!("commit {} of the fleet names a file outside the folder", entry.version)))
}

/// Where the folder and its record end, as far as commits have been looked at.
struct Stand {
    version: Version,
    chain: Chain,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Linked {
    event_id: u64,
    prev: Option<String>,
}

impl Stand {
    /// Returns where a record stands that goes on with this line.
    fn before(line: &str, version: Version) -> Option<Self> {
        let linked: Linked = serde_json::from_str(line).ok()?;
        let prev = linked.prev.as_deref().and_then(Hash::parse);
        Some(Self {
            version,
            chain: Chain { last: EventId(linked.event_id.checked_sub(1)?), prev },
        })
    }

    /// Checks that a commit is the next, and that each of its lines was written after the one that
    /// is the last here: a record that differs is found, not guessed.
    fn go_on(&mut self, entry: &Entry<'_>) -> Result<(), StoreError> {
        if entry.version != self.version.next().0 {
            let what = format!("commit {} of the fleet came after {}", entry.version, self.version);
            return Err(StoreError::Damaged { path: JOURNAL.into(), what });
        }
        for line in &entry.lines {
            let linked: Option<Linked> = serde_json::from_str(line).ok();
            let follows = linked.is_some_and(|line| {
                let prev = line.prev.as_deref().and_then(Hash::parse);
                line.event_id == self.chain.last.next().0 && prev == self.chain.prev
            });
            if !follows {
                return Err(self.differs(entry.version));
            }
            self.chain.prev = Some(Hash::of(line.as_bytes()));
            self.chain.last = self.chain.last.next();
        }
        self.version = Version(entry.version);
        Ok(())
    }

    fn differs(&self, version: u64) -> StoreError {
        let what = format!(
            "the record here differs from the fleet's: commit {version} of the fleet does not go on \
             after event {}; keep a copy of this folder, then join anew with an empty one, or make \
             this one the fleet's with `adjutant fleet restore`",
            self.chain.last
        );
        StoreError::Damaged { path: EVENTS.into(), what }
    }
}

/// What commits mean for the files of this folder.
#[derive(Default)]
struct Local<'n> {
    /// What this node is called.
    node: &'n str,
    /// Where the commits so far leave each task; none if they took it away.
    tasks: BTreeMap<TaskId, Option<(Status, Hash)>>,
    /// What the commits so far wrote.
    written: BTreeSet<String>,
    /// Files that people took away elsewhere.
    gone: Vec<String>,
    /// Tasks whose file a person moved here, which is told at the next look.
    moved: BTreeSet<TaskId>,
}

impl Local<'_> {
    fn translate(&mut self, store: &FileStore, entry: &mut Entry<'_>) -> Result<(), StoreError> {
        for id in removed(entry) {
            self.take_away(store, id)?;
        }
        let mut ops = Vec::with_capacity(entry.ops.len());
        for op in std::mem::take(&mut entry.ops) {
            ops.extend(self.op(store, op)?);
        }
        entry.ops = ops;
        Ok(())
    }

    /// A file that is not as it was known is a person's, and stays: it is told at the next look.
    fn take_away(&mut self, store: &FileStore, id: TaskId) -> Result<(), StoreError> {
        if let Some(known) = store.known_before(&id) {
            let path = task_file(known.status, &id);
            let there = store.disk.read(&path)?.map(|(bytes, _)| Hash::of(&bytes));
            if there.is_some() && there == known.hash && !self.gone.contains(&path) {
                self.gone.push(path);
            }
        }
        self.tasks.insert(id, None);
        Ok(())
    }

    fn op<'a>(
        &mut self,
        store: &FileStore,
        op: OpWire<'a>,
    ) -> Result<Option<OpWire<'a>>, StoreError> {
        Ok(match op {
            OpWire::Task { id, from, to, text, .. } => Some(self.task(store, id, from, to, text)?),
            OpWire::Put { origin: Some(origin), .. } if origin == self.node => None,
            OpWire::Put { path, text, origin, .. } => {
                let was = store.hash_of(&place(store, &path));
                self.written.insert(path.clone().into_owned());
                Some(OpWire::Put { path, was, text, origin })
            }
            OpWire::Move { from, to, .. } => {
                let lies = place(store, &from);
                let nothing = matches!(store.disk.look(&lies)?, Look::Nothing);
                let was = store.hash_of(&lies);
                (!nothing || self.written.contains(&*from)).then_some(OpWire::Move {
                    from,
                    to,
                    was,
                })
            }
        })
    }

    fn task<'a>(
        &mut self,
        store: &FileStore,
        id: Cow<'a, str>,
        from: Option<Cow<'a, str>>,
        to: Cow<'a, str>,
        text: Cow<'a, str>,
    ) -> Result<OpWire<'a>, StoreError> {
        let (Ok(task), Some(status)) = (TaskId::parse(&id), Status::parse(&to)) else {
            return Ok(OpWire::Task { id, from, to, was: None, text });
        };
        let before = match self.tasks.get(&task) {
            Some(before) => before.map(|(status, hash)| (status, Some(hash))),
            None => store.known_before(&task).map(|known| (known.status, known.hash)),
        };
        let left = (status, Hash::of(text.as_bytes()));
        let elsewhere = moved_to(store, &task)?;
        self.tasks.insert(task.clone(), Some(left));
        let as_text = |status: Status| Cow::Owned(status.as_str().to_owned());
        let (from, was) = match before {
            Some((status, hash)) => (Some(as_text(status)), hash.map(|hash| hash.to_string())),
            // Not known here: a new task, or one that a person took away, which stays away.
            None => (from, None),
        };
        if let Some(place) = elsewhere {
            // The person has spoken: the file is changed where they put it.
            self.moved.insert(task);
            return Ok(OpWire::Task {
                id,
                from: Some(as_text(place)),
                to: as_text(place),
                was,
                text,
            });
        }
        Ok(OpWire::Task { id, from, to, was, text })
    }
}

/// Returns where a person has moved a task's file since it was last looked at.
fn moved_to(store: &FileStore, id: &TaskId) -> Result<Option<Status>, StoreError> {
    let Some(Known { status, .. }) = store.known_before(id) else { return Ok(None) };
    match store.disk.look(&task_file(status, id))? {
        Look::Nothing => Ok(places(&store.disk, id)?.first().map(|(place, _)| *place)),
        Look::File(_) | Look::Other => Ok(None),
    }
}

/// Returns where a file lies before these commits: a companion folder is with its task, wherever a
/// person has put that.
fn place(store: &FileStore, path: &str) -> String {
    let lies = |id: &TaskId| places(&store.disk, id).ok()?.first().map(|(status, _)| *status);
    let known = |id: &TaskId| store.known.get(id).map(|known| known.status);
    let inside = inside_companion(path)
        .and_then(|(id, rest)| Some((lies(&id).or_else(|| known(&id))?, id, rest)));
    match inside {
        Some((status, id, rest)) => format!("{}/{rest}", companion(status, &id)),
        None => path.to_owned(),
    }
}

/// Goes through sealed commits, one after the other, and says whether each follows the one before.
#[derive(Default)]
pub struct SealedChain {
    stand: Option<Stand>,
}

impl SealedChain {
    /// Takes the next commit. The first that has an event is believed as it is.
    pub fn take(&mut self, commit: &str) -> Result<(), StoreError> {
        let entry = unseal(commit)?;
        if self.stand.is_none() {
            let before = Version(entry.version.saturating_sub(1));
            self.stand = entry.lines.first().and_then(|line| Stand::before(line, before));
        }
        match &mut self.stand {
            Some(stand) => stand.go_on(&entry),
            None => Ok(()),
        }
    }
}

/// Returns the hash of the last line that a sealed commit adds to the record, if it adds any.
pub fn end_of_sealed(commit: &str) -> Option<Hash> {
    let entry: Entry<'_> = serde_json::from_str(commit).ok()?;
    entry.lines.last().map(|line| Hash::of(line.as_bytes()))
}
