//! A commit: room first, then the journal, then the files.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::string::FromUtf8Error;

use adjutant_core::event::Manner;
use adjutant_core::mission::EpicId;
use adjutant_core::{Event, Recorded, Status, TaskId, Time};

use super::disk::{Look, Staged};
use super::follow::{Order, sealed};
use super::journal::{Entry, OpWire, line};
use super::known::{Known, Sig};
use super::log::events_file;
use super::look::{self, Text, places};
use super::{FileStore, Keeper, Trust, Turn, room};
use crate::batch::{Batch, EffectId, Version};
use crate::document::{
    EVENTS, RUN_FILES, companion, epic_memory, run_folder, status_folder, task_file,
};
use crate::hash::Hash;
use crate::plan::{Documents, Op, TaskOp, plan};
use crate::side_by_side::side_by_side;
use crate::store::StoreError;
use crate::wire::OwedWire;

impl FileStore {
    pub(super) fn commit_batch(
        &mut self,
        batch: &Batch,
        order: Order<'_>,
        keeper: Keeper,
    ) -> Result<Version, StoreError> {
        if self.trust == Trust::Stopped || self.turn != Turn::Ours {
            return Err(StoreError::Stopped);
        }
        if self.trust == Trust::Reload || !self.follows_on(batch) {
            self.distrust();
            return Err(StoreError::Conflict { expected: batch.expect, now: self.version });
        }
        let committed = self.write(batch, order, keeper);
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

    fn write(
        &mut self,
        batch: &Batch,
        order: Order<'_>,
        keeper: Keeper,
    ) -> Result<Version, StoreError> {
        self.expect_numbers_for(batch)?;
        let ops = plan(batch, self)?;
        self.sync_what_people_did(&batch.events)?;
        self.make_folders_for(&ops)?;
        let version = self.version.next();
        let lines = self.log.chain().extend(&batch.events);
        let entry = self.entry(batch, version, &lines, &ops);
        self.log.reserve(&entry)?;
        if keeper == Keeper::Others {
            // Alone, the room is there because everything is written before it counts.
            self.disk.expect_room(room::needed(&ops, &lines))?;
            self.ahead.make()?;
        }
        let sealed = || sealed(&entry, &ops, &batch.answers);
        let prepared = self.prepare_ordered(order, &sealed, || self.prepare(&ops, &entry, keeper));
        let Prepared { staged, line, kept } = prepared?;
        let appended = match kept {
            Kept::Ahead => self.journal.append_kept(&line),
            Kept::Nowhere => self.journal.append_line(&line),
        };
        if let Err(error) = appended {
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

    /// Has others decide whether a commit comes next, where there are others, and prepares meanwhile
    /// to write it. Where there are none, the room is there before anything is committed.
    fn prepare_ordered(
        &self,
        order: Order<'_>,
        sealed: &dyn Fn() -> String,
        prepare: impl Fn() -> Result<Prepared, StoreError>,
    ) -> Result<Prepared, StoreError> {
        let mut prepared = None;
        let ordered = order(sealed, &mut || prepared = Some(prepare()));
        match (ordered, prepared) {
            (Ok(()), Some(prepared)) => prepared,
            (Ok(()), None) => prepare(),
            // The one before may not be in the journal for good, and was not written over.
            (Err(_), Some(Err(StoreError::Stopped))) => Err(StoreError::Stopped),
            (Err(error), None) => Err(error),
            (Err(error), Some(prepared)) => {
                if let Ok(prepared) = prepared {
                    self.discard(&prepared.staged);
                }
                self.ahead.clear();
                Err(error)
            }
        }
    }

    fn prepare(
        &self,
        ops: &[Op],
        entry: &Entry<'_>,
        keeper: Keeper,
    ) -> Result<Prepared, StoreError> {
        let line = line(entry);
        let kept = match keeper {
            Keeper::Itself => Kept::Nowhere,
            Keeper::Others => self.keep_ahead(&line)?,
        };
        Ok(Prepared { staged: self.stage(ops)?, line, kept })
    }

    /// The commit before is in the journal for good before this one takes its place. What cannot be
    /// written down here is synced in the journal.
    fn keep_ahead(&self, line: &str) -> Result<Kept, StoreError> {
        self.journal.settle()?;
        Ok(self.ahead.put(line).map_or(Kept::Nowhere, |()| Kept::Ahead))
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

    /// Makes every folder that a commit puts something in, and what it needs to exchange files.
    fn make_folders_for(&mut self, ops: &[Op]) -> Result<(), StoreError> {
        self.disk.make_marks();
        ops.iter().try_for_each(|op| self.make_folder_for(op, ops))
    }

    /// Writes every text under a temporary name, so that the room is there before the journal says
    /// that it is committed.
    fn stage(&self, ops: &[Op]) -> Result<Vec<Option<Staged>>, StoreError> {
        match self.stage_all(ops) {
            // What is kept to be written anew may be all that is in the way.
            Err(StoreError::Full { .. }) if self.disk.drop_spares() => self.stage_all(ops),
            staged => staged,
        }
    }

    fn stage_all(&self, ops: &[Op]) -> Result<Vec<Option<Staged>>, StoreError> {
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
            Op::Task(op) if op.from.is_none() => self.disk.stage(&op.text).map(Some),
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
        for change in ops.iter().zip(staged) {
            match change {
                (Op::Task(op), Some(staged)) => self.install(op, staged)?,
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
    fn install(&mut self, op: &TaskOp, staged: &Staged) -> Result<(), StoreError> {
        let to = task_file(op.to, &op.id);
        let Some(from) = op.from else {
            let sig = self.install_new(staged, &to)?;
            self.know(op, op.to, sig);
            return Ok(());
        };
        match self.replace(op, staged, &task_file(from, &op.id))? {
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
        let hash = sig.map(|_| op.hash);
        self.known.insert(op.id.clone(), Known { status, sig, hash });
    }

    /// A person moved the file this very moment: it is changed where it is now, and the move is
    /// taken in at the next look. Or it was taken away, and stays away.
    fn install_elsewhere(&mut self, op: &TaskOp, staged: &Staged) -> Result<(), StoreError> {
        let place = places(&self.disk, &op.id)?.first().map(|(status, _)| *status);
        if let Some(status) = place {
            let path = task_file(status, &op.id);
            self.replace(op, staged, &path)?;
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
    ) -> Result<Replaced, StoreError> {
        let mut out = self.disk.exchange(staged, path)?;
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
            self.unsaid.remove(&task.id);
        }
        for id in batch.events.iter().filter_map(|recorded| recorded.happened.task.as_ref()) {
            self.unindexed.insert(id.clone());
            self.unsaid.remove(id);
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

/// Says whether an event may tell of something that people did to a file.
fn may_be_by_hand(event: &Event) -> bool {
    match event {
        Event::TaskCreated { body, .. } | Event::TaskEdited { body, .. } => body.is_none(),
        Event::TaskTransitioned { manner, .. } => *manner != Manner::Ruled,
        Event::TaskRemoved => true,
        _ => false,
    }
}

/// A commit that can be written.
struct Prepared {
    staged: Vec<Option<Staged>>,
    /// What goes into the journal.
    line: String,
    kept: Kept,
}

/// Where a commit is that is not in the journal yet.
enum Kept {
    /// Written down, so that a power cut does not take it.
    Ahead,
    Nowhere,
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
