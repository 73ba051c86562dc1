//! The store in memory, for tests and for simulations of years in a minute.

use std::collections::BTreeMap;
use std::sync::Arc;

use adjutant_core::World;
use adjutant_core::input::{FileChange, FoundResult};
use adjutant_model::mission::EpicId;
use adjutant_model::relative_path::RelPath;
use adjutant_model::run::RunHeartbeat;
use adjutant_model::{Event, EventId, RecordedEvent, Status, Task, TaskId};
use parking_lot::Mutex;

use crate::batch::{CommitBatch, EffectId, PendingEffect, StoreVersion};
use crate::document_paths::{
    RUN_FILES, companion_folder, epic_memory_file, run_folder, run_heartbeat_file, run_result_file,
    salvage_file, task_file,
};
use crate::event_log::EventChain;
use crate::plan::{DocumentChange, DocumentReader, TaskFileUpdate, plan};
use crate::run_documents::{parse_found_result, parse_heartbeat};
use crate::store::{EditScope, FileAvailability, LoadedStore, Store, StoreError, StoreUpdate};
use crate::taskfile;

/// A handle on a store in memory. Clones share it, as processes share a folder.
#[derive(Clone, Default)]
pub struct MemoryStore {
    shared: Arc<Mutex<MemoryContents>>,
    seen_version: StoreVersion,
    seen_events: usize,
    /// A commit failed, and the caller may have applied its events already.
    commit_failed: bool,
}

#[derive(Default)]
struct MemoryContents {
    version: StoreVersion,
    files: BTreeMap<String, String>,
    events: Vec<RecordedEvent>,
    lines: Vec<String>,
    chain: EventChain,
    pending_effects: BTreeMap<EffectId, PendingEffect>,
}

impl MemoryStore {
    /// Returns the world after the last commit.
    pub fn open(&mut self) -> LoadedStore {
        let shared = self.shared.lock();
        let last = shared.events.last().map_or(EventId::default(), |recorded| recorded.id);
        let mut world = World::load(shared.tasks(), last);
        // A task may be gone; its number stays taken.
        for recorded in &shared.events {
            if let Event::TaskCreated { task, .. } = &recorded.new_event.event {
                world.note_number(&task.id);
            }
        }
        self.seen_version = shared.version;
        self.seen_events = shared.events.len();
        LoadedStore { world, edits: vec![], adopted_tasks: None }
    }

    pub fn file(&self, path: &str) -> Option<String> {
        self.shared.lock().files.get(path).cloned()
    }

    /// Returns the paths of all files.
    pub fn files(&self) -> Vec<String> {
        self.shared.lock().files.keys().cloned().collect()
    }

    /// Writes a file, as an agent would.
    pub fn write(&self, path: &str, text: &str) {
        self.shared.lock().files.insert(path.to_owned(), text.to_owned());
    }

    /// Removes a file, as a person would.
    pub fn remove(&self, path: &str) {
        self.shared.lock().files.remove(path);
    }

    /// Returns the lines of the event log.
    pub fn lines(&self) -> Vec<String> {
        self.shared.lock().lines.clone()
    }
}

impl Store for MemoryStore {
    fn begin(&mut self) -> Result<StoreUpdate, StoreError> {
        if std::mem::take(&mut self.commit_failed) {
            return Ok(StoreUpdate::Reload(Box::new(self.open())));
        }
        let shared = self.shared.lock();
        let events = shared.events[self.seen_events..].to_vec();
        self.seen_version = shared.version;
        self.seen_events = shared.events.len();
        Ok(StoreUpdate::Events(events))
    }

    fn commit(&mut self, batch: &CommitBatch) -> Result<StoreVersion, StoreError> {
        let mut shared = self.shared.lock();
        if batch.expected_version != shared.version {
            self.commit_failed = true;
            return Err(StoreError::Conflict {
                expected: batch.expected_version,
                now: shared.version,
            });
        }
        let ops = plan(batch, &*shared)?;
        shared.apply(ops);
        shared.record(batch);
        self.seen_version = shared.version;
        self.seen_events = shared.events.len();
        Ok(shared.version)
    }

