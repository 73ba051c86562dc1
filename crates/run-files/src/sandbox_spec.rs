//! What confines a command, as the daemon tells it to a shim.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use adjutant_model::sandbox_level::SandboxLevel;
use serde::{Deserialize, Serialize};

/// What confines a command.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandSandbox {
    #[default]
    None,
    Landlock {
        /// The paths that the command may write to; a check has a temporary folder besides.
        writable: Vec<PathBuf>,
    },
    Strict(StrictSandbox),
}

impl CommandSandbox {
    pub fn level(&self) -> SandboxLevel {
        match self {
            Self::None => SandboxLevel::None,
            Self::Landlock { .. } => SandboxLevel::Landlock,
            Self::Strict(_) => SandboxLevel::Strict,
        }
    }

    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    pub fn network(&self) -> SandboxNetwork {
        match self {
            Self::None | Self::Landlock { .. } => SandboxNetwork::Open,
            Self::Strict(view) => view.network.clone(),
        }
    }

    pub fn limits(&self) -> ResourceLimits {
        match self {
            Self::None | Self::Landlock { .. } => ResourceLimits::default(),
            Self::Strict(view) => view.limits,
        }
    }
}

/// What a command sees in a `strict` sandbox. A path without an entry does not exist there, unless
/// it lies below one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StrictSandbox {
    /// Sorted by path, so that a folder comes before what lies in it.
    pub mounts: BTreeMap<PathBuf, SandboxMount>,
    #[serde(default, skip_serializing_if = "SandboxNetwork::is_open")]
    pub network: SandboxNetwork,
    #[serde(default, skip_serializing_if = "ResourceLimits::is_empty")]
    pub limits: ResourceLimits,
}

/// How much of the machine a command in a `strict` sandbox may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceLimits {
    /// Processes and threads at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<ProcessLimit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

/// How many processes and threads a command may have at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessLimit {
    pub max: u32,
    /// The command is not started where the limit cannot be enforced.
    pub is_required: bool,
}

impl ResourceLimits {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a command in a `strict` sandbox can connect to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SandboxNetwork {
    /// Everything that the machine can connect to.
    #[default]
    Open,
    /// Nothing but its own processes.
    Off,
    /// These hosts, through a proxy.
    Hosts(Vec<String>),
}

impl SandboxNetwork {
    pub fn is_open(&self) -> bool {
        *self == Self::Open
    }
}

/// What is at a path in a `strict` sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SandboxMount {
    /// What the machine has at this path.
    ReadOnly,
    /// What the machine has at another path.
    ReadOnlyFrom(PathBuf),
    /// What the machine has at this path.
    Writable,
    /// What the machine has at another path.
    WritableFrom(PathBuf),
    /// A symbolic link.
    Link(PathBuf),
    /// A folder that has only what is mounted in it.
    Empty,
    /// A folder in memory that can be written to, and that ends with the command.
    Private,
}

impl StrictSandbox {
    /// Shows a path as it is. A path that can be written to already stays so.
    pub fn allow_reading(&mut self, path: impl Into<PathBuf>) {
        self.mounts.entry(path.into()).or_insert(SandboxMount::ReadOnly);
    }

    pub fn allow_writing(&mut self, path: impl Into<PathBuf>) {
        self.mounts.insert(path.into(), SandboxMount::Writable);
    }

    /// Hides what is in a folder; later calls can show parts of it.
    pub fn hide(&mut self, path: impl Into<PathBuf>) {
        self.mounts.insert(path.into(), SandboxMount::Empty);
    }

    /// Returns the paths that the command can write to.
    pub fn writable_paths(&self) -> impl Iterator<Item = &Path> {
        let is_writable = |mount: &SandboxMount| match mount {
            SandboxMount::Writable | SandboxMount::WritableFrom(_) | SandboxMount::Private => true,
            SandboxMount::ReadOnly
            | SandboxMount::ReadOnlyFrom(_)
            | SandboxMount::Link(_)
            | SandboxMount::Empty => false,
        };
        self.mounts.iter().filter(move |(_, mount)| is_writable(mount)).map(|(path, _)| &**path)
    }
}
