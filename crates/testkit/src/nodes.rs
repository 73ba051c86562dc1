//! Nodes of a fleet, each with its own folder, for the conformance suite and for tests that compare
//! folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use adjutant_core::World;
use adjutant_core::input::{FileChange, FoundResult};
use adjutant_core::world::file_fault::FileFault;
use adjutant_model::TaskId;
use adjutant_model::relative_path::RelPath;
use adjutant_model::run::RunHeartbeat;
use adjutant_replication::replicated_store::{CommitLog, ReplicatedStore};
use adjutant_store::file::DataFolder;
use adjutant_store::replicated_file::{ReplicatedFile, TaskFolderKind};
use adjutant_store::{
    CommitBatch, EditScope, FileAvailability, FleetStore, LoadedStore, PendingEffect, Store,
    StoreError, StoreUpdate, StoreVersion,
};
use parking_lot::Mutex;
use tempfile::TempDir;

use crate::conformance::StoreHarness;

/// Nodes with a shared commit order. Handles are opened on one node after the other; people and
/// agents act on the node of the oldest handle that still exists.
pub struct TestFleet<Q> {
    commit_order: Box<dyn Fn(usize) -> Q>,
    folders: Vec<(TempDir, DataFolder)>,
    opened: usize,
    live_handles: Arc<Mutex<Vec<usize>>>,
}

pub struct NodeHandle<Q> {
    replica: ReplicatedStore<Q>,
    node: usize,
    live_handles: Arc<Mutex<Vec<usize>>>,
}

impl<Q: CommitLog> TestFleet<Q> {
    /// Makes nodes with empty folders. `order` gives each handle its access to the commit order.
    pub fn new(count: usize, order: impl Fn(usize) -> Q + 'static) -> Self {
        let make = |_| {
            let home = tempfile::tempdir().expect("a temporary folder");
            let folder = DataFolder::init(home.path()).expect("a data folder");
            (home, folder)
        };
        let folders = (0..count).map(make).collect();
        Self { commit_order: Box::new(order), folders, opened: 0, live_handles: Arc::default() }
    }

    pub fn open_replica(
        &self,
        node: usize,
    ) -> Result<(ReplicatedStore<Q>, LoadedStore), StoreError> {
        ReplicatedStore::open(&self.folders[node].1, node_name(node), (self.commit_order)(node))
    }

    pub fn folder(&self, node: usize) -> &DataFolder {
        &self.folders[node].1
    }

    fn acting_node(&self) -> usize {
        self.live_handles.lock().first().copied().unwrap_or(0)
    }

    /// Replicates a file that an agent wrote to the other nodes.
    fn replicate_file(&self, node: usize, file: ReplicatedFile) {
        let (mut replica, _) = self.open_replica(node).expect("the folder opens");
        replica.begin().expect("the turn can be taken");
        replica.replicate_files(&[file], &node_name(node)).expect("it can be replicated");
        replica.end();
    }
}

pub fn node_name(node: usize) -> String {
    format!("node-{node}")
}

impl<Q: CommitLog> StoreHarness for TestFleet<Q> {
    type Store = NodeHandle<Q>;

    fn open(&mut self) -> (NodeHandle<Q>, LoadedStore) {
        let node = self.opened % self.folders.len();
        self.opened += 1;
        let (replica, loaded) = self.open_replica(node).expect("the folder opens");
        self.live_handles.lock().push(node);
        (NodeHandle { replica, node, live_handles: Arc::clone(&self.live_handles) }, loaded)
    }

    fn write(&mut self, path: &str, text: &str) {
        let node = self.acting_node();
        let full = self.folder(node).root().join(path);
        fs::create_dir_all(full.parent().expect("a file has a folder")).expect("a folder");
        fs::write(full, text).expect("a file");
        if let Some(file) = file_to_replicate(path, text) {
            self.replicate_file(node, file);
        }
    }

    fn remove(&mut self, path: &str) {
        fs::remove_file(self.folder(self.acting_node()).root().join(path))
            .expect("a file to remove");
    }

    fn read(&mut self, path: &str) -> Option<String> {
        fs::read_to_string(self.folder(self.acting_node()).root().join(path)).ok()
    }
}

/// Returns the file to replicate; `None` for a task file, which is detected as an edit.
fn file_to_replicate(path: &str, text: &str) -> Option<ReplicatedFile> {
    let parts: Vec<&str> = path.split('/').collect();
    let (home, task, rest) = match &parts[..] {
        ["tasks", _, task, rest @ ..] if !rest.is_empty() => (TaskFolderKind::Task, task, rest),
        ["runs", task, rest @ ..] if !rest.is_empty() => (TaskFolderKind::Run, task, rest),
        _ => return None,
    };
    let task = TaskId::parse(task).ok()?;
    let path = RelPath::parse(&rest.join("/")).ok()?;
    Some(ReplicatedFile { task, home, path, content: text.into() })
}

/// Returns every file of a folder except the journal, which differs between nodes.
pub fn files_without_journal(folder: &DataFolder) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(folder.root(), folder.root(), &mut files);
    files.retain(|path, _| !path.starts_with("journal/"));
    files
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else if path.is_file() {
            let name = path.strip_prefix(root).expect("it is inside").display().to_string();
            files.insert(name, fs::read(&path).expect("a file"));
        }
    }
}

impl<Q> Drop for NodeHandle<Q> {
    fn drop(&mut self) {
        let mut live = self.live_handles.lock();
        if let Some(place) = live.iter().position(|node| *node == self.node) {
            live.remove(place);
        }
    }
}

impl<Q: CommitLog> Store for NodeHandle<Q> {
    fn begin(&mut self) -> Result<StoreUpdate, StoreError> {
        self.replica.begin()
    }

    fn commit(&mut self, batch: &CommitBatch) -> Result<StoreVersion, StoreError> {
        self.replica.commit(batch)
    }

    fn end(&mut self) {
        self.replica.end();
    }

    fn file_faults(&self) -> BTreeMap<TaskId, FileFault> {
        self.replica.file_faults()
    }

    fn version(&self) -> StoreVersion {
        self.replica.version()
    }

    fn detect_edits(&mut self, scope: EditScope<'_>) -> Result<Vec<FileChange>, StoreError> {
        self.replica.detect_edits(scope)
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<FileAvailability, StoreError> {
        self.replica.presence(task, path)
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<FoundResult>, StoreError> {
        self.replica.result(task)
    }

    fn last_heartbeat(&mut self, task: &TaskId) -> Result<Option<RunHeartbeat>, StoreError> {
        self.replica.last_heartbeat(task)
    }

    fn list_salvage(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        self.replica.list_salvage()
    }

    fn read_salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        self.replica.read_salvage(task, name)
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        self.replica.document(task)
    }

    fn pending_effects(&self) -> Vec<PendingEffect> {
        self.replica.pending_effects()
    }

    fn maintain(&mut self, world: &World) -> Result<(), StoreError> {
        self.replica.maintain(world)
    }

    fn checkpoint(&mut self, world: &World) -> Result<(), StoreError> {
        self.replica.checkpoint(world)
    }
}
