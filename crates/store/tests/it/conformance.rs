//! Runs the conformance suite on every store of this crate.

use std::fs;

use adjutant_store::file::DataFolder;
use adjutant_store::{FileStore, LoadedStore, MemoryStore};
use adjutant_testkit::conformance::StoreHarness;
use tempfile::TempDir;

#[derive(Default)]
struct MemoryHarness(MemoryStore);

impl StoreHarness for MemoryHarness {
    type Store = MemoryStore;

    fn open(&mut self) -> (MemoryStore, LoadedStore) {
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

struct FileHarness {
    _home: TempDir,
    folder: DataFolder,
    index: IndexFate,
}

/// Whether `open` removes the index first.
#[derive(PartialEq)]
enum IndexFate {
    Kept,
    Lost,
}

impl FileHarness {
    fn new(index: IndexFate) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = DataFolder::init(home.path()).expect("a data folder");
        Self { _home: home, folder, index }
    }
}

impl StoreHarness for FileHarness {
    type Store = FileStore;

    fn open(&mut self) -> (FileStore, LoadedStore) {
        let index = self.folder.root().join("journal/index");
        if self.index == IndexFate::Lost && index.exists() {
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
    adjutant_testkit::conformance!(super::MemoryHarness::default());
}

mod files {
    adjutant_testkit::conformance!(super::FileHarness::new(super::IndexFate::Kept));
}

/// The index can be removed at any time.
mod files_without_index {
    adjutant_testkit::conformance!(super::FileHarness::new(super::IndexFate::Lost));
}
