//! The store in memory: for tests, and for simulations of years in a minute.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use adjutant_core::answer::Problem;
use adjutant_core::aof::parse_result;
use adjutant_core::input::{FileChange, Found};
use adjutant_core::mission::EpicId;
use adjutant_core::path::RelPath;
use adjutant_core::run::Heartbeat;
use adjutant_core::{Event, EventId, Recorded, Status, Task, TaskId, World};

use crate::batch::{Batch, EffectId, Owed, Version};
use crate::document::{
    RUN_FILES, companion, epic_memory, run_folder, run_heartbeat, run_result, salvage, task_file,
};
use crate::plan::{Documents, Op, TaskOp, plan};
use crate::record::Chain;
use crate::store::{Caught, Loaded, Presence, Scope, Store, StoreError};
use crate::taskfile;
use crate::wire::HeartbeatWire;

/// A handle on a store in memory. Clones share it, as processes share a folder.
#[derive(Clone, Default)]
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
    seen: Version,
    seen_events: usize,
    /// A commit failed, and whoever holds this may have gone ahead of it.
    ahead: bool,
}

#[derive(Default)]
struct Shared {
    version: Version,
    files: BTreeMap<String, String>,
    events: Vec<Recorded>,
    lines: Vec<String>,
    chain: Chain,
    owed: BTreeMap<EffectId, Owed>,
}

impl MemoryStore {
    /// Returns the world after the last commit.
    pub fn open(&mut self) -> Loaded {
        let shared = lock(&self.shared);
        let last = shared.events.last().map_or(EventId::default(), |recorded| recorded.id);
        let mut world = World::load(shared.tasks(), last);
        // A task may be gone; its number stays taken.
        for recorded in &shared.events {
            if let Event::TaskCreated { task, .. } = &recorded.happened.event {
                world.note_number(&task.id);
            }
        }
        self.seen = shared.version;
        self.seen_events = shared.events.len();
        Loaded { world, edits: vec![], adopted: None }
    }

    /// Returns a file.
    pub fn file(&self, path: &str) -> Option<String> {
        lock(&self.shared).files.get(path).cloned()
    }

    /// Returns the names of all files.
    pub fn files(&self) -> Vec<String> {
        lock(&self.shared).files.keys().cloned().collect()
    }

    /// Writes a file, as an agent would.
    pub fn write(&self, path: &str, text: &str) {
        lock(&self.shared).files.insert(path.to_owned(), text.to_owned());
    }

    /// Takes a file away, as a person would.
    pub fn remove(&self, path: &str) {
        lock(&self.shared).files.remove(path);
    }

