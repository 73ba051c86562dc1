//! Git worktrees of tasks: each task has its own folder and branch, so that several agents can work
//! on one repository at once.
//!
//! Uncommitted work is saved before a worktree is changed, nothing is removed by force, and git
//! executes nothing that the repository or an agent configures; see [`crate::workspace`]. Every
//! function can be called again after a crash at any point. This module does not know which task
//! has a worktree or when it is removed.

mod advance_base;
mod commit_work;
mod copy;
mod diff;
mod merge;
mod planted_git;
mod ports;
mod prepare;
mod private_git_dir;
mod project_repository;
mod remove;
mod restore;
mod salvage;
mod scratch_git_dir;
mod worktree_note;
mod worktree_paths;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use adjutant_model::TaskId;

pub use commit_work::CommittedWork;
pub use merge::{MergeMethod, MergeRequest};
pub use ports::PORTS;
pub use prepare::{PreparedWorktree, SetupRunner, WorktreeSetup};
pub use restore::{RestorableWork, RestoreTarget};
pub use salvage::SavedWork;
pub use worktree_paths::{FOLDER, branch};

use project_repository::ProjectRepository;
use worktree_paths::WorktreePaths;

use crate::workspace::InspectionError;
use crate::workspace::git::{GitCommand, GitConfigScope, split_nul};

/// Why an operation was refused, in words for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WorktreeError(pub String);

impl From<InspectionError> for WorktreeError {
    fn from(unseen: InspectionError) -> Self {
        Self(unseen.0)
    }
}

/// Whether tasks of a project can have worktrees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeSupport {
    /// The project is in no git repository.
    NoRepository,
    /// The project is in a git repository that cannot be used, or git is too old.
    Unusable(WorktreeError),
    /// The repository has no commit that a worktree could start from.
    NoCommit,
    Ready,
}

/// All task worktrees of a project.
#[derive(Debug, Clone)]
pub struct Worktrees {
    data: PathBuf,
    /// The folder that contains the data folder.
    home: PathBuf,
    /// The branch that work starts from; `None` means the branch the project is on.
    base: Option<String>,
}

impl Worktrees {
    /// `home` is the folder that contains the data folder.
    pub fn new(data: &Path, home: &Path, base: Option<String>) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Self { data: real(data), home: real(home), base }
    }

    /// Returns whether tasks of this project can have worktrees.
    pub fn support(&self) -> WorktreeSupport {
        if !project_repository::is_in_repository(&self.home) {
            return WorktreeSupport::NoRepository;
        }
        let base = self.base.as_deref().unwrap_or("HEAD");
        match ProjectRepository::find(&self.home).and_then(|repo| repo.commit(base)) {
            Ok(Some(_)) => WorktreeSupport::Ready,
            Ok(None) => WorktreeSupport::NoCommit,
            Err(error) => WorktreeSupport::Unusable(error),
        }
    }

    /// Finds the repository, and the paths of a task's worktree.
    fn locate(&self, task: &TaskId) -> Result<(ProjectRepository, WorktreePaths), WorktreeError> {
        let repo = ProjectRepository::find(&self.home)?;
        let place = WorktreePaths::for_task(&self.data, &repo.common_dir, task);
        Ok((repo, place))
    }

    /// Returns the git folder of the repository; `None` if there is no repository.
    pub fn common_dir(&self) -> Option<PathBuf> {
        ProjectRepository::find(&self.home).ok().map(|repo| repo.common_dir)
    }

    /// Returns git settings with the operator's identity for commits; `None` if there is none.
    pub fn identity_settings(&self) -> Option<String> {
        let asked = ["config", "--null", "--get-regexp", "^user\\.(name|email)$"];
        let output = GitCommand::new(&self.home, GitConfigScope::WithUser, &asked).output().ok()?;
        let mut text = "[user]\n".to_owned();
        // A setting that comes later replaces an earlier one, as it does for git.
        for setting in split_nul(&output).map(String::from_utf8_lossy) {
            let (key, value) = setting.split_once('\n')?;
            let key = key.strip_prefix("user.")?;
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
            let _ = writeln!(text, "\t{key} = \"{value}\"");
        }
        Some(text)
    }

    /// Returns the tasks with a worktree that may be removed when the task is over.
    pub fn removable_tasks(&self) -> Vec<TaskId> {
        let folder = self.data.join(FOLDER);
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let id = |entry: std::fs::DirEntry| TaskId::parse(entry.file_name().to_str()?).ok();
        let is_kept = |task: &TaskId| {
            worktree_note::WorktreeNote::read(&folder.join(format!("{task}.json")))
                .is_some_and(|note| note.kept)
        };
        entries.filter_map(id).filter(|task| !is_kept(task)).collect()
    }

    /// Returns the folder inside the task's worktree that corresponds to the project's folder;
    /// `None` if there is no repository.
    pub fn workspace(&self, task: &TaskId) -> Option<PathBuf> {
        let repo = ProjectRepository::find(&self.home).ok()?;
        let inner = self.home.strip_prefix(&repo.top).unwrap_or(Path::new(""));
        Some(self.worktree_path(task).join(inner))
    }

    /// Resets a task's worktree to its branch and removes everything else. All work
    /// must be committed.
    pub fn reset_to_branch(&self, task: &TaskId) -> Result<(), WorktreeError> {
        let (repo, place) = self.locate(task)?;
        match repo.commit(&place.reference())? {
            Some(commit) => prepare::check_out(&repo, &place, &commit),
            None => Ok(()),
        }
    }

    /// Returns the commit a folder is at, and whether it has uncommitted changes.
    pub fn head_and_dirty(&self, folder: &Path) -> Result<(Option<String>, bool), WorktreeError> {
        let repo = ProjectRepository::find(folder)?;
        let Some(commit) = repo.commit("HEAD")? else { return Ok((None, true)) };
        let bench = scratch_git_dir::ScratchGitDir::new(
            &repo,
            &repo.top,
            scratch_git_dir::FileConversion::AsConfigured,
        )?;
        // Without an index, every file counts as uncommitted.
        let _ = crate::workspace::shadow_repository::copy_index(&repo.git_dir, bench.dir());
        bench.call(&["update-index", "-q", "--ignore-missing", "--refresh"]).run()?;
        let differs = bench.call(&["diff-index", "--quiet", &commit]).run()?.code != Some(0);
        let others = ["ls-files", "-z", "--others", "--exclude-standard", "--directory"];
        let others = bench.call(&others).output()?;
        let ours = |name: &[u8]| {
            let path = repo.top.join(crate::workspace::byte_path::BytePath::new(name).as_path());
            path.starts_with(&self.data) || self.data.starts_with(&path)
        };
        let beside = split_nul(&others).any(|name| !ours(name));
        Ok((Some(commit), differs || beside))
    }

    /// Returns the path of a task's worktree, which may not exist.
    pub fn worktree_path(&self, task: &TaskId) -> PathBuf {
        self.data.join(FOLDER).join(task.as_str())
    }
}
