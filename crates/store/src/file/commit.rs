//! A commit: room first, then the journal, then the files.

use std::borrow::Cow;

use adjutant_core::{Recorded, Status, Task, TaskId, Time};

use super::disk::{Look, Staged};
use super::journal::{Entry, OpWire};
use super::known::{Known, Sig};
use super::open::{events, load, note_files, note_owed};
use super::recover::redo;
use super::{FileStore, Trust, Turn};
use crate::batch::{Batch, EffectId, Version};
use crate::document::{EVENTS, companion, run_folder, task_file};
use crate::hash::Hash;
use crate::plan::{Documents, Op, TaskOp, plan};
use crate::store::{Caught, StoreError};
use crate::wire::OwedWire;

impl FileStore {
    pub(super) fn begin_turn(&mut self) -> Result<Caught, StoreError> {
        if self.trust == Trust::Stopped {
            return Err(StoreError::Stopped);
        }
        self.lock.lock().map_err(StoreError::io("lock", self.disk.root()))?;
        self.turn = Turn::Ours;
        let caught = self.catch_up();
        if caught.is_err() {
            self.trust = Trust::Reload;
            self.end_turn();
        }
        caught
    }

    pub(super) fn end_turn(&mut self) {
        if self.turn == Turn::Ours {
            self.turn = Turn::Others;
            // Closing the file gives the turn back as well, should this fail.
            let _ = self.lock.unlock();
        }
    }

    fn catch_up(&mut self) -> Result<Caught, StoreError> {
        if self.trust == Trust::Reload {
            return self.reload();
        }
        let Some(entries) = self.journal.catch_up()? else { return self.reload() };
        if entries.is_empty() {
            return Ok(Caught::Events(vec![]));
        }
        self.journal.cut_torn_tail()?;
        self.finish(&entries)?;
        let mut caught: Vec<Recorded> = Vec::new();
        for entry in &entries {
            self.version = Version(entry.version);
            self.log.follow(entry);
            note_owed(&mut self.owed, entry)?;
            note_files(&mut self.known, &mut self.unindexed, entry);
            caught.extend(events(entry)?);
        }
        Ok(Caught::Events(caught))
    }