    /// Returns the lines of the record.
    pub fn lines(&self) -> Vec<String> {
        lock(&self.shared).lines.clone()
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store for MemoryStore {
    fn begin(&mut self) -> Result<Caught, StoreError> {
        if std::mem::take(&mut self.ahead) {
            return Ok(Caught::Reload(Box::new(self.open())));
        }
        let shared = lock(&self.shared);
        let events = shared.events[self.seen_events..].to_vec();
        self.seen = shared.version;
        self.seen_events = shared.events.len();
        Ok(Caught::Events(events))
    }

    fn commit(&mut self, batch: &Batch) -> Result<Version, StoreError> {
        let mut shared = lock(&self.shared);
        if batch.expect != shared.version {
            self.ahead = true;
            return Err(StoreError::Conflict { expected: batch.expect, now: shared.version });
        }
        let ops = plan(batch, &*shared)?;
        shared.apply(ops);
        shared.record(batch);
        self.seen = shared.version;
        self.seen_events = shared.events.len();
        Ok(shared.version)
    }

    fn end(&mut self) {}

    fn version(&self) -> Version {
        self.seen
    }

    fn edits(&mut self, _: Scope<'_>) -> Result<Vec<FileChange>, StoreError> {
        Ok(vec![])
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<Presence, StoreError> {
        let shared = lock(&self.shared);
        let there = shared.find(task).is_some_and(|status| {
            let file = format!("{}/{path}", companion(status, task));
            shared.files.contains_key(&file)
        });
        Ok(if there { Presence::Present } else { Presence::Missing })
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<Found>, StoreError> {
        let shared = lock(&self.shared);
        Ok(shared.files.get(&run_result(task)).map(|text| found(task, text)))
    }

    fn heartbeat(&mut self, task: &TaskId) -> Result<Option<Heartbeat>, StoreError> {
        let shared = lock(&self.shared);
        Ok(shared.files.get(&run_heartbeat(task)).and_then(|text| heartbeat(text)))
    }

    fn salvaged(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        let read = |path: &String| {
            let (task, name) = path.strip_prefix("runs/")?.split_once("/salvage/")?;
            let task = TaskId::parse(task).ok()?;
            salvage(&task, name).is_some().then(|| (task, name.to_owned()))
        };
        Ok(lock(&self.shared).files.keys().filter_map(read).collect())
    }

    fn salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        let path = salvage(task, name);
        Ok(path.and_then(|path| lock(&self.shared).files.get(&path).cloned()))
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        Ok(lock(&self.shared).task(task)?.map(|(_, text)| text))
    }

    fn owed(&self) -> Vec<Owed> {
        lock(&self.shared).owed.values().cloned().collect()
    }

    fn tend(&mut self, _: &World) -> Result<(), StoreError> {
        Ok(())
    }

    fn rest(&mut self, _: &World) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Reads a heartbeat that somebody left; none if it says nothing that could be understood.
pub(crate) fn heartbeat(text: &str) -> Option<Heartbeat> {
    HeartbeatWire::expires_at(text).map(|expires_at| Heartbeat { expires_at })
}

/// Reads a result that somebody left.
pub(crate) fn found(task: &TaskId, text: &str) -> Found {
    let parsed = serde_json::from_str(text)
        .map_err(|error| vec![Problem::new("", format!("is not JSON: {error}"))])
        .and_then(|value| parse_result(task, &value));
    match parsed {
        Ok(result) => Found::Result(Box::new(result)),
        Err(problems) => Found::Invalid(problems),
    }
}

impl Shared {
    fn find(&self, id: &TaskId) -> Option<Status> {
        Status::ALL.into_iter().find(|status| self.files.contains_key(&task_file(*status, id)))
    }

    fn tasks(&self) -> Vec<Task> {
        let read = |(path, text): (&String, &String)| {
            let (status, name) = path.strip_prefix("tasks/")?.split_once('/')?;
            let id = TaskId::parse(name.strip_suffix(".md")?).ok()?;
            Some(taskfile::parse(text, Some(&id), Status::parse(status)).ok()?.task)
        };
        self.files.iter().filter_map(read).collect()
    }

    fn apply(&mut self, ops: Vec<Op>) {
        for op in ops {
            match op {
                Op::Task(op) => self.apply_task(op),
                Op::Put { path, text } => {
                    self.files.insert(path, text);
                }
                Op::Move { from, to } => {
                    self.move_folder(&from, &to);
                    if let Some(text) = self.files.remove(&from) {
                        self.files.insert(to, text);
                    }
                }
            }
        }
    }

    fn apply_task(&mut self, op: TaskOp) {
        if let Some(from) = op.from.filter(|from| *from != op.to) {
            self.files.remove(&task_file(from, &op.id));
            self.move_folder(&companion(from, &op.id), &companion(op.to, &op.id));
        }
        self.files.insert(task_file(op.to, &op.id), op.text);
    }

    fn move_folder(&mut self, from: &str, to: &str) {
        let inside = format!("{from}/");
        let moved: Vec<String> =
            self.files.keys().filter(|path| path.starts_with(&inside)).cloned().collect();
        for path in moved {
            if let Some(text) = self.files.remove(&path) {
                self.files.insert(format!("{to}/{}", &path[inside.len()..]), text);
            }
        }
    }

    fn record(&mut self, batch: &Batch) {
        let lines = self.chain.extend(&batch.events);
        self.lines.extend(lines);
        self.events.extend(batch.events.iter().cloned());
        self.owed.extend(batch.owed.iter().map(|owed| (owed.id, owed.clone())));
        for id in &batch.settled {
            self.owed.remove(id);
        }
        self.version = self.version.next();
    }
}

impl Documents for Shared {
    fn task(&self, id: &TaskId) -> Result<Option<(Status, String)>, StoreError> {
        let found =
            self.find(id).map(|status| (status, self.files[&task_file(status, id)].clone()));
        Ok(found)
    }

    fn run(&self, id: &TaskId) -> Result<Option<String>, StoreError> {
        Ok(self.files.get(&format!("{}/run.json", run_folder(id))).cloned())
    }

    fn memory(&self, epic: &EpicId) -> Result<Option<String>, StoreError> {
        Ok(self.files.get(&epic_memory(epic)).cloned())
    }

    fn has_run_files(&self, id: &TaskId) -> Result<bool, StoreError> {
        let folder = run_folder(id);
        Ok(RUN_FILES.iter().any(|file| self.files.contains_key(&format!("{folder}/{file}"))))
    }

    fn is_attempt_taken(&self, id: &TaskId, number: u32) -> Result<bool, StoreError> {
        let aside = format!("{}/attempts/{number}", run_folder(id));
        Ok(RUN_FILES.iter().any(|file| self.files.contains_key(&format!("{aside}/{file}"))))
    }
}
