//! The paths, branch and references of a task's worktree.

use std::path::{Path, PathBuf};

use adjutant_model::TaskId;

/// The folder of the worktrees, in the data folder.
pub const FOLDER: &str = "worktrees";

/// The prefix of the references that hold saved uncommitted work.
pub(super) const SALVAGE_PREFIX: &str = "refs/adjutant/salvage";

/// The paths of a task's worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorktreePaths {
    pub(super) tree: PathBuf,
    /// The file of its [`WorktreeNote`](super::worktree_note::WorktreeNote).
    pub(super) note: PathBuf,
    /// The folder for temporary files of its runs.
    pub(super) temporary: PathBuf,
    /// The worktree's git folder inside the repository.
    pub(super) admin_dir: PathBuf,
    /// The run's own git folder, while a sandboxed run works.
    pub(super) private_git_dir: PathBuf,
    /// The short name of the branch.
    pub(super) branch: String,
    task: String,
}

impl WorktreePaths {
    pub(super) fn for_task(data: &Path, common_dir: &Path, task: &TaskId) -> Self {
        let folder = data.join(FOLDER);
        Self {
            tree: folder.join(task.as_str()),
            note: folder.join(format!("{task}.json")),
            temporary: folder.join(format!("{task}.tmp")),
            admin_dir: common_dir.join("worktrees").join(format!("adjutant-{task}")),
            private_git_dir: folder.join(format!("{task}.git")),
            branch: branch(task),
            task: task.to_string(),
        }
    }

    /// Returns the full name of the branch.
    pub(super) fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Returns the reference for uncommitted work of an attempt; `again` counts from 1.
    pub(super) fn salvage_reference(&self, attempt: u32, again: u32) -> String {
        let folder = format!("{SALVAGE_PREFIX}/{}", self.task);
        if again == 1 {
            format!("{folder}/{attempt}")
        } else {
            format!("{folder}/{attempt}-{again}")
        }
    }

    /// Returns the reference for the commit that is about to become the base.
    pub(super) fn merging_reference(&self) -> String {
        format!("refs/adjutant/merging/{}", self.task)
    }

    /// Returns the reference that keeps the original commits after a squash or rebase.
    pub(super) fn merged_reference(&self) -> String {
        format!("refs/adjutant/merged/{}", self.task)
    }
}

/// Returns the name of a task's branch.
pub fn branch(task: &TaskId) -> String {
    format!("adjutant/{task}")
}
