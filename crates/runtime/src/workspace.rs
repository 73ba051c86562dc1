//! What a run did to the folder it works in: what is there before it begins is noted, and compared
//! with what is there when a result comes in.
//!
//! It says what changed and whether that could be found out. Which change is a breach is not known
//! here. Git is asked as a program, in a way that runs nothing the repository names.

mod baseline;
mod fingerprint;
mod folder;
pub(crate) mod git;
mod manifest;
pub(crate) mod name;
mod output;
mod repository;
pub(crate) mod shadow;

use std::path::Path;

pub use baseline::{Baseline, FILE};
pub use manifest::{MANIFESTS, is_manifest};
pub use output::is_there;

/// The most files outside git that are listed: all of a folder without git, and what git does not
/// know or finds changed. Where there are more, the check cannot be made.
pub const FILES_MAX: usize = 50_000;

/// Why a workspace could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unseen(pub String);

/// What a run did to its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// The files that are not as they were, by path. Paths are those of the repository, or of the
    /// folder where there is none.
    pub changed: Vec<Changed>,
    /// How many commits are there that were not.
    pub commits: u32,
}

/// A file that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Changed {
    /// Where it is. What is no text in it is shown as `\u{fffd}`.
    pub path: String,
    /// What became of it.
    pub how: How,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// It was not there.
    Added,
    /// It is another.
    Modified,
    /// It is not there any more.
    Deleted,
}

impl Seen {
    /// Returns the changed files that say what the work depends on.
    pub fn manifests(&self) -> impl Iterator<Item = &str> {
        self.changed.iter().map(|changed| &*changed.path).filter(|path| is_manifest(path))
    }
}

/// Notes what is there before a run begins, in the folder of its attempt. What cannot be noted is
/// noted as such, so that it is known when the result comes in.
pub fn note(attempt: &Path, workspace: &Path, data: &Path) -> std::io::Result<()> {
    Baseline::take(attempt, workspace, data).save(attempt)
}

/// Notes only which folder it is, for a run of which nobody will ask what it changed.
pub fn note_place(attempt: &Path, workspace: &Path, data: &Path) -> std::io::Result<()> {
    Baseline::of_place(workspace, data).save(attempt)
}

/// Says what changed since [`note`].
pub fn look(attempt: &Path) -> Result<Seen, Unseen> {
    Baseline::load(attempt)?.compare(attempt)
}
