//! A real file store in a temporary folder, with a fixed clock.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use adjutant_core::World;
use adjutant_model::event::NewEvent;
use adjutant_model::{Actor, Event, RecordedEvent, TaskId};
use tempfile::TempDir;

use crate::batch::{CommitBatch, EffectId, PendingEffect};
use crate::file::{DataFolder, FileStore};
use crate::store::Store;
use crate::tests::samples::time;

pub(super) struct StoreScene {
    pub(super) store: FileStore,
    pub(super) world: World,
    pub(super) project: TempDir,
    pub(super) folder: DataFolder,
}

impl StoreScene {
    pub(super) fn new() -> Self {
        let project = tempfile::tempdir().expect("a temporary folder");
        let folder = DataFolder::init(project.path()).expect("a data folder");
        let (store, loaded) = FileStore::open(&folder).expect("the folder opens");
        Self { store, world: loaded.world, project, folder }
    }

    /// Builds a batch of events, a second apart, and applies them to the world.
    pub(super) fn batch(&mut self, events: Vec<(TaskId, Event)>) -> CommitBatch {
        let mut batch =
            CommitBatch { expected_version: self.store.version(), ..CommitBatch::default() };
        let mut touched = BTreeSet::new();
        for (task, event) in events {
            let id = self.world.last_event().next();
            touched.insert(task.clone());
            let at = time(&format!("21:00:{:02}.000", id.0));
            let happened = NewEvent { actor: Actor::Router, task: Some(task), event };
            let recorded = RecordedEvent { id, at, node: None, new_event: happened };
            self.world.apply(&recorded);
            batch.events.push(recorded);
        }
        batch.tasks_after = touched.iter().filter_map(|id| self.world.task(id)).cloned().collect();
        batch
    }

    pub(super) fn commit(&mut self, events: Vec<(TaskId, Event)>) {
        self.commit_effects(events, vec![], vec![]);
    }

    pub(super) fn commit_effects(
        &mut self,
        events: Vec<(TaskId, Event)>,
        pending_effects: Vec<PendingEffect>,
        settled: Vec<EffectId>,
    ) {
        self.store.begin().expect("the turn is taken");
        let batch = CommitBatch {
            new_effects: pending_effects,
            settled_effects: settled,
            ..self.batch(events)
        };
        self.store.commit(&batch).expect("the batch is committed");
        self.store.end();
    }

    /// Writes the index and syncs everything.
    pub(super) fn rest(&mut self) {
        self.store.begin().expect("the turn is taken");
        self.store.checkpoint(&self.world).expect("the store is brought to rest");
        self.store.end();
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.root().join(path)).expect("the file is there")
    }

    /// Returns every file of the folder with its text, except temporary files and the file of
    /// exchange slots, whose name differs in every process.
    pub(super) fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        collect(self.folder.root(), self.folder.root(), &mut files);
        files.sort();
        files
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = path.strip_prefix(root).expect("inside the folder").display().to_string();
        if path.is_dir() && name != "journal/tmp" {
            collect(root, &path, files);
        } else if path.is_file() && !name.starts_with("journal/marks-") {
            files.push((name, fs::read_to_string(&path).expect("text")));
        }
    }
}
