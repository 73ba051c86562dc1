//! Tasks on hold: a fault with the files of one task must not stop the others.
//!
//! The changes that a commit could not make to the files of a task wait in `journal/held/`, one file
//! for each task. Later changes of the same task join them, in order. They are made once the fault
//! is gone: at the start of a turn, and when a folder is opened.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use adjutant_core::world::file_fault::FileFault;
use adjutant_model::command_text::shell_word;
use adjutant_model::{Status, TaskId};
use rustix::fs::{Access, AtFlags, accessat};
use rustix::io::Errno;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use super::disk::FolderDisk;
use super::journal::JournalOp;
use super::progress_marker::DataLoss;
use super::recover::redo_task;
use crate::batch::StoreVersion;
use crate::document_paths::{RUNS, companion_folder, run_folder, task_of_path};
use crate::store::StoreError;

/// Returns why a task is on hold. Reads only its own file, and takes no lock.
pub fn read_file_fault(root: &Path, id: &TaskId) -> Option<FileFault> {
    let text = fs::read_to_string(root.join(held_file(id))).ok()?;
    let held: HeldTask = serde_json::from_str(&text).ok()?;
    Some(held.fault())
}

/// The folder of the tasks on hold.
const HELD: &str = "journal/held";

/// The tasks on hold, as the folder has them.
#[derive(Default)]
pub(super) struct HeldTasks {
    tasks: BTreeMap<TaskId, HeldTask>,
    /// The time of the last change of the folder that was read.
    read_at: Option<(u64, i64, i64)>,
}

/// A task on hold, and the changes that wait.
#[derive(Serialize, Deserialize)]
pub(super) struct HeldTask {
    problem: String,
    cause: String,
    fix: String,
    /// The path that cannot be changed, relative to the data folder.
    pub(super) path: String,
    /// The last commit whose changes wait here.
    version: u64,
    pub(super) ops: Vec<JournalOp<'static>>,
}

/// A fault and the path that has it.
pub(super) struct PathFault {
    pub(super) path: String,
    pub(super) fault: FileFault,
}

impl HeldTask {
    fn new(fault: PathFault) -> Self {
        let PathFault { path, fault: FileFault { problem, cause, fix } } = fault;
        Self { problem, cause, fix, path, version: 0, ops: vec![] }
    }

    pub(super) fn fault(&self) -> FileFault {
        let (problem, cause, fix) = (self.problem.clone(), self.cause.clone(), self.fix.clone());
        FileFault { problem, cause, fix }
    }

    fn set_fault(&mut self, fault: PathFault) -> bool {
        let PathFault { path, fault: FileFault { problem, cause, fix } } = fault;
        let is_new = self.cause != cause || self.problem != problem;
        (self.problem, self.cause, self.fix, self.path) = (problem, cause, fix, path);
        is_new
    }

    /// Returns the status and the text that the task's file will have.
    fn final_text(&self) -> Option<(Status, &str)> {
        self.ops.iter().rev().find_map(|op| match op {
            JournalOp::Task { to, text, .. } => Some((Status::parse(to)?, &**text)),
            JournalOp::Put { .. } | JournalOp::Move { .. } => None,
        })
    }

    /// Returns the status folder in which the task's files lie meanwhile.
    fn place(&self) -> Option<Status> {
        self.ops.iter().find_map(|op| match op {
            JournalOp::Task { from, .. } => Status::parse(from.as_deref()?),
            JournalOp::Put { .. } | JournalOp::Move { .. } => None,
        })
    }

    /// Adds changes. Of the texts of one file, the first and the last are enough: no other ever
    /// reached the folder.
    fn push(&mut self, op: JournalOp<'static>) {
        let same = |other: &JournalOp<'_>| match (other, &op) {
            (JournalOp::Task { .. }, JournalOp::Task { .. }) => true,
            (JournalOp::Put { path, .. }, JournalOp::Put { path: other, .. }) => path == other,
            _ => false,
        };
        let is_last = self.ops.iter().skip(1).rposition(same).map(|at| at + 1);
        let moves_after =
            |at: usize| self.ops[at..].iter().any(|op| matches!(op, JournalOp::Move { .. }));
        match is_last.filter(|at| !moves_after(*at)) {
            Some(at) => self.ops[at] = op,
            None => self.ops.push(op),
        }
    }
}

impl HeldTasks {
    pub(super) fn faults(&self) -> BTreeMap<TaskId, FileFault> {
        self.tasks.iter().map(|(id, held)| (id.clone(), held.fault())).collect()
    }

    /// Returns true if changes of the task's files wait: then the files are not what they should be.
    pub(super) fn has_waiting_changes(&self, id: &TaskId) -> bool {
        self.tasks.get(id).is_some_and(|held| !held.ops.is_empty())
    }

    pub(super) fn final_text(&self, id: &TaskId) -> Option<(Status, &str)> {
        self.tasks.get(id)?.final_text()
    }

    pub(super) fn place(&self, id: &TaskId) -> Option<Status> {
        self.tasks.get(id)?.place()
    }

