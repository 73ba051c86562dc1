//! The file in which a running daemon says which configuration it works by. Only its owner can read
//! it.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use adjutant_model::AgentId;
use adjutant_model::sandbox_level::SandboxLevel;
use serde::{Deserialize, Serialize};

use crate::daemon_lock::DaemonInfo;

/// The file in the data folder.
pub const FILE: &str = "journal/config";

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveConfig {
    /// The daemon's process. A file left by a killed daemon names a process that is
    /// not its successor's.
    pub pid: u32,
    /// Whether the daemon works by a file, not by the default settings.
    pub has_file: bool,
    /// The text of `adjutant.toml` that was accepted last, if the file as it is now was not
    /// accepted. Otherwise there is no copy: the file may contain secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_text: Option<String>,
    /// Why the file as it is now was not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The settings of the file that the operator has not accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unaccepted: Vec<String>,
    /// The changed settings that need a restart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restart: Vec<String>,
    /// The agents that cannot be started, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub program_problems: BTreeMap<AgentId, Box<str>>,
    /// The agents whose new settings wait for the end of their runs; they get no work until then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_agents: Vec<AgentId>,
    /// The strongest level that `sandbox = "auto"` can stand for; absent if no agent has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxLevel>,
}

impl ActiveConfig {
    /// Writes the file atomically.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        let path = root.join(FILE);
        let staged = path.with_extension(self.pid.to_string());
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&staged)?;
        let line = serde_json::to_string(self).expect("text and numbers always make JSON");
        file.write_all(line.as_bytes())?;
        fs::rename(staged, path)
    }

    /// Returns what the daemon that runs on a folder wrote; `None` if no daemon runs.
    pub fn find(root: &Path) -> Option<Self> {
        let text = fs::read(root.join(FILE)).ok()?;
        let active: Self = serde_json::from_slice(&text).ok()?;
        (DaemonInfo::find_running(root)?.pid == active.pid).then_some(active)
    }

    /// Removes the file of a daemon that leaves.
    pub fn remove(root: &Path, pid: u32) {
        let written = fs::read(root.join(FILE)).ok();
        let active = written.and_then(|text| serde_json::from_slice::<Self>(&text).ok());
        if active.is_some_and(|active| active.pid == pid) {
            // A file that stays names a dead process and is ignored.
            let _ = fs::remove_file(root.join(FILE));
        }
    }
}
