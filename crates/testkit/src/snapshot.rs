//! Every file of a folder, byte for byte: to compare, copy and restore.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The content of a folder. Empty folders are copied, but do not count in comparisons.
#[derive(Clone, Default)]
pub struct FolderSnapshot {
    /// The content of each file, by its path relative to the folder.
    pub files: BTreeMap<String, Vec<u8>>,
    folders: Vec<String>,
}

impl FolderSnapshot {
    pub fn of_folder(root: &Path) -> Self {
        let mut snapshot = Self::default();
        snapshot.read(root, "");
        snapshot
    }

    fn read(&mut self, folder: &Path, prefix: &str) {
        let entries = fs::read_dir(folder).expect("a folder that can be read");
        for entry in entries.map(|entry| entry.expect("an entry")) {
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type().expect("a kind").is_dir() {
                self.read(&entry.path(), &format!("{name}/"));
                self.folders.push(name);
            } else {
                self.files.insert(name, fs::read(entry.path()).expect("a file"));
            }
        }
        self.folders.sort_unstable();
    }

    /// Returns the snapshot without the files whose paths start with `prefix`.
    #[must_use]
    pub fn without(mut self, prefix: &str) -> Self {
        self.files.retain(|path, _| !path.starts_with(prefix));
        self
    }

    /// Writes everything into a folder, which is made if missing.
    pub fn write_to(&self, root: &Path) {
        fs::create_dir_all(root).expect("a folder");
        for folder in &self.folders {
            fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        for (path, bytes) in &self.files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
            fs::write(&path, bytes).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("permissions");
        }
    }

    /// Describes how two folders differ, one line for each file.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let paths = self.files.keys().chain(other.files.keys());
        let paths: std::collections::BTreeSet<&String> = paths.collect();
        let differs = |path: &&String| self.files.get(*path) != other.files.get(*path);
        let show = |bytes: Option<&Vec<u8>>| {
            bytes.map_or("nothing".to_owned(), |b| format!("{:?}", String::from_utf8_lossy(b)))
        };
        let line = |path: &String| {
            let (ours, theirs) = (show(self.files.get(path)), show(other.files.get(path)));
            format!("{path}:\n    {ours}\n    {theirs}")
        };
        paths.into_iter().filter(differs).map(line).collect()
    }
}

impl PartialEq for FolderSnapshot {
    fn eq(&self, other: &Self) -> bool {
        self.files == other.files
    }
}

/// Makes a temporary folder with fast files: in memory, if possible.
pub fn fast_temp_folder() -> TempDir {
    let memory = PathBuf::from("/dev/shm");
    let quick = tempfile::Builder::new().prefix("adjutant-").tempdir_in(memory);
    quick.or_else(|_| tempfile::tempdir()).expect("a temporary folder")
}
