//! Decides which files of a data folder go into an archive, and which stay on the machine.
//!
//! Only listed files go into an archive. Anything else in the folder, such as a key, a password or
//! a person's notes, stays on this machine under any name.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use super::disk::LOST_FOUND;
use super::folder::DataFolder;
use crate::document_paths::{AOF_RUNS, BACKUP, EPICS, EVENTS, FORMAT_FILE, JOURNAL, RUNS, TASKS};
use crate::store::StoreError;

/// The name of the last entry of an archive.
pub(super) const LABEL: &str = "adjutant-export.json";

/// The files of the project, which are the same on every machine. `format.json` is one of them
/// because it describes the tasks and events. The journal stays, and has its own format number.
const PROJECT_FILES: [&str; 6] = [TASKS, RUNS, EVENTS, EPICS, AOF_RUNS, FORMAT_FILE];

/// Goes along when a whole folder moves: the settings, and `lost+found`.
const EXPORT_EXTRAS: [&str; 3] = [LOST_FOUND, "adjutant.toml", ".gitignore"];

/// What an archive is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveScope {
    /// To move a folder: the project with the agents' output, its settings and `lost+found`.
    Export,
    /// To start another node, which has its own settings and reads the agents' output elsewhere:
    /// the project alone.
    Join,
}

impl ArchiveScope {
    /// Returns true if a file goes into such an archive.
    pub(super) fn includes(self, path: &Path) -> bool {
        let travels = match self {
            Self::Export => {
                is_project_file(path) || EXPORT_EXTRAS.iter().any(|name| path.starts_with(name))
            }
            Self::Join => is_project_file(path) && !is_agent_output(path),
        };
        travels && !is_machine_file(path)
    }

    /// Returns true if a folder may contain files for such an archive.
    pub(super) fn may_contain(self, folder: &Path) -> bool {
        self.includes(folder)
            || PROJECT_FILES.iter().any(|name| Path::new(name).starts_with(folder))
    }
}

/// Returns true if a path belongs to the project rather than to this machine.
pub(super) fn is_project_file(path: &Path) -> bool {
    PROJECT_FILES.iter().any(|name| path.starts_with(name))
}

/// Returns true for files that are never unpacked from any archive: the journal and backups, work
/// trees, records of live shims, secrets and tokens, daemon logs, and files of shims.
pub(super) fn is_machine_file(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    is_known_machine_file(path) || name.starts_with("shim.")
}

fn is_known_machine_file(path: &Path) -> bool {
    let first = path.components().next().map(|first| first.as_os_str().to_string_lossy());
    first.is_some_and(|first| {
        [JOURNAL, BACKUP, "worktrees", "live", "secret", "operator-token", "node-key", LABEL]
            .contains(&&*first)
            || first.starts_with("secret.")
            || first.starts_with("node-key.")
            || first.starts_with("daemon.log")
    })
}

/// Returns true if a file is the output of an agent.
fn is_agent_output(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    path.starts_with(RUNS) && (name == "output.log" || name == "output.log.1")
}

/// Returns the names at the top of a folder that an export leaves out, except those that Adjutant
/// itself keeps for this machine.
pub fn files_not_exported(folder: &DataFolder) -> Result<Vec<String>, StoreError> {
    let root = folder.root();
    let mut names = Vec::new();
    for entry in fs::read_dir(root).map_err(StoreError::io("read", root))? {
        let name = entry.map_err(StoreError::io("read", root))?.file_name();
        let path = Path::new(&name);
        if !ArchiveScope::Export.may_contain(path) && !is_known_machine_file(path) {
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