    fn end(&mut self) {}

    fn version(&self) -> StoreVersion {
        self.seen_version
    }

    fn detect_edits(&mut self, _: EditScope<'_>) -> Result<Vec<FileChange>, StoreError> {
        Ok(vec![])
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<FileAvailability, StoreError> {
        let shared = self.shared.lock();
        let there = shared.find_status(task).is_some_and(|status| {
            let file = format!("{}/{path}", companion_folder(status, task));
            shared.files.contains_key(&file)
        });
        Ok(if there { FileAvailability::Present } else { FileAvailability::Missing })
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<FoundResult>, StoreError> {
        let shared = self.shared.lock();
        Ok(shared.files.get(&run_result_file(task)).map(|text| parse_found_result(task, text)))
    }

    fn last_heartbeat(&mut self, task: &TaskId) -> Result<Option<RunHeartbeat>, StoreError> {
        let shared = self.shared.lock();
        Ok(shared.files.get(&run_heartbeat_file(task)).and_then(|text| parse_heartbeat(text)))
    }

    fn list_salvage(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        let read = |path: &String| {
            let (task, name) = path.strip_prefix("runs/")?.split_once("/salvage/")?;
            let task = TaskId::parse(task).ok()?;
            salvage_file(&task, name).is_some().then(|| (task, name.to_owned()))
        };
        Ok(self.shared.lock().files.keys().filter_map(read).collect())
    }

    fn read_salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        let path = salvage_file(task, name);
        Ok(path.and_then(|path| self.shared.lock().files.get(&path).cloned()))
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        Ok(self.shared.lock().task(task)?.map(|(_, text)| text))
    }

    fn pending_effects(&self) -> Vec<PendingEffect> {
        self.shared.lock().pending_effects.values().cloned().collect()
    }

    fn maintain(&mut self, _: &World) -> Result<(), StoreError> {
        Ok(())
    }

    fn checkpoint(&mut self, _: &World) -> Result<(), StoreError> {
        Ok(())
    }
}

impl MemoryContents {
    fn find_status(&self, id: &TaskId) -> Option<Status> {
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

    fn apply(&mut self, ops: Vec<DocumentChange>) {
        for op in ops {
            match op {
                DocumentChange::Task(op) => self.apply_task(op),
                DocumentChange::Put { path, text } => {
                    self.files.insert(path, text);
                }
                DocumentChange::Move { from, to } => {
                    self.move_folder(&from, &to);
                    if let Some(text) = self.files.remove(&from) {
                        self.files.insert(to, text);
                    }
                }
            }
        }
    }

    fn apply_task(&mut self, op: TaskFileUpdate) {
        if let Some(from) = op.from.filter(|from| *from != op.to) {
            self.files.remove(&task_file(from, &op.id));
            self.move_folder(&companion_folder(from, &op.id), &companion_folder(op.to, &op.id));
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

    fn record(&mut self, batch: &CommitBatch) {
        let lines = self.chain.append_events(&batch.events);
        self.lines.extend(lines);
        self.events.extend(batch.events.iter().cloned());
        self.pending_effects
            .extend(batch.new_effects.iter().map(|effect| (effect.id, effect.clone())));
        for id in &batch.settled_effects {
            self.pending_effects.remove(id);
        }
        self.version = self.version.next();
    }
}

impl DocumentReader for MemoryContents {
    fn task(&self, id: &TaskId) -> Result<Option<(Status, String)>, StoreError> {
        let found =
            self.find_status(id).map(|status| (status, self.files[&task_file(status, id)].clone()));
        Ok(found)
    }

    fn run(&self, id: &TaskId) -> Result<Option<String>, StoreError> {
        Ok(self.files.get(&format!("{}/run.json", run_folder(id))).cloned())
    }

    fn memory(&self, epic: &EpicId) -> Result<Option<String>, StoreError> {
        Ok(self.files.get(&epic_memory_file(epic)).cloned())
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
