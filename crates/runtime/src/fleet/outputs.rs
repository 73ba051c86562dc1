//! What agents of this node left for their tasks, as far as the other nodes do not have it.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use adjutant_core::path::RelPath;
use adjutant_core::{NodeId, Status, TaskId, World};
use adjutant_store::document::{companion, run_folder};
use adjutant_store::file::{Carried, Home};

/// The folder of a task that agents leave things in.
const OUTPUTS: &str = "outputs";
/// The one file of a run that decisions are made on.
const RESULT: &str = "run_result.json";

/// The most files of a task that are carried, and the largest.
const FILES_MAX: usize = 256;
const BYTES_MAX: u64 = 4 << 20;
/// How deep folders in folders are looked into.
const DEPTH_MAX: usize = 8;

/// What a file looked like when it was last carried.
type Look = (u64, Option<SystemTime>);

/// What the others have.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    known: BTreeMap<PathBuf, Look>,
}

/// A file that the others do not have as it is.
pub(super) struct Changed {
    pub(super) file: Carried,
    path: PathBuf,
    look: Look,
}

impl Outputs {
    /// Returns what has changed for tasks that this node works on.
    pub(super) fn changed(&mut self, root: &Path, world: &World, node: &NodeId) -> Vec<Changed> {
        let working = world.with_status(Status::InProgress);
        let own = working.filter(|task| task.trials.node.as_ref() == Some(node));
        let ids: Vec<TaskId> = own.map(|task| task.id.clone()).collect();
        if ids.is_empty() {
            self.known.clear();
            return vec![];
        }
        ids.iter().flat_map(|id| self.of(root, id)).collect()
    }

    fn of(&self, root: &Path, id: &TaskId) -> Vec<Changed> {
        let companion = root.join(companion(Status::InProgress, id));
        let mut found = Vec::new();
        walk(&companion.join(OUTPUTS), 0, &mut found);
        let outputs =
            found.into_iter().filter_map(|path| self.read(id, Home::Task, &companion, path));
        let runs = root.join(run_folder(id));
        let result = Some(runs.join(RESULT)).filter(|path| path.symlink_metadata().is_ok());
        let result = result.and_then(|path| self.read(id, Home::Run, &runs, path));
        outputs.chain(result).collect()
    }

    /// Reads a file that has changed. One that is too large stays on the node it was made on.
    fn read(&self, id: &TaskId, home: Home, folder: &Path, path: PathBuf) -> Option<Changed> {
        let metadata = path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
        let look = (metadata.len(), metadata.modified().ok());
        if metadata.len() > BYTES_MAX || self.known.get(&path) == Some(&look) {
            return None;
        }
        let inside = path.strip_prefix(folder).ok()?.to_str()?;
        let (task, inside) = (id.clone(), RelPath::parse(inside).ok()?);
        let content = fs::read(&path).ok()?;
        Some(Changed { file: Carried { task, home, path: inside, content }, path, look })
    }

    /// Takes note that the others have these.
    pub(super) fn sent(&mut self, files: Vec<Changed>) {
        self.known.extend(files.into_iter().map(|changed| (changed.path, changed.look)));
    }
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<DirEntry> = entries.flatten().collect();
    entries.sort_by_key(DirEntry::file_name);
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEPTH_MAX => walk(&entry.path(), depth + 1, found),
            Ok(kind) if kind.is_file() && found.len() < FILES_MAX => found.push(entry.path()),
            Ok(_) | Err(_) => {}
        }
    }
}
