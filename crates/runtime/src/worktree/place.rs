//! Where the work tree of a task lies, and what its branch and references are called.

use std::path::{Path, PathBuf};

use adjutant_core::TaskId;

/// The folder of the work trees, in the data folder.
pub const FOLDER: &str = "worktrees";

/// The references that hold what lay uncommitted.
pub(super) const SAVED: &str = "refs/adjutant/salvage";

/// Where everything about a task's work tree lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The work tree.
    pub(super) tree: PathBuf,
    /// What is noted about it.
    pub(super) note: PathBuf,
    /// The folder for what its runs do not keep.
    pub(super) temporary: PathBuf,
    /// The git folder of the work tree.
    pub(super) admin: PathBuf,
    /// The git folder of a run that is confined, while it works.
    pub(super) own: PathBuf,
    /// Its branch, by its short name.
    pub(super) branch: String,
    task: String,
}

impl Place {
    /// Says where everything about the work tree of a task lies.
    pub(super) fn of(data: &Path, common_dir: &Path, task: &TaskId) -> Self {
        let folder = data.join(FOLDER);
        Self {
            tree: folder.join(task.as_str()),
            note: folder.join(format!("{task}.json")),
            temporary: folder.join(format!("{task}.tmp")),
            admin: common_dir.join("worktrees").join(format!("adjutant-{task}")),
            own: folder.join(format!("{task}.git")),
            branch: branch(task),
            task: task.to_string(),
        }
    }

    /// Returns the branch by its whole name.
    pub(super) fn reference(&self) -> String {
        format!("refs/heads/{}", self.branch)
    }

    /// Returns the reference for what an attempt left uncommitted.
    pub(super) fn saved(&self, attempt: u32, again: u32) -> String {
        let folder = format!("{SAVED}/{}", self.task);
        if again == 1 {
            format!("{folder}/{attempt}")
        } else {
            format!("{folder}/{attempt}-{again}")
        }
    }

    /// Returns the reference for the commit that is about to become the base.
    pub(super) fn merging(&self) -> String {
        format!("refs/adjutant/merging/{}", self.task)
    }

    /// Returns the reference that keeps the commits of work that was merged in another form.
    pub(super) fn merged(&self) -> String {
        format!("refs/adjutant/merged/{}", self.task)
    }
}

/// Returns what the branch of a task is called.
pub fn branch(task: &TaskId) -> String {
    format!("adjutant/{task}")
}
