//! The identity of a run, and its folder.

use std::path::{Path, PathBuf};

use adjutant_model::run_nonce::RunNonce;
use adjutant_model::{AgentId, TaskId};

use crate::attempt_files::AttemptFolder;

/// A run: one attempt of an agent at a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunRef {
    pub task: TaskId,
    pub attempt: u32,
    pub fence: u64,
    /// The random part of the run's token; `None` if an earlier version started the run.
    pub nonce: Option<RunNonce>,
    pub agent: AgentId,
}

impl RunRef {
    /// Returns the folder of all runs of the task.
    pub fn task_runs_folder(&self, root: &Path) -> PathBuf {
        task_runs_folder(root, &self.task)
    }

    pub fn attempt_folder(&self, root: &Path) -> AttemptFolder {
        attempt_folder(root, &self.task, self.attempt)
    }
}

pub fn attempt_folder(root: &Path, task: &TaskId, attempt: u32) -> AttemptFolder {
    AttemptFolder::new(&task_runs_folder(root, task).join("attempts").join(attempt.to_string()))
}

/// Returns whether an attempt was started on this machine: in a fleet it may have been on another.
pub fn was_started_here(root: &Path, task: &TaskId, attempt: u32) -> bool {
    attempt_folder(root, task, attempt).was_started()
}

fn task_runs_folder(root: &Path, task: &TaskId) -> PathBuf {
    root.join("runs").join(task.as_str())
}
