//! The conformance suite over every store of this crate.

use std::fs;

use adjutant_store::conformance::Harness;
use adjutant_store::file::Folder;
use adjutant_store::{FileStore, Loaded, MemoryStore};
use tempfile::TempDir;

/// A store in memory; clones share it.
#[derive(Default)]
struct Memory(MemoryStore);

impl Harness for Memory {
    type Store = MemoryStore;

    fn open(&mut self) -> (MemoryStore, Loaded) {
        let mut store = self.0.clone();
        let loaded = store.open();
        (store, loaded)
    }

    fn write(&mut self, path: &str, text: &str) {
        self.0.write(path, text);
    }

    fn remove(&mut self, path: &str) {
        self.0.remove(path);
    }

    fn read(&mut self, path: &str) -> Option<String> {
        self.0.file(path)
    }
}

/// A folder of files.
struct Files {
    _home: TempDir,
    folder: Folder,
    index: Index,
}

/// What becomes of the index before the folder is opened.
#[derive(PartialEq)]
enum Index {
    Kept,
    Lost,
}

impl Files {
    fn new(index: Index) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::init(home.path()).expect("a data folder");
        Self { _home: home, folder, index }
    }
}

impl Harness for Files {
    type Store = FileStore;

    fn open(&mut self) -> (FileStore, Loaded) {
        let index = self.folder.root().join("journal/index");
        if self.index == Index::Lost && index.exists() {
            fs::remove_file(index).expect("the index can be removed");
        }
        FileStore::open(&self.folder).expect("the folder opens")
    }

    fn write(&mut self, path: &str, text: &str) {
        let path = self.folder.root().join(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn remove(&mut self, path: &str) {
        fs::remove_file(self.folder.root().join(path)).expect("a file to remove");
    }

    fn read(&mut self, path: &str) -> Option<String> {
        fs::read_to_string(self.folder.root().join(path)).ok()
    }
}

mod memory {
    adjutant_store::conformance!(super::Memory::default());
}

mod files {
    adjutant_store::conformance!(super::Files::new(super::Index::Kept));
}

/// The index can be removed at any time.
mod files_without_index {
    adjutant_store::conformance!(super::Files::new(super::Index::Lost));
}
