//! Finds files that agents of this node left for their tasks and that other nodes do not have yet.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use adjutant_core::World;
use adjutant_model::relative_path::RelPath;
use adjutant_model::{NodeId, Status, TaskId};
use adjutant_store::document_paths::{companion_folder, run_folder};
use adjutant_store::replicated_file::{ReplicatedFile, TaskFolderKind};

/// The folder of a task in which agents leave files.
const OUTPUTS: &str = "outputs";
/// The only file of a run that decisions depend on.
const RESULT: &str = "run_result.json";

/// The most files sent per task, and the largest file.
const FILES_MAX: usize = 256;
const BYTES_MAX: u64 = 4 << 20;
/// How many levels of folders are searched.
const DEPTH_MAX: usize = 8;

/// The size and modification time of a file when it was last sent.
type FileStamp = (u64, Option<SystemTime>);

/// The files that other nodes have, as they were when sent.
#[derive(Debug, Default)]
pub struct OutputTracker {
    known: BTreeMap<PathBuf, FileStamp>,
}

/// A file that other nodes do not have in its current form.
pub struct ChangedOutput {
    pub file: ReplicatedFile,
    path: PathBuf,
    stamp: FileStamp,
}

impl OutputTracker {
    /// Returns the changed files of tasks that this node works on.
    pub fn find_changed(
        &mut self,
        root: &Path,
        world: &World,
        node: &NodeId,
    ) -> Vec<ChangedOutput> {
        let working = world.with_status(Status::InProgress);
        let own = working.filter(|task| task.history.node.as_ref() == Some(node));
        let ids: Vec<TaskId> = own.map(|task| task.id.clone()).collect();
        if ids.is_empty() {
            self.known.clear();
            return vec![];
        }
        ids.iter().flat_map(|id| self.changed_of_task(root, id)).collect()
    }

    fn changed_of_task(&self, root: &Path, id: &TaskId) -> Vec<ChangedOutput> {
        let companion = root.join(companion_folder(Status::InProgress, id));
        let mut found = Vec::new();
        walk(&companion.join(OUTPUTS), 0, &mut found);
        let outputs = found
            .into_iter()
            .filter_map(|path| self.read_changed(id, TaskFolderKind::Task, &companion, path));
        let runs = root.join(run_folder(id));
        let result = Some(runs.join(RESULT)).filter(|path| path.symlink_metadata().is_ok());
        let result =
            result.and_then(|path| self.read_changed(id, TaskFolderKind::Run, &runs, path));
        outputs.chain(result).collect()
    }

    /// Reads a file if it has changed. A file that is too large stays on this node.
    fn read_changed(
        &self,
        id: &TaskId,
        home: TaskFolderKind,
        folder: &Path,
        path: PathBuf,
    ) -> Option<ChangedOutput> {
        let metadata = path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
        let look = (metadata.len(), metadata.modified().ok());
        if metadata.len() > BYTES_MAX || self.known.get(&path) == Some(&look) {
            return None;
        }
        let inside = path.strip_prefix(folder).ok()?.to_str()?;
        let (task, inside) = (id.clone(), RelPath::parse(inside).ok()?);
        let content = fs::read(&path).ok()?;
        Some(ChangedOutput {
            file: ReplicatedFile { task, home, path: inside, content },
            path,
            stamp: look,
        })
    }

    /// Records that other nodes have these files.
    pub fn mark_sent(&mut self, files: Vec<ChangedOutput>) {
        self.known.extend(files.into_iter().map(|changed| (changed.path, changed.stamp)));
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