    /// Writes the files of a commit whose process died before it could.
    fn finish(&mut self, entries: &[Entry<'_>]) -> Result<(), StoreError> {
        let projected = self.marker.read()?.projected;
        let last = entries.last().map_or(self.version, |entry| Version(entry.version));
        if projected >= last {
            return Ok(());
        }
        self.disk.clean()?;
        let behind = entries.iter().position(|entry| entry.version > projected.0).unwrap_or(0);
        redo(&mut self.disk, &mut self.log, &entries[behind..])?;
        self.marker.write(last)
    }

    fn reload(&mut self) -> Result<Caught, StoreError> {
        let (state, loaded) = load(&mut self.disk, &self.marker, false)?;
        self.journal = state.journal;
        self.log = state.log;
        self.index = state.index;
        self.known = state.known;
        self.owed = state.owed;
        self.version = state.version;
        self.unindexed = state.unindexed;
        self.trust = Trust::Good;
        Ok(Caught::Reload(Box::new(loaded)))
    }

    pub(super) fn commit_batch(&mut self, batch: &Batch) -> Result<Version, StoreError> {
        if self.trust != Trust::Good || self.turn != Turn::Ours {
            return Err(StoreError::Stopped);
        }
        if batch.expect != self.version {
            return Err(StoreError::Conflict { expected: batch.expect, now: self.version });
        }
        let committed = self.write(batch);
        match &committed {
            Ok(_) => {}
            Err(StoreError::Stopped) => self.trust = Trust::Stopped,
            Err(_) => self.trust = Trust::Reload,
        }
        committed
    }

    fn write(&mut self, batch: &Batch) -> Result<Version, StoreError> {
        let ops = plan(batch, self)?;
        let staged = self.stage(&ops)?;
        let version = self.version.next();
        let lines = self.log.chain().extend(&batch.events);
        let now = batch.events.last().map_or(Time::from_millis(0), |recorded| recorded.at);
        let entry = Entry {
            version: version.0,
            day: self.log.day(now).into(),
            lines: lines.iter().map(|line| Cow::from(line.as_str())).collect(),
            ops: ops.iter().map(wire).collect(),
            owed: batch.owed.iter().map(OwedWire::from).collect(),
            settled: batch.settled.iter().map(|id| (id.event.0, id.place)).collect(),
        };
        if let Err(error) = self.journal.append(&entry) {
            self.discard(&staged);
            return Err(error);
        }
        // From here on it is committed. What fails now is finished by whoever comes next.
        self.version = version;
        let projected = self.project(&ops, &staged, &entry);
        self.note(batch, &ops);
        match projected {
            Ok(()) => self.marker.write(version)?,
            Err(_) => self.trust = Trust::Reload,
        }
        Ok(version)
    }

    /// Writes every text under a temporary name, so that the room is there before the journal
    /// says that it is committed.
    fn stage(&mut self, ops: &[Op]) -> Result<Vec<Option<Staged>>, StoreError> {
        let mut staged = Vec::with_capacity(ops.len());
        for op in ops {
            let text = match op {
                Op::Task(op) => &op.text,
                Op::Put { text, .. } => text,
                Op::Move { .. } => {
                    staged.push(None);
                    continue;
                }
            };
            match self.disk.stage(text) {
                Ok(one) => staged.push(Some(one)),
                Err(error) => {
                    self.discard(&staged);
                    return Err(error);
                }
            }
        }
        Ok(staged)
    }

    /// What cannot be removed now is removed by whoever opens the folder next.
    fn discard(&self, staged: &[Option<Staged>]) {
        for one in staged.iter().flatten() {
            let _ = self.disk.discard(one);
        }
    }

    fn project(
        &mut self,
        ops: &[Op],
        staged: &[Option<Staged>],
        entry: &Entry<'_>,
    ) -> Result<(), StoreError> {
        for (op, staged) in ops.iter().zip(staged) {
            match (op, staged) {
                (Op::Task(op), Some(staged)) => self.install(op, staged)?,
                (Op::Put { path, .. }, Some(staged)) => self.disk.put(staged, path)?,
                (Op::Move { from, to }, _) => {
                    self.disk.shift(from, to)?;
                }
                (Op::Task(_) | Op::Put { .. }, None) => {}
            }
        }
        self.log.append(entry)?;
        self.disk.note(format!("{EVENTS}/{}.jsonl", entry.day));
        Ok(())
    }

    /// Puts a task's file in its place, and sees to it that no edit of a person is lost.
    fn install(&mut self, op: &TaskOp, staged: &Staged) -> Result<(), StoreError> {
        let to = task_file(op.to, &op.id);
        let sig = match op.from {
            None => self.install_new(staged, &to)?,
            Some(from) => {
                let sig = self.replace(op, staged, &task_file(from, &op.id))?;
                if from != op.to {
                    self.disk.shift(&task_file(from, &op.id), &to)?;
                    self.disk.shift(&companion(from, &op.id), &companion(op.to, &op.id))?;
                }
                sig
            }
        };
        let hash = sig.map(|_| Hash::of(op.text.as_bytes()));
        self.known.insert(op.id.clone(), Known { status: op.to, sig, hash });
        Ok(())
    }

    /// Somebody may have made a file of the same name this very moment: theirs stays.
    fn install_new(&mut self, staged: &Staged, to: &str) -> Result<Option<Sig>, StoreError> {
        if self.disk.put_new(staged, to)? {
            return Ok(staged.sig);
        }
        self.disk.discard(staged)?;
        Ok(None)
    }

    /// Exchanges the new text with the old, and looks at what came out. If that is not what was
    /// read before, a person saved the file in between: our change is made again, on their text.
    fn replace(
        &mut self,
        op: &TaskOp,
        staged: &Staged,
        path: &str,
    ) -> Result<Option<Sig>, StoreError> {
        let read = self.known.get(&op.id).and_then(|known| known.sig);
        match self.disk.exchange(staged, path)? {
            None => {
                self.disk.put(staged, path)?;
                return Ok(staged.sig);
            }
            Some(Look::File(sig)) if Some(sig) == read => {
                self.disk.discard(staged)?;
                return Ok(staged.sig);
            }
            Some(_) => {}
        }
        let theirs = self.disk.read_staged(staged)?;
        self.disk.discard(staged)?;
        if op.was.as_deref().map(str::as_bytes) == Some(&theirs) {
            return Ok(staged.sig);
        }
        self.merge(op, theirs, path)?;
        Ok(None)
    }

    fn merge(&mut self, op: &TaskOp, theirs: Vec<u8>, path: &str) -> Result<(), StoreError> {
        let text = match String::from_utf8(theirs) {
            Ok(text) => op.patch.apply(&text).unwrap_or(text),
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let merged = self.disk.stage(&text)?;
        self.disk.put(&merged, path)
    }

    /// Takes note of what a commit changed.
    fn note(&mut self, batch: &Batch, ops: &[Op]) {
        for task in &batch.after {
            self.unindexed.insert(task.id.clone());
        }
        for recorded in &batch.events {
            self.unindexed.extend(recorded.happened.task.clone());
        }
        for op in ops {
            if let Op::Task(op) = op {
                self.unindexed.insert(op.id.clone());
            }
        }
        self.owed.extend(batch.owed.iter().map(|owed| (owed.id, owed.clone())));
        for id in &batch.settled {
            self.owed.remove(&EffectId { event: id.event, place: id.place });
        }
    }
}

fn wire(op: &Op) -> OpWire<'_> {
    match op {
        Op::Task(op) => OpWire::Task {
            id: op.id.as_str().into(),
            from: op.from.map(|from| from.as_str().into()),
            to: op.to.as_str().into(),
            was: op.was.as_ref().map(|was| Hash::of(was.as_bytes()).to_string()),
            text: op.text.as_str().into(),
        },
        Op::Put { path, text } => OpWire::Put { path: path.into(), text: text.into() },
        Op::Move { from, to } => OpWire::Move { from: from.into(), to: to.into() },
    }
}

impl Documents for FileStore {
    fn task(&mut self, id: &TaskId) -> Result<Option<(Status, String)>, StoreError> {
        let Some(known) = self.known.get(id).copied() else { return Ok(None) };
        let Some((bytes, sig)) = self.disk.read(&task_file(known.status, id))? else {
            return Ok(None);
        };
        if known.hash != Some(Hash::of(&bytes)) {
            // Saved by somebody between the last look and now: taken in at the next.
            self.known.insert(id.clone(), Known { hash: None, sig: None, ..known });
        } else if known.sig != sig {
            self.known.insert(id.clone(), Known { sig, ..known });
        }
        Ok(Some((known.status, String::from_utf8_lossy(&bytes).into_owned())))
    }

    fn next_attempt(&mut self, task: &Task) -> Result<u32, StoreError> {
        let names = self.disk.names(&format!("{}/attempts", run_folder(&task.id)))?;
        let last = names.iter().filter_map(|name| name.parse::<u32>().ok()).max();
        Ok(last.unwrap_or(0).max(task.attempt().unwrap_or(1).saturating_sub(1)) + 1)
    }
}
