//! The file in which the daemon of a fleet node says that it cannot reach the servers of its fleet, so
//! that readers of the folder know that it may be old.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::daemon_lock::DaemonInfo;

/// The file in the data folder.
const FILE: &str = "journal/cut-off";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostContact {
    /// The daemon's process: a file that a killed daemon left says nothing.
    pub pid: u32,
    /// When the servers answered last.
    pub since: String,
}

impl LostContact {
    pub fn write(&self, root: &Path) -> io::Result<()> {
        let line = serde_json::to_string(self).expect("text and numbers always make JSON");
        std::fs::write(root.join(FILE), line)
    }

    /// Returns what the daemon that runs on a folder wrote; `None` if it reaches the servers, or if
    /// no daemon runs.
    pub fn find(root: &Path) -> Option<Self> {
        let lost: Self = serde_json::from_slice(&std::fs::read(root.join(FILE)).ok()?).ok()?;
        (DaemonInfo::find_running(root)?.pid == lost.pid).then_some(lost)
    }

    /// Removes the file, because the servers answer again or the daemon leaves.
    pub fn clear(root: &Path) {
        // A file that stays names a process that will be gone.
        let _ = std::fs::remove_file(root.join(FILE));
    }
}
