//! A run, and where it lies.

use std::path::{Path, PathBuf};

use adjutant_core::{AgentId, TaskId};

use crate::shim::files::Folder;

/// A run: one attempt of an agent at a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The task.
    pub task: TaskId,
    /// The number of the run.
    pub attempt: u32,
    /// The fence of its lease.
    pub fence: u64,
    /// Who works on it.
    pub agent: AgentId,
}

impl Run {
    /// Returns the folder of all runs of the task.
    pub(super) fn runs(&self, root: &Path) -> PathBuf {
        runs(root, &self.task)
    }

    /// Returns the folder of the run.
    pub(crate) fn folder(&self, root: &Path) -> Folder {
        folder(root, &self.task, self.attempt)
    }
}

/// Returns the folder of an attempt.
pub(super) fn folder(root: &Path, task: &TaskId, attempt: u32) -> Folder {
    Folder::at(&runs(root, task).join("attempts").join(attempt.to_string()))
}

/// Says whether an attempt was started here: in a fleet it may have been elsewhere.
pub(crate) fn was_here(root: &Path, task: &TaskId, attempt: u32) -> bool {
    folder(root, task, attempt).was_started()
}

fn runs(root: &Path, task: &TaskId) -> PathBuf {
    root.join("runs").join(task.as_str())
}
