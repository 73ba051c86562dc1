//! A commit: room first, then the journal, then the files.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::string::FromUtf8Error;

use adjutant_core::event::Manner;
use adjutant_core::mission::EpicId;
use adjutant_core::{Event, Recorded, Status, TaskId, Time};

use super::disk::{Look, Staged, Swapped};
use super::follow::{Order, sealed};
use super::journal::{Entry, OpWire};
use super::known::{Known, Sig};
use super::log::{EventLog, events_file};
use super::look::{self, Text, places};
use super::marker::Marker;
use super::open::{events, is_lock_of, load, note_files, note_owed, note_unsynced, take_lock};
use super::recover::{clean, redo};
use super::{FileStore, Told, Trust, Turn};
use crate::batch::{Batch, EffectId, Version};
use crate::document::{
    EVENTS, RUN_FILES, companion, epic_memory, run_folder, status_folder, task_file,
};
use crate::hash::Hash;
use crate::plan::{Documents, Op, TaskOp, plan};
use crate::side_by_side::side_by_side;
use crate::store::{Caught, Loaded, StoreError};
use crate::wire::OwedWire;

impl FileStore {
    pub(super) fn begin_turn(&mut self) -> Result<Caught, StoreError> {
        if self.trust == Trust::Stopped {
            return Err(StoreError::Stopped);
        }
        self.take_turn()?;
        let caught = self.catch_up();
        if caught.is_err() {
            self.distrust();
            self.end_turn();
        }
        caught
    }

    /// Waits for the turn to write. If somebody took the journal away, all of it or the file that
    /// is locked, everything about it is made and read anew.
    fn take_turn(&mut self) -> Result<(), StoreError> {
        self.lock.lock().map_err(StoreError::io("lock", self.disk.root()))?;
        self.turn = Turn::Ours;
        if !is_lock_of(&self.lock, self.disk.root()) {
            self.lock = take_lock(self.disk.root())?;
            self.marker = Marker::open(&self.disk.journal())?;
            self.distrust();
        }
        Ok(())
    }

    pub(super) fn end_turn(&mut self) {
        if self.turn == Turn::Ours {
            self.turn = Turn::Others;
            // Closing the file gives the turn back as well, should this fail.
            let _ = self.lock.unlock();
        }
    }

    /// Has everything read again before the next commit.
    pub(super) fn distrust(&mut self) {
        if self.trust == Trust::Good {
            self.trust = Trust::Reload;
        }
    }

    fn catch_up(&mut self) -> Result<Caught, StoreError> {
        if self.trust == Trust::Reload {
            return self.reload().map(told_anew);
        }
        let told = std::mem::replace(&mut self.told, Told::Nothing);
        let Some(entries) = self.journal.catch_up()? else { return self.reload().map(told_anew) };
        let Some(first) = entries.first() else { return Ok(Caught::Events(vec![])) };
        if first.version != self.version.next().0 || told == Told::AtOpening {
            return self.reload().map(told_anew);
        }
        self.finish(&entries)?;
        let mut caught: Vec<Recorded> = Vec::new();
        for entry in &entries {
            self.version = Version(entry.version);
            self.log.follow(entry);
            note_owed(&mut self.owed, entry)?;
            let events = events(entry)?;
            note_files(&mut self.known, &mut self.unindexed, entry, &events);
            caught.extend(events);
        }
        Ok(Caught::Events(caught))
    }

