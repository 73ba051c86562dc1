//! The folders of a project that `strict` sandboxes use: `sandbox/` in the data folder.

use std::path::{Path, PathBuf};

use adjutant_run_files::sandbox_spec::{SandboxMount, StrictSandbox};

/// Who writes to the caches. Checks have their own: an agent must not be able to change what a
/// check builds with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheUser {
    Runs,
    Checks,
}

/// The folder `sandbox/` of a data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxFolders(PathBuf);

impl SandboxFolders {
    pub fn new(root: &Path) -> Self {
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        Self(root.join("sandbox"))
    }

    pub fn caches(&self, user: CacheUser) -> PathBuf {
        self.0.join(match user {
            CacheUser::Runs => "caches/runs",
            CacheUser::Checks => "caches/checks",
        })
    }

    /// Returns the folder of an agent's private state.
    pub fn agent_state(&self, agent: &str) -> PathBuf {
        self.0.join("agents").join(agent)
    }

    /// Returns the git settings that commands see as those of their user.
    pub fn git_settings(&self) -> PathBuf {
        self.0.join("gitconfig")
    }

    /// Shows the git settings in a home, if they were written.
    pub fn show_git_settings(&self, view: &mut StrictSandbox, home: Option<&Path>) {
        let settings = self.git_settings();
        if let Some(home) = home.filter(|_| settings.is_file()) {
            view.mounts.insert(home.join(".gitconfig"), SandboxMount::ReadOnlyFrom(settings));
        }
    }
}
