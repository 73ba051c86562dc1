//! Restores uncommitted work that was saved from a worktree, byte for byte.

use std::fs;
use std::path::{Path, PathBuf};

use adjutant_model::TaskId;
use adjutant_process::atomic_file::write_atomic;

use super::prepare::{check_out, io_error_text, register_worktree};
use super::project_repository::ProjectRepository;
use super::salvage::{names_between, read_contents};
use super::scratch_git_dir::{FileConversion, ScratchGitDir};
use super::worktree_note::WorktreeNote;
use super::worktree_paths::{FOLDER, SALVAGE_PREFIX};
use super::{WorktreeError, Worktrees};
use crate::workspace::byte_path::BytePath;

/// Saved work that can be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestorableWork {
    pub task: TaskId,
    /// The attempt that left the work; with a suffix `-2`, `-3`, … if it was saved more than once.
    pub attempt: String,
    /// The git reference that holds the work.
    pub reference: String,
    pub commit: String,
    /// The files that differ from the last commit, for display.
    pub files: Vec<String>,
}

/// Where saved work is restored to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreTarget {
    /// The task's worktree, which is created again if it is gone.
    Worktree,
    /// A folder that does not exist yet or is empty.
    Folder(PathBuf),
}

impl Worktrees {
    /// Lists the saved work of one task or of all, ordered by task and attempt.
    pub fn saved_work(&self, task: Option<&TaskId>) -> Result<Vec<RestorableWork>, WorktreeError> {
        let repo = ProjectRepository::find(&self.home)?;
        let prefix = task
            .map_or_else(|| SALVAGE_PREFIX.to_owned(), |task| format!("{SALVAGE_PREFIX}/{task}"));
        let bench = ScratchGitDir::new(&repo, &repo.top, FileConversion::Disabled)?;
        let mut found = Vec::new();
        for (reference, commit) in repo.references_below(&prefix)? {
            let Some((of, attempt)) = parse_reference(&reference) else { continue };
            let files = changed(&repo, &bench, &commit)?;
            let files = files.iter().map(|name| BytePath::new(name).to_display()).collect();
            found.push(RestorableWork { task: of, attempt, reference, commit, files });
        }
        found.sort_by_key(|one| (one.task.clone(), attempt_order(&one.attempt)));
        Ok(found)
    }

    /// Restores saved work and returns its folder. Existing files are not overwritten.
    pub fn restore(
        &self,
        what: &RestorableWork,
        into: &RestoreTarget,
    ) -> Result<PathBuf, WorktreeError> {
        match into {
            RestoreTarget::Worktree => self.restore_in_place(what),
            RestoreTarget::Folder(folder) => {
                let repo = ProjectRepository::find(&self.home)?;
                let is_there = folder.symlink_metadata().is_ok();
                if is_there && !fs::read_dir(folder).is_ok_and(|mut all| all.next().is_none()) {
                    let what = "exists and is not an empty folder; name another";
                    return Err(WorktreeError(format!("{} {what}", folder.display())));
                }
                fs::create_dir_all(folder).map_err(io_error_text("create", folder))?;
                write_commit(&repo, folder, &what.commit)?;
                Ok(folder.clone())
            }
        }
    }

    fn restore_in_place(&self, what: &RestorableWork) -> Result<PathBuf, WorktreeError> {
        let (repo, place) = self.locate(&what.task)?;
        if place.private_git_dir.exists() {
            let why = "a run is using the work tree, or its work was not checked yet";
            return Err(WorktreeError(format!(
                "{why}; restore it into another folder with --to DIR"
            )));
        }
        let parent = repo.commit(&format!("{}^1", what.commit))?;
        let elsewhere = "restore it into another folder with --to DIR";
        let Some(parent) = parent else {
            return Err(WorktreeError(format!("its parent commit is missing; {elsewhere}")));
        };
        let name = place.reference();
        let branch = repo.commit(&name)?;
        if branch.is_none() {
            repo.set_reference(&name, &parent, None)?;
        }
        let branch = branch.unwrap_or_else(|| parent.clone());
        if branch != parent {
            let why = format!("{} has changed since this work was saved", place.branch);
            return Err(WorktreeError(format!("{why}; {elsewhere}")));
        }
        let base = self.base_branch(&repo, &place)?;
        if place.tree.symlink_metadata().is_ok() {
            let now = read_contents(&repo, &place, Some(&branch), FileConversion::AsConfigured)?;
            if repo.tree_of(&branch)? != now.tree {
                let why = format!("{} has uncommitted work", place.tree.display());
                return Err(WorktreeError(format!("{why}; {elsewhere}")));
            }
        } else {
            let folder = self.data.join(FOLDER);
            fs::create_dir_all(&folder).map_err(io_error_text("create", &folder))?;
            let ignore = folder.join(".gitignore");
            write_atomic(&ignore, b"*\n").map_err(io_error_text("write", &ignore))?;
            register_worktree(&repo, &place)?;
            check_out(&repo, &place, &branch)?;
        }
        // `kept` stops the automatic removal of the restored work.
        let ready = WorktreeNote::read(&place.note).is_some_and(|note| note.ready);
        WorktreeNote { base, ready, kept: true }.write(&place.note)?;
        update_files(&repo, &place.tree, &branch, &what.commit)?;
        Ok(place.tree)
    }
}

/// Updates the files of a worktree from one commit to another, without changing its own index.
fn update_files(
    repo: &ProjectRepository,
    tree: &Path,
    from: &str,
    to: &str,
) -> Result<(), WorktreeError> {
    let bench = ScratchGitDir::new(repo, tree, FileConversion::Disabled)?;
    bench.call(&["read-tree", from]).output()?;
    bench.call(&["update-index", "-q", "--refresh"]).run()?;
    bench.call(&["read-tree", "-m", "-u", from, to]).output().map(drop).or_else(|_| {
        // With converted line endings every file looks changed; the caller made sure that
        // nothing is uncommitted.
        bench.call(&["read-tree", "--reset", "-u", to]).output().map(drop)
    })?;
    // Files that were not updated may still have converted line endings.
    Ok(bench.call(&["checkout-index", "--all", "--force"]).output().map(drop)?)
}

/// Writes all files of a commit, byte for byte.
fn write_commit(
    repo: &ProjectRepository,
    folder: &Path,
    commit: &str,
) -> Result<(), WorktreeError> {
    let folder = folder.canonicalize().map_err(io_error_text("find", folder))?;
    let bench = ScratchGitDir::new(repo, &folder, FileConversion::Disabled)?;
    bench.call(&["read-tree", commit]).output()?;
    Ok(bench.call(&["checkout-index", "--all"]).output().map(drop)?)
}

/// Returns the files in which a commit differs from its first parent.
fn changed(
    repo: &ProjectRepository,
    bench: &ScratchGitDir,
    commit: &str,
) -> Result<Vec<Vec<u8>>, WorktreeError> {
    match repo.commit(&format!("{commit}^1"))? {
        Some(parent) => names_between(bench, &parent, commit),
        None => Ok(vec![]),
    }
}

fn parse_reference(reference: &str) -> Option<(TaskId, String)> {
    let rest = reference.strip_prefix(SALVAGE_PREFIX)?.strip_prefix('/')?;
    let (task, attempt) = rest.split_once('/')?;
    Some((TaskId::parse(task).ok()?, attempt.to_owned()))
}

/// Returns the sort key of an attempt.
fn attempt_order(attempt: &str) -> (u32, u32) {
    let (number, again) = attempt.split_once('-').unwrap_or((attempt, "1"));
    (number.parse().unwrap_or(0), again.parse().unwrap_or(0))
}
