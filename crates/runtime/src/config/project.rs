//! `[project]`: what work on the project goes through.

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::span::Span;

/// What work on the project goes through.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Project {
    /// The branch that work trees start from and work is merged into; the one the project is on if
    /// there is none.
    pub base: Option<String>,
    /// The commands that must pass before work counts as done, unless its agent or its task says.
    pub checks: Vec<String>,
    /// The command that runs the project's tests: the check where nobody says any.
    pub test_command: Option<String>,
    /// How long a check may take, or a command of `setup`.
    pub check_timeout: Span,
    /// The commands that are run in a new work tree before anybody works in it.
    pub setup: Vec<String>,
    /// The files and folders that are copied into a new work tree, from the project's folder.
    pub copy: Vec<PathBuf>,
    /// What `approve` does with work on a branch of its own, unless its agent says.
    pub merge: Merge,
}

/// What `approve` does with work on a branch of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Merge {
    /// Nothing: the branch stays for a person to merge.
    #[default]
    None,
    /// The base moves on to the branch, if it has not moved otherwise.
    Ff,
    /// The work becomes one commit on the base.
    Squash,
    /// The commits of the work are made anew on the base.
    Rebase,
}

impl Default for Project {
    fn default() -> Self {
        Self {
            base: None,
            checks: vec![],
            test_command: None,
            check_timeout: Span(Duration::from_mins(10)),
            setup: vec![],
            copy: vec![],
            merge: Merge::None,
        }
    }
}

impl Project {
    /// Returns the commands that must pass before work counts as done.
    pub fn all_checks(&self) -> &[String] {
        if self.checks.is_empty() { self.test_command.as_slice() } else { &self.checks }
    }

    /// Says what makes no sense.
    pub(super) fn check(&self) -> Result<(), String> {
        commands("checks", &self.checks)?;
        commands("setup", &self.setup)?;
        commands("test_command", self.test_command.as_slice())?;
        if let Some(outside) = self.copy.iter().find(|path| !is_inside(path)) {
            let outside = outside.display();
            return Err(format!("`copy` names {outside}, which is not inside the project"));
        }
        if self.base.as_ref().is_some_and(|base| base.trim().is_empty()) {
            return Err("`base` must name a branch".to_owned());
        }
        if self.check_timeout.0.is_zero() {
            return Err("`check_timeout` must be longer than nothing".to_owned());
        }
        Ok(())
    }
}

/// An empty command would pass.
pub(super) fn commands(key: &str, commands: &[String]) -> Result<(), String> {
    let empty = commands.iter().any(|command| command.trim().is_empty());
    if empty { Err(format!("`{key}` has a command that is empty")) } else { Ok(()) }
}

fn is_inside(path: &Path) -> bool {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    plain && path.components().next().is_some()
}