    /// Writes the files of commits whose process died before it could.
    fn finish(&mut self, entries: &[Entry<'_>]) -> Result<(), StoreError> {
        let progress = self.marker.read()?;
        note_unsynced(&mut self.disk, entries, progress.synced);
        let last = entries.last().map_or(self.version, |entry| Version(entry.version));
        if progress.projected >= last {
            return Ok(());
        }
        let behind = entries.iter().position(|entry| entry.version > progress.projected.0);
        let behind = &entries[behind.unwrap_or(0)..];
        // Who died may have died before the journal was synced.
        self.journal.sync()?;
        clean(&mut self.disk, behind)?;
        redo(&mut self.disk, behind, progress.loss)?;
        let before = self.log.chain().last;
        self.log = EventLog::open(self.disk.root())?;
        self.log.go_on_after(before);
        self.marker.write(last)
    }

    pub(super) fn reload(&mut self) -> Result<Loaded, StoreError> {
        let (state, loaded) = load(&mut self.disk, &self.marker)?;
        self.journal = state.journal;
        self.log = state.log;
        self.index = state.index;
        self.known = state.known;
        self.owed = state.owed;
        self.version = state.version;
        self.unindexed = state.unindexed;
        for id in std::mem::take(&mut self.doubted) {
            self.known.entry(id).and_modify(|known| known.sig = None);
        }
        self.trust = Trust::Good;
        Ok(loaded)
    }

    pub(super) fn commit_batch(
        &mut self,
        batch: &Batch,
        order: Order<'_>,
    ) -> Result<Version, StoreError> {
        if self.trust == Trust::Stopped || self.turn != Turn::Ours {
            return Err(StoreError::Stopped);
        }
        if self.trust == Trust::Reload || !self.follows_on(batch) {
            self.distrust();
            return Err(StoreError::Conflict { expected: batch.expect, now: self.version });
        }
        let committed = self.write(batch, order);
        match &committed {
            Ok(_) => {}
            Err(StoreError::Stopped) => self.trust = Trust::Stopped,
            Err(StoreError::Conflict { .. }) => {
                self.doubted.extend(batch.after.iter().map(|task| task.id.clone()));
                self.distrust();
            }
            Err(_) => self.distrust(),
        }
        committed
    }

    /// Says whether a batch was decided on what is here, and its events come right after the last.
    fn follows_on(&self, batch: &Batch) -> bool {
        let next = self.log.chain().last.next();
        batch.expect == self.version && batch.events.first().is_none_or(|first| first.id == next)
    }

    /// No number is given out twice. Only a record that somebody spoilt comes to the last one.
    fn expect_numbers_for(&self, batch: &Batch) -> Result<(), StoreError> {
        let last = self.log.chain().last.0;
        let left = u64::MAX - last;
        if (batch.events.len() as u64) <= left {
            return Ok(());
        }
        let what = format!("there is no number left after event {last}; run `adjutant doctor`");
        Err(StoreError::Damaged { path: EVENTS.into(), what })
    }

    fn write(&mut self, batch: &Batch, order: Order<'_>) -> Result<Version, StoreError> {
        self.expect_numbers_for(batch)?;
        let ops = plan(batch, self)?;
        self.sync_what_people_did(&batch.events)?;
        let staged = self.stage(&ops)?;
        let version = self.version.next();
        let lines = self.log.chain().extend(&batch.events);
        let entry = self.entry(batch, version, &lines, &ops);
        let reserved = self.log.reserve(&entry);
        let ordered = reserved.and_then(|()| order(&|| sealed(&entry, &ops, &batch.answers)));
        if let Err(error) = ordered.and_then(|()| self.journal.append(&entry)) {
            self.discard(&staged);
            return Err(error);
        }
        // From here on it is committed. What fails now is finished by whoever comes next.
        self.version = version;
        let projected = self.project(&ops, &staged, &entry);
        self.note(batch, &ops);
        if projected.and_then(|()| self.marker.write(version)).is_err() {
            self.distrust();
        }
        Ok(version)
    }

    fn entry<'a>(
        &self,
        batch: &Batch,
        version: Version,
        lines: &'a [String],
        ops: &'a [Op],
    ) -> Entry<'a> {
        let now = batch.events.last().map_or(Time::from_millis(0), |recorded| recorded.at);
        Entry {
            version: version.0,
            day: self.log.day(now).into(),
            lines: lines.iter().map(|line| Cow::from(line.as_str())).collect(),
            ops: ops.iter().filter_map(|op| self.wire(op, ops)).collect(),
            owed: batch.owed.iter().map(OwedWire::from).collect(),
            settled: batch.settled.iter().map(|id| (id.event.0, id.place)).collect(),
            answers: vec![],
        }
    }

    /// What people did survives a power cut before the record tells of it: the journal does not
    /// know what was there before, and could not tell what a power cut brings back from an edit.
    fn sync_what_people_did(&self, events: &[Recorded]) -> Result<(), StoreError> {
        let mut paths = BTreeSet::new();
        for recorded in events.iter().filter(|recorded| may_be_by_hand(&recorded.happened.event)) {
            let id = recorded.happened.task.as_ref();
            let known = id.and_then(|id| Some((id, self.known.get(id)?)));
            match known {
                Some((id, known)) => paths.extend([task_file(known.status, id)]),
                None => paths.extend(Status::ALL.map(status_folder)),
            }
            if let Event::TaskTransitioned { from, .. } = recorded.happened.event {
                paths.insert(status_folder(from));
            }
        }
        self.disk.sync_now(&paths)
    }

    /// Writes every text under a temporary name and makes every folder, so that the room is there
    /// before the journal says that it is committed.
    fn stage(&mut self, ops: &[Op]) -> Result<Vec<Option<Staged>>, StoreError> {
        for op in ops {
            self.make_folder_for(op, ops)?;
        }
        let staged = side_by_side(ops, |op| self.stage_one(op));
        if staged.iter().any(Result::is_err) {
            for one in staged.iter().flatten().flatten() {
                let _ = self.disk.discard(one);
            }
        }
        staged.into_iter().collect()
    }

    fn make_folder_for(&mut self, op: &Op, ops: &[Op]) -> Result<(), StoreError> {
        match op {
            Op::Put { path, .. } => self.disk.make_folder_of(&place_before(path, ops)),
            Op::Move { from, to } if !matches!(self.disk.look(from)?, Look::Nothing) => {
                self.disk.make_folder_of(to)
            }
            Op::Task(_) | Op::Move { .. } => Ok(()),
        }
    }

    fn stage_one(&self, op: &Op) -> Result<Option<Staged>, StoreError> {
        match op {
            // A file that people left as it is to be is not written again.
            Op::Task(op) if !op.changes() => Ok(None),
            Op::Task(op) => self.disk.stage_for(&op.text, &op.text).map(Some),
            Op::Put { text, .. } => self.disk.stage(text).map(Some),
            Op::Move { .. } => Ok(None),
        }
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
        let changes: Vec<_> = ops.iter().zip(staged).collect();
        let swapped = side_by_side(&changes, |(op, staged)| match (op, staged) {
            (Op::Task(TaskOp { id, from: Some(from), .. }), Some(staged)) => {
                self.disk.swap(staged, &task_file(*from, id)).map(Some)
            }
            _ => Ok(None),
        });
        for ((op, staged), swapped) in changes.into_iter().zip(swapped) {
            match (op, staged) {
                (Op::Task(op), Some(staged)) => self.install(op, staged, swapped?)?,
                (Op::Put { path, .. }, Some(staged)) => self.disk.put(staged, path)?,
                (Op::Move { from, to }, _) => {
                    self.disk.shift(from, to)?;
                }
                (Op::Task(_) | Op::Put { .. }, None) => {}
            }
        }
        self.log.append(entry)?;
        self.disk.note(&events_file(&entry.day));
        Ok(())
    }

    /// Puts a task's file in its place, and sees to it that no edit of a person is lost.
    fn install(
        &mut self,
        op: &TaskOp,
        staged: &Staged,
        swapped: Option<Swapped>,
    ) -> Result<(), StoreError> {
        let to = task_file(op.to, &op.id);
        let (Some(from), Some(swapped)) = (op.from, swapped) else {
            let sig = self.install_new(staged, &to)?;
            self.know(op, op.to, sig);
            return Ok(());
        };
        match self.replace(op, staged, &task_file(from, &op.id), swapped)? {
            Replaced::Whole(sig) => {
                if from != op.to {
                    self.disk.shift(&task_file(from, &op.id), &to)?;
                    self.disk.shift(&companion(from, &op.id), &companion(op.to, &op.id))?;
                }
                self.know(op, op.to, sig);
            }
            Replaced::Nothing => self.install_elsewhere(op, staged)?,
            Replaced::Left => self.know(op, from, None),
        }
        Ok(())
    }

    /// Takes note of what a task's file is now; without a look at it, that is in doubt.
    fn know(&mut self, op: &TaskOp, status: Status, sig: Option<Sig>) {
        let hash = sig.map(|_| Hash::of(op.text.as_bytes()));
        self.known.insert(op.id.clone(), Known { status, sig, hash });
    }

    /// A person moved the file this very moment: it is changed where it is now, and the move is
    /// taken in at the next look. Or it was taken away, and stays away.
    fn install_elsewhere(&mut self, op: &TaskOp, staged: &Staged) -> Result<(), StoreError> {
        let place = places(&self.disk, &op.id)?.first().map(|(status, _)| *status);
        if let Some(status) = place {
            let path = task_file(status, &op.id);
            let swapped = self.disk.swap(staged, &path)?;
            self.replace(op, staged, &path, swapped)?;
        }
        self.disk.discard(staged)?;
        self.know(op, place.unwrap_or(op.to), None);
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

    /// Looks at what came out when the new text was exchanged with the old. If that is not what was
    /// read before, a person saved the file in between: our change is made again, on their text,
    /// as often as they save. What our change cannot be made on goes back as it came.
    fn replace(
        &mut self,
        op: &TaskOp,
        staged: &Staged,
        path: &str,
        swapped: Swapped,
    ) -> Result<Replaced, StoreError> {
        let mut out = self.disk.swapped(swapped, staged, path)?;
        let mut expected = self.known.get(&op.id).and_then(|known| known.sig);
        // What came out stays until what was made of it is in its place.
        let (mut saved, mut merged): (Option<Staged>, Option<Staged>) = (None, None);
        loop {
            let ours = merged.as_ref().unwrap_or(staged);
            let Some(came_out) = out else {
                return self.keep(merged.zip(saved), path);
            };
            if let Some(saved) = saved.take() {
                self.disk.discard(&saved)?;
            }
            let theirs = match came_out {
                Look::File(sig) if Some(sig) == expected => None,
                Look::File(_) => Some(self.disk.read_staged(ours)?),
                Look::Other | Look::Nothing => return self.give_back(ours, path),
            };
            let was = op.was.as_deref().map(str::as_bytes);
            let Some(theirs) = theirs.filter(|theirs| merged.is_some() || was != Some(theirs))
            else {
                self.disk.spare(ours)?;
                return Ok(Replaced::Whole(staged.sig.filter(|_| merged.is_none())));
            };
            let text = String::from_utf8(theirs).ok().and_then(|text| op.patch.apply(&text).ok());
            let Some(text) = text else { return self.give_back(ours, path) };
            expected = ours.sig;
            let next = self.disk.stage_for(&op.text, &text)?;
            out = self.disk.exchange(&next, path)?;
            saved = Some(merged.replace(next).unwrap_or_else(|| staged.clone()));
        }
    }

    /// A file was taken away right after it was saved: what was made of that is put aside.
    fn keep(
        &mut self,
        merged: Option<(Staged, Staged)>,
        path: &str,
    ) -> Result<Replaced, StoreError> {
        if let Some((merged, saved)) = merged {
            self.disk.put_aside(&merged, &path.replace('/', "-"))?;
            self.disk.discard(&saved)?;
        }
        Ok(Replaced::Nothing)
    }

    /// Puts back what came out, which is a person's, and takes away what was put there. What a
    /// person made of that meanwhile is put aside.
    fn give_back(&mut self, ours: &Staged, path: &str) -> Result<Replaced, StoreError> {
        match self.disk.exchange(ours, path)? {
            Some(Look::File(sig)) if Some(sig) == ours.sig => self.disk.discard(ours)?,
            Some(_) | None => drop(self.disk.put_aside(ours, &path.replace('/', "-"))?),
        }
        Ok(Replaced::Left)
    }

    /// Writes a change down with what was there before. A move of nothing is none: were it made
    /// again, it would take away what somebody left there since.
    fn wire<'a>(&self, op: &'a Op, ops: &[Op]) -> Option<OpWire<'a>> {
        Some(match op {
            Op::Task(op) => OpWire::Task {
                id: op.id.as_str().into(),
                from: op.from.map(|from| from.as_str().into()),
                to: op.to.as_str().into(),
                was: op.was.as_ref().and_then(|_| self.known_hash(&op.id)),
                text: op.text.as_str().into(),
            },
            Op::Put { path, text } => {
                let was = self.hash_of(&place_before(path, ops));
                OpWire::Put { path: path.into(), was, text: text.as_str().into(), origin: None }
            }
            Op::Move { from, to } => {
                let mut before = ops.iter().take_while(|other| !std::ptr::eq(*other, op));
                let put = before.any(|op| matches!(op, Op::Put { path, .. } if path == from));
                if !put && matches!(self.disk.look(from), Ok(Look::Nothing)) {
                    return None;
                }
                OpWire::Move { from: from.into(), to: to.into(), was: self.hash_of(from) }
            }
        })
    }

    /// Returns the hash of a file; none if it is something else, or nothing.
    pub(super) fn hash_of(&self, path: &str) -> Option<String> {
        let (bytes, _) = self.disk.read(path).ok().flatten()?;
        Some(Hash::of(&bytes).to_string())
    }

    /// Returns what is known of a task's text, which was compared when it was read.
    fn known_hash(&self, id: &TaskId) -> Option<String> {
        self.known.get(id)?.hash.map(|hash| hash.to_string())
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

fn told_anew(loaded: Loaded) -> Caught {
    Caught::Reload(Box::new(loaded))
}

/// Says whether an event may tell of something that people did to a file.
fn may_be_by_hand(event: &Event) -> bool {
    match event {
        Event::TaskCreated { body, .. } | Event::TaskEdited { body, .. } => body.is_none(),
        Event::TaskTransitioned { manner, .. } => *manner != Manner::Ruled,
        Event::TaskRemoved => true,
        _ => false,
    }
}

/// What became of a file that was to be replaced.
enum Replaced {
    /// It is what it is to be; if a person's change is in it too, there is no look.
    Whole(Option<Sig>),
    /// It is what a person made of it, which is no task.
    Left,
    /// It is not there.
    Nothing,
}

/// Returns where a path lies before the tasks of a commit have moved with their folders.
fn place_before(path: &str, ops: &[Op]) -> String {
    let moved = ops.iter().find_map(|op| {
        let Op::Task(TaskOp { id, from: Some(from), to, .. }) = op else { return None };
        let inside = path.strip_prefix(&companion(*to, id))?;
        Some(format!("{}{inside}", companion(*from, id)))
    });
    moved.unwrap_or_else(|| path.to_owned())
}

impl Documents for FileStore {
    /// A file that is not what it was when it was last looked at was saved, moved or taken away
    /// by somebody since: what was decided on it is decided again, with that taken in.
    fn task(&self, id: &TaskId) -> Result<Option<(Status, String)>, StoreError> {
        let conflict = StoreError::Conflict { expected: self.version, now: self.version };
        let Some(known) = self.known.get(id).copied() else {
            return if places(&self.disk, id)?.is_empty() { Ok(None) } else { Err(conflict) };
        };
        match look::read(&self.disk, &task_file(known.status, id))? {
            Text::Bytes(bytes, _) if known.hash == Some(Hash::of(&bytes)) => {
                let text = String::from_utf8(bytes);
                let lossy = |bad: FromUtf8Error| String::from_utf8_lossy(bad.as_bytes()).into();
                Ok(Some((known.status, text.unwrap_or_else(lossy))))
            }
            Text::Bytes(..) | Text::Unreadable(_) | Text::Nothing => Err(conflict),
        }
    }

    /// What cannot be read is no run that could be marked, and no reason to stop.
    fn run(&self, id: &TaskId) -> Result<Option<String>, StoreError> {
        Ok(self.disk.read_text(&format!("{}/run.json", run_folder(id))).unwrap_or_default())
    }

    fn memory(&self, epic: &EpicId) -> Result<Option<String>, StoreError> {
        self.disk.read_text(&epic_memory(epic))
    }

    fn has_run_files(&self, id: &TaskId) -> Result<bool, StoreError> {
        let names = self.disk.names(&run_folder(id))?;
        Ok(names.iter().any(|name| RUN_FILES.contains(&name.as_str())))
    }

    fn is_attempt_taken(&self, id: &TaskId, number: u32) -> Result<bool, StoreError> {
        let names = self.disk.names(&format!("{}/attempts/{number}", run_folder(id)))?;
        Ok(names.iter().any(|name| RUN_FILES.contains(&name.as_str())))
    }
}
