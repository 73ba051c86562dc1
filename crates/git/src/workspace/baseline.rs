//! The state of a workspace before a run, stored with the run so that it survives the daemon.

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use adjutant_run_files::attempt_files::AttemptFolder;
use serde::{Deserialize, Serialize};

use super::byte_path::BytePath;
use super::folder::FolderListing;
use super::repository::{RepositoryBaseline, RepositoryLookup};
use super::{ChangedFile, InspectionError, WorkspaceChanges};

/// The name of the file in the attempt folder.
pub const FILE: &str = "baseline.json";

/// The name of our own git folders, before a number.
const SHADOW: &str = "baseline";

/// The most repositories in one work tree, counting nested ones.
const REPOSITORIES_MAX: usize = 64;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceBaseline {
    version: u32,
    workspace: BytePath,
    data: BytePath,
    state: WorkspaceState,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WorkspaceState {
    /// A work tree, and the repositories nested in it.
    Repositories(Vec<RepositoryBaseline>),
    Folder(FolderListing),
    /// The workspace could not be read; holds the reason.
    Unseen(String),
}

impl WorkspaceBaseline {
    /// Records the path of a workspace only.
    pub(super) fn for_path(workspace: &Path, data: &Path) -> Self {
        let state = WorkspaceState::Unseen("the run has no constraints to compare".to_owned());
        Self {
            version: 1,
            workspace: canonical(workspace).into(),
            data: canonical(data).into(),
            state,
        }
    }

    /// Records the state of a workspace.
    pub(super) fn capture(attempt: &Path, workspace: &Path, data: &Path) -> Self {
        let (workspace, data) = (canonical(workspace), canonical(data));
        let state = capture_state(attempt, &workspace, &data);
        let state = state.unwrap_or_else(|InspectionError(why)| WorkspaceState::Unseen(why));
        Self { version: 1, workspace: workspace.into(), data: data.into(), state }
    }

    /// Returns the workspace's folder.
    pub fn workspace(&self) -> PathBuf {
        self.workspace.to_path()
    }

    pub(super) fn save(&self, attempt: &Path) -> io::Result<()> {
        // Not synced: a power failure ends the run too, so the file is not needed after one.
        AttemptFolder::new(attempt).write(FILE, &serde_json::to_vec(self)?)
    }

    /// Reads the baseline of an attempt.
    pub fn load(attempt: &Path) -> Result<Self, InspectionError> {
        let bytes = std::fs::read(attempt.join(FILE)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => InspectionError(
                "the state of the workspace before the run was not recorded".to_owned(),
            ),
            _ => InspectionError(format!(
                "the recorded state of the workspace before the run cannot be read: {error}"
            )),
        })?;
        let read: Result<Self, _> = serde_json::from_slice(&bytes);
        read.map_err(|error| {
            InspectionError(format!(
                "the recorded state of the workspace before the run is invalid: {error}"
            ))
        })
    }

    /// Returns what changed since the baseline.
    pub(super) fn compare(&self, attempt: &Path) -> Result<WorkspaceChanges, InspectionError> {
        let data = self.data.as_path();
        let mut seen = match &self.state {
            WorkspaceState::Unseen(why) => return Err(InspectionError(why.clone())),
            WorkspaceState::Folder(listing) => self.compare_folder(listing)?,
            WorkspaceState::Repositories(all) => {
                let mut seen = WorkspaceChanges::default();
                for one in all {
                    let (changed, commits) = one.compare(attempt, data)?;
                    seen.changed.extend(changed);
                    seen.commits = seen.commits.saturating_add(commits);
                }
                seen
            }
        };
        seen.changed.sort_unstable();
        seen.changed.dedup_by(|one: &mut ChangedFile, other| one.path == other.path);
        Ok(seen)
    }

    /// A folder without git may have become a repository: then all of its commits are new.
    fn compare_folder(&self, listing: &FolderListing) -> Result<WorkspaceChanges, InspectionError> {
        let (workspace, data) = (self.workspace.as_path(), self.data.as_path());
        let changed = listing.compare(workspace, data, &BytePath::new(b""))?;
        let began = workspace.join(".git").symlink_metadata().is_ok();
        let commits = if began { super::repository::count_commits(workspace)? } else { 0 };
        Ok(WorkspaceChanges { changed, commits })
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn capture_state(
    attempt: &Path,
    workspace: &Path,
    data: &Path,
) -> Result<WorkspaceState, InspectionError> {
    match RepositoryLookup::find(workspace)? {
        RepositoryLookup::Outside => {
            FolderListing::capture(workspace, data).map(WorkspaceState::Folder)
        }
        RepositoryLookup::Inside(found) => {
            repositories(attempt, found, data).map(WorkspaceState::Repositories)
        }
    }
}

/// Records a work tree and the repositories nested in it.
fn repositories(
    attempt: &Path,
    first: super::repository::FoundWorkTree,
    data: &Path,
) -> Result<Vec<RepositoryBaseline>, InspectionError> {
    let mut left = vec![(first, BytePath::new(b""))];
    let mut taken = Vec::new();
    while let Some((found, named)) = left.pop() {
        if taken.len() == REPOSITORIES_MAX {
            return Err(InspectionError(format!(
                "more than {REPOSITORIES_MAX} nested repositories"
            )));
        }
        let shadow = format!("{SHADOW}.{}", taken.len());
        let repository = RepositoryBaseline::capture(found, named, attempt, shadow, data)?;
        for (path, named) in repository.nested() {
            if let RepositoryLookup::Inside(found) = RepositoryLookup::find(&path)?
                && found.top == path
            {
                left.push((found, named));
            }
        }
        taken.push(repository);
    }
    Ok(taken)
}
