//! Nodes of a fleet, each with a folder of its own, for the conformance suite and for tests that
//! compare folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use adjutant_core::input::{FileChange, Found};
use adjutant_core::path::RelPath;
use adjutant_core::run::Heartbeat;
use adjutant_core::{TaskId, World};
use adjutant_store::conformance::Harness;
use adjutant_store::file::{Carried, Folder, Home};
use adjutant_store::{
    Batch, Caught, Company, Loaded, Mirror, Owed, Presence, Scope, Sequence, Store, StoreError,
    Version,
};
use tempfile::TempDir;

/// Nodes whose commits something orders. Handles are opened on one after the other, and what
/// people and agents do happens where the oldest handle is that still lives.
pub struct Nodes<Q> {
    order: Box<dyn Fn(usize) -> Q>,
    folders: Vec<(TempDir, Folder)>,
    opened: usize,
    live: Arc<Mutex<Vec<usize>>>,
}

/// A handle on a node's folder.
pub struct Handle<Q> {
    mirror: Mirror<Q>,
    node: usize,
    live: Arc<Mutex<Vec<usize>>>,
}

impl<Q: Sequence> Nodes<Q> {
    /// Makes nodes with empty folders. `order` is asked for a way to the order for each handle.
    pub fn new(count: usize, order: impl Fn(usize) -> Q + 'static) -> Self {
        let make = |_| {
            let home = tempfile::tempdir().expect("a temporary folder");
            let folder = Folder::init(home.path()).expect("a data folder");
            (home, folder)
        };
        let folders = (0..count).map(make).collect();
        Self { order: Box::new(order), folders, opened: 0, live: Arc::default() }
    }

    /// Opens the folder of a node.
    pub fn mirror(&self, node: usize) -> Result<(Mirror<Q>, Loaded), StoreError> {
        Mirror::open(&self.folders[node].1, name(node), (self.order)(node))
    }

    /// Returns the data folder of a node.
    pub fn folder(&self, node: usize) -> &Folder {
        &self.folders[node].1
    }

    fn present(&self) -> usize {
        locked(&self.live).first().copied().unwrap_or(0)
    }

    /// Carries what an agent wrote to the other nodes.
    fn carry(&self, node: usize, file: Carried) {
        let (mut mirror, _) = self.mirror(node).expect("the folder opens");
        mirror.begin().expect("the turn can be taken");
        mirror.carry(&[file], &name(node)).expect("it can be carried");
        mirror.end();
    }
}

/// Returns what a node is called.
pub fn name(node: usize) -> String {
    format!("node-{node}")
}

fn locked(live: &Mutex<Vec<usize>>) -> std::sync::MutexGuard<'_, Vec<usize>> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<Q: Sequence> Harness for Nodes<Q> {
    type Store = Handle<Q>;

    fn open(&mut self) -> (Handle<Q>, Loaded) {
        let node = self.opened % self.folders.len();
        self.opened += 1;
        let (mirror, loaded) = self.mirror(node).expect("the folder opens");
        locked(&self.live).push(node);
        (Handle { mirror, node, live: Arc::clone(&self.live) }, loaded)
    }

    fn write(&mut self, path: &str, text: &str) {
        let node = self.present();
        let full = self.folder(node).root().join(path);
        fs::create_dir_all(full.parent().expect("a file has a folder")).expect("a folder");
        fs::write(full, text).expect("a file");
        if let Some(file) = carried(path, text) {
            self.carry(node, file);
        }
    }

    fn remove(&mut self, path: &str) {
        fs::remove_file(self.folder(self.present()).root().join(path)).expect("a file to remove");
    }

    fn read(&mut self, path: &str) -> Option<String> {
        fs::read_to_string(self.folder(self.present()).root().join(path)).ok()
    }
}

/// Returns what is to be carried of a file that was written; none of a task's own file, which is
/// taken in as an edit.
fn carried(path: &str, text: &str) -> Option<Carried> {
    let parts: Vec<&str> = path.split('/').collect();
    let (home, task, rest) = match &parts[..] {
        ["tasks", _, task, rest @ ..] if !rest.is_empty() => (Home::Task, task, rest),
        ["runs", task, rest @ ..] if !rest.is_empty() => (Home::Run, task, rest),
        _ => return None,
    };
    let task = TaskId::parse(task).ok()?;
    let path = RelPath::parse(&rest.join("/")).ok()?;
    Some(Carried { task, home, path, content: text.into() })
}

/// Returns every file of a folder but the journal, which each has to itself.
pub fn files(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
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

impl<Q> Drop for Handle<Q> {
    fn drop(&mut self) {
        let mut live = locked(&self.live);
        if let Some(place) = live.iter().position(|node| *node == self.node) {
            live.remove(place);
        }
    }
}

impl<Q: Sequence> Store for Handle<Q> {
    fn begin(&mut self) -> Result<Caught, StoreError> {
        self.mirror.begin()
    }

    fn presume(&mut self, company: Company) {
        self.mirror.presume(company);
    }

    fn commit(&mut self, batch: &Batch) -> Result<Version, StoreError> {
        self.mirror.commit(batch)
    }

    fn end(&mut self) {
        self.mirror.end();
    }

    fn version(&self) -> Version {
        self.mirror.version()
    }

    fn edits(&mut self, scope: Scope<'_>) -> Result<Vec<FileChange>, StoreError> {
        self.mirror.edits(scope)
    }

    fn presence(&mut self, task: &TaskId, path: &RelPath) -> Result<Presence, StoreError> {
        self.mirror.presence(task, path)
    }

    fn result(&mut self, task: &TaskId) -> Result<Option<Found>, StoreError> {
        self.mirror.result(task)
    }

    fn heartbeat(&mut self, task: &TaskId) -> Result<Option<Heartbeat>, StoreError> {
        self.mirror.heartbeat(task)
    }

    fn salvaged(&mut self) -> Result<Vec<(TaskId, String)>, StoreError> {
        self.mirror.salvaged()
    }

    fn salvage(&mut self, task: &TaskId, name: &str) -> Result<Option<String>, StoreError> {
        self.mirror.salvage(task, name)
    }

    fn document(&mut self, task: &TaskId) -> Result<Option<String>, StoreError> {
        self.mirror.document(task)
    }

    fn owed(&self) -> Vec<Owed> {
        self.mirror.owed()
    }

    fn tend(&mut self, world: &World) -> Result<(), StoreError> {
        self.mirror.tend(world)
    }

    fn rest(&mut self, world: &World) -> Result<(), StoreError> {
        self.mirror.rest(world)
    }
}
