//! The diff of a task's work against its base.

use adjutant_model::TaskId;
use adjutant_model::evidence::DiffStat;

use super::project_repository::ProjectRepository;
use super::scratch_git_dir::{FileConversion, ScratchGitDir};
use super::{WorktreeError, Worktrees};
use crate::workspace::git::split_nul;

impl Worktrees {
    /// Returns whether a task has a branch: it is deleted when its work was merged or given up.
    pub fn has_branch(&self, task: &TaskId) -> bool {
        let found = self.locate(task).and_then(|(repo, place)| repo.commit(&place.reference()));
        found.is_ok_and(|commit| commit.is_some())
    }

    /// Returns the diff of a task's branch since it left its base, with a list of the files.
    /// Uncommitted work is not included.
    pub fn diff(&self, task: &TaskId) -> Result<Vec<u8>, WorktreeError> {
        let (repo, place) = self.locate(task)?;
        let merged = || repo.commit(&place.merged_reference());
        let commit = match repo.commit(&place.reference())? {
            Some(commit) => Some(commit),
            None => merged()?,
        };
        let gone = || WorktreeError(format!("there is no branch {}", place.branch));
        let commit = commit.ok_or_else(gone)?;
        let base = self.base_branch(&repo, &place)?;
        let fork = fork_point(&repo, &base, &commit)?;
        let bench = ScratchGitDir::new(&repo, &repo.top, FileConversion::Disabled)?;
        let asked =
            ["diff-tree", "-r", "-p", "--stat", "--no-ext-diff", "--no-textconv", "--no-color"];
        Ok(bench.call(&asked).with_args([&fork, &commit]).output()?)
    }
}

/// Counts the changes of a commit since it left its base.
pub(super) fn diff_stat(
    repo: &ProjectRepository,
    base: &str,
    commit: &str,
) -> Result<DiffStat, WorktreeError> {
    let fork = fork_point(repo, base, commit)?;
    let bench = ScratchGitDir::new(repo, &repo.top, FileConversion::Disabled)?;
    let asked = ["diff-tree", "-r", "-z", "--numstat", "--no-renames", &fork, commit];
    let output = bench.call(&asked).output()?;
    let mut changes = DiffStat::default();
    for item in split_nul(&output) {
        let item = String::from_utf8_lossy(item);
        let mut words = item.splitn(3, '\t');
        // For binary files git prints `-`.
        let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0_u64);
        changes.insertions += number();
        changes.deletions += number();
        changes.files += 1;
    }
    Ok(changes)
}

/// Returns the files that a commit changes since it left its base. A file that is not UTF-8 has
/// replacement characters in its name.
pub(super) fn changed_files(
    repo: &ProjectRepository,
    base: &str,
    commit: &str,
) -> Result<Vec<String>, WorktreeError> {
    files_between(repo, &fork_point(repo, base, commit)?, commit)
}

/// Returns the files in which two commits differ.
pub(super) fn files_between(
    repo: &ProjectRepository,
    from: &str,
    to: &str,
) -> Result<Vec<String>, WorktreeError> {
    let bench = ScratchGitDir::new(repo, &repo.top, FileConversion::Disabled)?;
    let asked = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", from, to];
    let output = bench.call(&asked).output()?;
    Ok(split_nul(&output).map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// Returns the merge base of a commit and its base branch.
fn fork_point(repo: &ProjectRepository, base: &str, commit: &str) -> Result<String, WorktreeError> {
    let name = format!("refs/heads/{base}");
    let gone = || WorktreeError(format!("the branch {base:?} no longer exists"));
    let base = repo.commit(&name)?.ok_or_else(gone)?;
    let unrelated = || WorktreeError("its branch has no common ancestor with its base".to_owned());
    repo.merge_base(&base, commit)?.ok_or_else(unrelated)
}
