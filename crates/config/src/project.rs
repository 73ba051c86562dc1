//! `[project]`: the base branch, checks, worktree setup and merge mode of the project.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::duration::ConfigDuration;

/// Checks, worktrees and merging.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Project {
    /// The branch that worktrees start from and work is merged into. The default is the current
    /// branch of the project.
    pub base: Option<String>,
    /// Commands that must pass before work counts as done. An agent or a task can replace them.
    pub checks: Vec<String>,
    /// The command that runs the project's tests. It is the check if no other is configured.
    pub test_command: Option<String>,
    /// The time limit of a check and of a command of `setup` or `teardown`.
    pub check_timeout: ConfigDuration,
    /// What confines checks that judge no run of this machine: checks of a merge result, of work
    /// that was fetched, and hooks called by hand. Other checks are confined like the run.
    pub check_sandbox: CheckSandbox,
    /// Commands that are run in a new worktree before an agent works in it.
    pub setup: Vec<String>,
    /// Commands that are run in a worktree before it is removed. Uncommitted work is saved before
    /// them, and their failure does not stop the removal.
    pub teardown: Vec<String>,
    /// Files and folders of the project that are copied into a new worktree.
    pub copy: Vec<PathBuf>,
    /// How `approve` merges the branch of a task. An agent can replace it.
    pub merge: Merge,
    /// The `workspace` of every agent that has none of its own. An agent of the kind `webhook`
    /// works elsewhere and does not take it.
    pub workspace: Option<PathBuf>,
}

/// What confines checks that judge no run of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckSandbox {
    /// The strongest level that works on this machine: `strict`, else `landlock` if the workspace
    /// does not contain the data folder, else no sandbox.
    #[default]
    Auto,
    /// Bubblewrap. Where it is not available, the check is not run and counts as failed.
    Strict,
    /// Landlock. Where it is not available, the check is not run and counts as failed.
    Landlock,
    /// No sandbox: the check can write wherever its user can.
    None,
}

/// How `approve` merges the branch of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Merge {
    /// Not at all: the branch stays for a person to merge.
    #[default]
    None,
    /// Fast-forward the base to the branch; if the base has moved, the task is sent back.
    Ff,
    /// Squash the work into one commit on the base.
    Squash,
    /// Rebase the commits of the work onto the base.
    Rebase,
}

impl Default for Project {
    fn default() -> Self {
        Self {
            base: None,
            checks: vec![],
            test_command: None,
            check_timeout: ConfigDuration(Duration::from_mins(10)),
            check_sandbox: CheckSandbox::Auto,
            setup: vec![],
            teardown: vec![],
            copy: vec![],
            merge: Merge::None,
            workspace: None,
        }
    }
}

impl Project {
    /// Returns `checks`, or else `test_command`, which must pass before work counts as done.
    pub fn all_checks(&self) -> &[String] {
        if self.checks.is_empty() { self.test_command.as_slice() } else { &self.checks }
    }

    /// Returns the first invalid setting.
    pub(super) fn check(&self) -> Result<(), String> {
        refuse_empty_commands("checks", &self.checks)?;
        refuse_empty_commands("setup", &self.setup)?;
        refuse_empty_commands("teardown", &self.teardown)?;
        refuse_empty_commands("test_command", self.test_command.as_slice())?;
        if let Some(outside) = self.copy.iter().find(|path| !is_inside(path)) {
            let outside = outside.display();
            return Err(format!("`copy` names {outside}, which is not inside the project"));
        }
        if self.base.as_ref().is_some_and(|base| base.trim().is_empty()) {
            return Err("`base` must name a branch".to_owned());
        }
        if self.check_timeout.0.is_zero() {
            return Err("`check_timeout` must be longer than 0s".to_owned());
        }
        Ok(())
    }
}

/// Refuses empty commands, because an empty command would pass.
pub(super) fn refuse_empty_commands(key: &str, commands: &[String]) -> Result<(), String> {
    let empty = commands.iter().any(|command| command.trim().is_empty());
    if empty { Err(format!("`{key}` contains an empty command")) } else { Ok(()) }
}

fn is_inside(path: &Path) -> bool {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    plain && path.components().next().is_some()
}