    /// Returns the last commit whose changes wait for a task; 0 if none wait.
    pub(super) fn version(&self, id: &TaskId) -> StoreVersion {
        StoreVersion(self.tasks.get(id).map_or(0, |held| held.version))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    pub(super) fn tasks(&self) -> impl Iterator<Item = (&TaskId, &HeldTask)> {
        self.tasks.iter()
    }
}

/// Returns the task whose files an operation changes.
pub(super) fn task_of_op(op: &JournalOp<'_>) -> Option<TaskId> {
    match op {
        JournalOp::Task { id, .. } => TaskId::parse(id).ok(),
        JournalOp::Put { path, .. } => task_of_path(path),
        JournalOp::Move { from, .. } => task_of_path(from),
    }
}

/// Copies an operation, so that it can outlive its commit.
fn into_owned(op: &JournalOp<'_>) -> JournalOp<'static> {
    let json = serde_json::to_string(op).expect("text and numbers always make JSON");
    serde_json::from_str(&json).expect("what was written can be read")
}

fn held_file(id: &TaskId) -> String {
    format!("{HELD}/{id}.json")
}

impl FolderDisk {
    /// Reads the tasks on hold again if another process changed them.
    pub(super) fn refresh_held(&mut self) -> Result<(), StoreError> {
        let folder = self.root().join(HELD);
        let read_at = match fs::metadata(&folder) {
            Ok(meta) => Some((meta.ino(), meta.mtime(), meta.mtime_nsec())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(StoreError::io("read", folder)(error)),
        };
        if read_at.is_some() && read_at == self.held.read_at {
            return Ok(());
        }
        self.held = HeldTasks { tasks: self.read_held()?, read_at };
        Ok(())
    }

    /// Reads every task on hold. A file that cannot be read is left out: it was not written by us.
    fn read_held(&self) -> Result<BTreeMap<TaskId, HeldTask>, StoreError> {
        let mut tasks = BTreeMap::new();
        for name in self.names(HELD)? {
            let Some(id) = name.strip_suffix(".json").and_then(|id| TaskId::parse(id).ok()) else {
                continue;
            };
            let text = self.read_text(&held_file(&id))?.unwrap_or_default();
            if let Ok(held) = serde_json::from_str(&text) {
                tasks.insert(id, held);
            }
        }
        Ok(tasks)
    }

    /// Puts a task on hold, with the changes of a commit that its files do not have.
    pub(super) fn hold(
        &mut self,
        id: &TaskId,
        fault: Option<PathFault>,
        version: StoreVersion,
        ops: &[&JournalOp<'_>],
    ) -> Result<(), StoreError> {
        self.refresh_held()?;
        let mut held = match (self.held.tasks.remove(id), fault) {
            (Some(held), None) => held,
            (Some(mut held), Some(fault)) => {
                held.set_fault(fault);
                held
            }
            (None, Some(fault)) => HeldTask::new(fault),
            (None, None) => return Ok(()),
        };
        // After a crash, the same commit comes a second time.
        if version.0 > held.version {
            for op in ops {
                held.push(into_owned(op));
            }
            held.version = version.0;
        }
        let written = self.write_held(id, &held);
        self.held.tasks.insert(id.clone(), held);
        written
    }

    fn write_held(&mut self, id: &TaskId, held: &HeldTask) -> Result<(), StoreError> {
        let text = serde_json::to_string(held).expect("text and numbers always make JSON");
        let path = held_file(id);
        self.make_folder_of(&path)?;
        let staged = self.stage(text)?;
        self.install(&staged, &path)
    }

    fn release(&mut self, id: &TaskId) -> Result<(), StoreError> {
        self.remove(&held_file(id))?;
        self.note_written(&held_file(id));
        self.held.tasks.remove(id);
        Ok(())
    }

    /// Makes the changes that wait, where that is possible by now.
    pub(super) fn retry_held(&mut self) -> Result<(), StoreError> {
        self.refresh_held()?;
        let ids: Vec<TaskId> = self.held.tasks.keys().cloned().collect();
        ids.iter().try_for_each(|id| self.retry_one(id))
    }

    fn retry_one(&mut self, id: &TaskId) -> Result<(), StoreError> {
        let Some(held) = self.held.tasks.remove(id) else { return Ok(()) };
        let redone = redo_task(self, held.ops.iter(), DataLoss::Nothing);
        let status = held.final_text().map(|(status, _)| status);
        self.held.tasks.insert(id.clone(), held);
        match self.fault_of(redone)? {
            Some(fault) => self.note_fault(id, fault),
            None => match self.probe(id, status) {
                Some(fault) => {
                    if let Some(held) = self.held.tasks.get_mut(id) {
                        held.ops.clear();
                    }
                    self.note_fault(id, fault)
                }
                None => self.release(id),
            },
        }
    }

    /// Records the fault of a task that is on hold already, if it changed.
    fn note_fault(&mut self, id: &TaskId, fault: PathFault) -> Result<(), StoreError> {
        let Some(mut held) = self.held.tasks.remove(id) else { return Ok(()) };
        let had_ops = !held.ops.is_empty();
        let written =
            if held.set_fault(fault) || !had_ops { self.write_held(id, &held) } else { Ok(()) };
        self.held.tasks.insert(id.clone(), held);
        written
    }

    /// Looks whether the folders of a task can be changed, puts the task on hold if not, and
    /// releases it if they can again.
    pub(super) fn check_folders(
        &mut self,
        id: &TaskId,
        status: Option<Status>,
    ) -> Result<(), StoreError> {
        if self.held.tasks.contains_key(id) {
            return Ok(());
        }
        match self.probe(id, status) {
            Some(fault) => self.hold(id, Some(fault), StoreVersion(0), &[]),
            None => Ok(()),
        }
    }

    /// Returns the fault of the first folder of a task that this process may not change.
    pub(super) fn probe(&self, id: &TaskId, status: Option<Status>) -> Option<PathFault> {
        let companion = status.map(|status| companion_folder(status, id));
        for folder in companion.into_iter().chain([run_folder(id)]) {
            if let Some(errno) = self.access_problem(&folder) {
                let error = StoreError::io("move", self.root().join(&folder))(errno.into());
                return self.path_fault(&error);
            }
        }
        None
    }

    /// Returns why a folder cannot be changed; `None` if it can, or is not a folder.
    fn access_problem(&self, folder: &str) -> Option<Errno> {
        let full = self.root().join(folder);
        if !fs::symlink_metadata(&full).is_ok_and(|meta| meta.is_dir()) {
            return None;
        }
        let wanted = Access::WRITE_OK | Access::EXEC_OK;
        accessat(&self.root_fd, folder, wanted, AtFlags::EACCESS).err()
    }

    /// Returns the fault of one task's files that made an operation fail. Any other failure, such
    /// as a full disk, is not the task's and stays an error.
    pub(super) fn fault_of<T>(
        &self,
        done: Result<T, StoreError>,
    ) -> Result<Option<PathFault>, StoreError> {
        match done {
            Ok(_) => Ok(None),
            Err(error) => self.path_fault(&error).map(Some).ok_or(error),
        }
    }

    pub(super) fn path_fault(&self, error: &StoreError) -> Option<PathFault> {
        let StoreError::Io { attempt, path, source } = error else { return None };
        let errno = Errno::from_io_error(source)?;
        if NOT_OF_ONE_TASK.contains(&errno) {
            return None;
        }
        let relative = path.strip_prefix(self.root()).ok()?.to_str()?.to_owned();
        task_of_path(&relative)?;
        let text = source.to_string();
        let text = text.split(" (os error").next().unwrap_or_default().to_lowercase();
        let (owner, fix) = self.owner_and_fix(&relative);
        let fault = FileFault {
            problem: problem_text(&relative, attempt).to_owned(),
            cause: format!("{}: {text}{owner}", path.display()),
            fix: format!("{fix}, then `adjutant doctor --fix`"),
        };
        Some(PathFault { path: relative, fault })
    }

    /// Returns the owner of a path in words, and the command that gives us the right to change it.
    fn owner_and_fix(&self, path: &str) -> (String, String) {
        let full = self.root().join(path);
        let named = full.to_string_lossy();
        let (word, own) = (shell_word(&named), geteuid().as_raw());
        match fs::symlink_metadata(&full) {
            Ok(meta) if meta.uid() != own => {
                let owner = if meta.uid() == 0 {
                    "root".to_owned()
                } else {
                    format!("user {}", meta.uid())
                };
                let fix = format!("`sudo chown -R {own} {word}`");
                (format!(" (owned by {owner})"), fix)
            }
            _ => (String::new(), format!("`chmod -R u+rwX {word}`")),
        }
    }

    /// Gives this process the right to change the files of a task on hold, as far as it may.
    pub(super) fn mend_rights(&self, path: &str) {
        let full = self.root().join(path);
        let Ok(meta) = fs::symlink_metadata(&full) else { return };
        if meta.is_symlink() || meta.uid() != geteuid().as_raw() {
            return;
        }
        let wanted = if meta.is_dir() { 0o700 } else { 0o600 };
        let _ =
            fs::set_permissions(&full, fs::Permissions::from_mode(meta.mode() & 0o7777 | wanted));
    }
}

/// Failures that come from the machine, not from the files of one task.
const NOT_OF_ONE_TASK: [Errno; 6] =
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOSPC, Errno::DQUOT, Errno::ROFS];

fn problem_text(path: &str, attempt: &str) -> &'static str {
    let is_read = matches!(attempt, "open" | "read" | "examine");
    let is_move = attempt == "move";
    let is_task_file = Path::new(path).extension().is_some_and(|end| end == "md");
    match (path.starts_with(&format!("{RUNS}/")), is_task_file) {
        (true, _) if is_read => "its run files cannot be read",
        (true, _) => "its run files cannot be written",
        (false, true) if is_move => "its file cannot be moved",
        (false, true) if is_read => "its file cannot be read",
        (false, true) => "its file cannot be written",
        (false, false) if is_move => "its folder cannot be moved",
        (false, false) if is_read => "its folder cannot be read",
        (false, false) => "its folder cannot be written",
    }
}
