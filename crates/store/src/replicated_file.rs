//! Files of agents that travel between the nodes of a fleet.

use adjutant_model::relative_path::RelPath;
use adjutant_model::{TaskId, content};
use serde::{Deserialize, Serialize};

/// A file that an agent left, on this machine or another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicatedFile {
    pub task: TaskId,
    pub home: TaskFolderKind,
    /// Relative to the folder that `home` names.
    pub path: RelPath,
    /// What it says.
    #[serde(rename = "text", with = "content")]
    pub content: Vec<u8>,
}

/// The two folders a task has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskFolderKind {
    /// The companion folder, which moves with the task.
    Task,
    /// The folder of the task's runs.
    Run,
}
