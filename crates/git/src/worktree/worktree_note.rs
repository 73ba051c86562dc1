//! The note about a task's worktree: its base branch, and whether its setup is complete.

use std::fs;
use std::path::Path;

use adjutant_process::atomic_file::write_atomic;
use serde::{Deserialize, Serialize};

use super::WorktreeError;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorktreeNote {
    /// The branch that the work started from and will be merged into.
    pub(super) base: String,
    /// Whether the setup is complete.
    pub(super) ready: bool,
    /// Whether the operator restored work into the worktree; then it is not removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) kept: bool,
}

impl WorktreeNote {
    /// Reads a note; `None` if it is missing or invalid.
    pub(super) fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Writes the note atomically.
    pub(super) fn write(&self, path: &Path) -> Result<(), WorktreeError> {
        let text = serde_json::to_vec(self).expect("text always makes JSON");
        write_atomic(path, &text)
            .map_err(|error| WorktreeError(format!("cannot write {}: {error}", path.display())))
    }
}
