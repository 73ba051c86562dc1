//! What of a data folder travels in an archive, and what stays on its machine.
//!
//! What travels is named, and nothing else does: whatever lies in the folder besides, be it a key,
//! a password or a person's notes, is of this machine, under whatever name.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::disk::LOST;
use super::folder::Folder;
use crate::document::{BACKUP, EPICS, EVENTS, FOREIGN_RUNS, FORMAT_FILE, JOURNAL, RUNS, TASKS};
use crate::store::StoreError;

/// What the last entry of an archive is called.
pub(super) const LABEL: &str = "adjutant-export.json";

/// What the project consists of, on whichever machine. The format goes along: it is that of the tasks
/// and events beside it, while the journal, which stays, says its own.
const PROJECT: [&str; 6] = [TASKS, RUNS, EVENTS, EPICS, FOREIGN_RUNS, FORMAT_FILE];

/// What goes along where a whole folder moves: the settings, and what was put aside.
const SETTLED: [&str; 3] = [LOST, "adjutant.toml", ".gitignore"];

/// What an archive is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parcel {
    /// A folder that moves: the project with all that agents printed, its settings, and what was
    /// put aside.
    Export,
    /// A folder that others begin with, who have settings of their own and read elsewhere what
    /// agents printed: the project alone.
    Snapshot,
}

impl Parcel {
    /// Says whether a file goes into such an archive.
    pub(super) fn holds(self, path: &Path) -> bool {
        let travels = match self {
            Self::Export => is_project(path) || SETTLED.iter().any(|name| path.starts_with(name)),
            Self::Snapshot => is_project(path) && !is_log(path),
        };
        travels && !is_own(path)
    }

    /// Says whether something that goes into such an archive may lie in a folder.
    pub(super) fn may_lie_in(self, folder: &Path) -> bool {
        self.holds(folder) || PROJECT.iter().any(|name| Path::new(name).starts_with(folder))
    }
}

/// Says whether something is the project's, on whichever machine.
pub(super) fn is_project(path: &Path) -> bool {
    PROJECT.iter().any(|name| path.starts_with(name))
}

/// Says whether something is never taken from an archive, whoever made it: what is under way, work
/// trees of a repository, what lets runs and operators in, what a daemon says, and what looks after
/// processes.
pub(super) fn is_own(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    is_known(path) || name.starts_with("shim.")
}

fn is_known(path: &Path) -> bool {
    let first = path.components().next().map(|first| first.as_os_str().to_string_lossy());
    first.is_some_and(|first| {
        [JOURNAL, BACKUP, "worktrees", "secret", "operator-token", LABEL].contains(&&*first)
            || first.starts_with("secret.")
            || first.starts_with("daemon.log")
    })
}

/// Says whether something is what an agent printed.
fn is_log(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    path.starts_with(RUNS) && (name == "output.log" || name == "output.log.1")
}

/// Returns what lies at the top of a folder and does not go into its export, other than what
/// Adjutant itself keeps for this machine.
pub fn stays(folder: &Folder) -> Result<Vec<String>, StoreError> {
    let root = folder.root();
    let mut names = Vec::new();
    for entry in fs::read_dir(root).map_err(StoreError::io("read", root))? {
        let name = entry.map_err(StoreError::io("read", root))?.file_name();
        let path = Path::new(&name);
        if !Parcel::Export.may_lie_in(path) && !is_known(path) {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
