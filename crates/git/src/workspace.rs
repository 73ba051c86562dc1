//! Finds what a run changed in its workspace: records a baseline before the run and compares it
//! with the workspace when the result arrives.
//!
//! It reports the changes, or that they cannot be determined. It does not know which change is
//! forbidden. Git runs as a program, in a way that runs nothing that the repository configures.

mod baseline;
pub mod byte_path;
mod expected_output;
mod fingerprint;
mod folder;
pub mod git;
mod manifest;
mod repository;
pub mod shadow_repository;

use std::path::Path;

pub use baseline::{FILE, WorkspaceBaseline};
pub use expected_output::exists_inside;
pub use manifest::{MANIFESTS, is_manifest};

/// The most files that are listed outside git: all files of a folder without git, or the untracked
/// and changed files of a repository. With more files the check cannot be made.
pub const FILES_MAX: usize = 50_000;

/// Why the changes in a workspace cannot be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InspectionError(pub String);

/// What a run changed in its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkspaceChanges {
    /// Sorted by path. Paths are relative to the repository, or to the folder if there is none.
    pub changed: Vec<ChangedFile>,
    /// The number of new commits.
    pub commits: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedFile {
    /// Bytes that are not UTF-8 are shown as `\u{fffd}`.
    pub path: String,
    pub how: ChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    Added,
    Modified,
    Deleted,
}

impl WorkspaceChanges {
    /// Returns the changed manifests and lock files.
    pub fn manifests(&self) -> impl Iterator<Item = &str> {
        self.changed.iter().map(|changed| &*changed.path).filter(|path| is_manifest(path))
    }
}

/// Records a baseline in the attempt folder before a run starts. A failure is recorded too, so that
/// it is known when the result arrives.
pub fn record_baseline(attempt: &Path, workspace: &Path, data: &Path) -> std::io::Result<()> {
    WorkspaceBaseline::capture(attempt, workspace, data).save(attempt)
}

/// Records only the workspace's path, for a run whose changes are not checked.
pub fn record_workspace_path(attempt: &Path, workspace: &Path, data: &Path) -> std::io::Result<()> {
    WorkspaceBaseline::for_path(workspace, data).save(attempt)
}

/// Returns what changed since [`record_baseline`].
pub fn compare_baseline(attempt: &Path) -> Result<WorkspaceChanges, InspectionError> {
    WorkspaceBaseline::load(attempt)?.compare(attempt)
}
