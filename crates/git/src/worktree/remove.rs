//! Removes the worktree of a finished task: only what is saved, and nothing by force.

use std::path::Path;
use std::{fs, io};

use adjutant_model::TaskId;

use super::prepare::{io_error_text, remove_if_there};
use super::project_repository::ProjectRepository;
use super::salvage::{SaveResult, SavedWork, save};
use super::worktree_paths::WorktreePaths;
use super::{WorktreeError, Worktrees, private_git_dir};

impl Worktrees {
    /// Saves uncommitted work and removes a task's worktree, and its branch if its base has all of
    /// it. Work that cannot be saved stays, and the error says why. No process may
    /// use the worktree.
    pub fn remove(&self, task: &TaskId, attempt: u32) -> Result<Option<SavedWork>, WorktreeError> {
        self.remove_after(task, attempt, &|_, _| {})
    }

    /// Like [`Worktrees::remove`], and calls `teardown` with the workspace and its worktree when the
    /// work is saved.
    pub fn remove_after(
        &self,
        task: &TaskId,
        attempt: u32,
        teardown: &dyn Fn(&Path, &Path),
    ) -> Result<Option<SavedWork>, WorktreeError> {
        let (repo, place) = self.locate(task)?;
        let base = self.base_branch(&repo, &place);
        private_git_dir::import_private_git_dir(&repo, &place)?;
        let saved = match place.tree.symlink_metadata() {
            Ok(there) if there.is_dir() => {
                let safe = save_all(&repo, &place, attempt)?;
                let inner = self.home.strip_prefix(&repo.top).unwrap_or(Path::new(""));
                teardown(&place.tree.join(inner), &place.tree);
                remove_folder(&place.tree).map_err(io_error_text("remove", &place.tree))?;
                safe.saved
            }
            Ok(_) => {
                let what = "is not a folder and was not changed";
                return Err(WorktreeError(format!("{} {what}", place.tree.display())));
            }
            Err(_) => None,
        };
        unregister(&place).map_err(io_error_text("remove", &place.admin_dir))?;
        let folder = &place.temporary;
        remove_folder(folder).map_err(io_error_text("remove", folder))?;
        if let Ok(base) = base {
            drop_branch(&repo, &place, &base)?;
        }
        Ok(saved)
    }
}

/// Saves all work of a worktree, or fails and says what cannot be saved.
fn save_all(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    attempt: u32,
) -> Result<SaveResult, WorktreeError> {
    let git = place.tree.join(".git");
    if git.symlink_metadata().is_ok_and(|there| there.is_dir()) {
        let what = "has its own git folder and was not changed";
        return Err(WorktreeError(format!("{} {what}", place.tree.display())));
    }
    let safe = save(repo, place, attempt)?;
    if let Some(inner) = safe.unsaved.first() {
        let what = "it contains a repository that cannot be saved";
        let (tree, inner) = (place.tree.display(), inner.display());
        return Err(WorktreeError(format!("{tree} was not changed: {what}: {inner}")));
    }
    Ok(safe)
}

/// Deletes the branch if its base has all of its commits.
fn drop_branch(
    repo: &ProjectRepository,
    place: &WorktreePaths,
    base: &str,
) -> Result<(), WorktreeError> {
    let name = place.reference();
    let base = repo.commit(&format!("refs/heads/{base}"))?;
    let (Some(commit), Some(base)) = (repo.commit(&name)?, base) else { return Ok(()) };
    // Work that was squashed or rebased has a reference of its own that keeps the commits.
    let merged = repo.commit(&place.merged_reference())?.as_ref() == Some(&commit);
    if repo.checked_out(&name).is_empty() && (merged || repo.is_ancestor(&commit, &base)?) {
        repo.delete_reference(&name, &commit)?;
        remove_if_there(&place.note).map_err(io_error_text("remove", &place.note))?;
    }
    Ok(())
}

/// Removes the worktree's registration from the repository.
fn unregister(place: &WorktreePaths) -> io::Result<()> {
    remove_folder(&place.admin_dir)
}

/// Removes a folder; a link is removed and not followed.
pub(super) fn remove_folder(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(there) if there.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    }
}
