//! The file format of a script agent's script.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{AttemptSteps, ScriptStep};

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentScript {
    /// Overrides for single tasks, by task id. They replace the rest of the script for the task.
    #[serde(default)]
    tasks: BTreeMap<String, TaskScript>,
    /// The steps of every attempt that `attempts` does not list.
    #[serde(default)]
    steps: Vec<ScriptStep>,
    #[serde(default)]
    attempts: AttemptSteps,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskScript {
    /// The steps of every attempt that `attempts` does not list.
    #[serde(default)]
    steps: Vec<ScriptStep>,
    #[serde(default)]
    attempts: AttemptSteps,
}

#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("cannot read the script {}", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("the script is invalid: {0}")]
    Invalid(String),
}

impl ScriptError {
    pub(super) fn json(error: &serde_json::Error) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl AgentScript {
    /// Reads a script: TOML if the name ends in `.toml`, else YAML.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Unreadable { path: path.to_owned(), source })?;
        if path.extension().is_some_and(|ending| ending == "toml") {
            Self::from_toml(&text)
        } else {
            Self::from_yaml(&text)
        }
    }

    pub fn from_toml(text: &str) -> Result<Self, ScriptError> {
        toml::from_str(text).map_err(|error| ScriptError::Invalid(error.to_string()))
    }

    pub fn from_yaml(text: &str) -> Result<Self, ScriptError> {
        serde_saphyr::from_str(text).map_err(|error| ScriptError::Invalid(error.to_string()))
    }

    /// Returns the steps for an attempt at a task.
    pub fn steps(&self, task: &str, attempt: u32) -> &[ScriptStep] {
        let (attempts, steps) = match self.tasks.get(task) {
            Some(part) => (&part.attempts, &part.steps),
            None => (&self.attempts, &self.steps),
        };
        attempts.get(&attempt).unwrap_or(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(yaml: &str, task: &str, attempt: u32) -> Vec<ScriptStep> {
        AgentScript::from_yaml(yaml).expect("a good script").steps(task, attempt).to_vec()
    }

    #[test]
    fn report_step_can_be_a_bare_outcome() {
        for outcome in ["done", "partial", "blocked", "needs-review", "needs_review"] {
            let whole = format!("steps: [{{report: {{outcome: {outcome}}}}}]");
            let word = format!("steps: [report: {outcome}]");
            assert_eq!(steps(&word, "", 1), steps(&whole, "", 1));
            let toml = format!("[[steps]]\nreport = {outcome:?}\n");
            let read = AgentScript::from_toml(&toml).expect("a good script");
            assert_eq!(read.steps("", 1), steps(&word, "", 1));
        }
        for bad in ["{report: finished}", "{report: {outcome: done, note: x}}", "{report: 3}"] {
            assert!(AgentScript::from_yaml(&format!("steps: [{bad}]")).is_err(), "{bad}");
        }
    }

    #[test]
    fn script_of_a_task_replaces_the_general_steps() {
        let yaml = "tasks: {T1: {attempts: {1: [hang]}, steps: [exit: 1]}}\n\
                    attempts: {2: [exit: 2]}\nsteps: [exit: 3]\n";
        assert_eq!(steps(yaml, "T1", 1), [ScriptStep::Hang]);
        assert_eq!(steps(yaml, "T1", 2), [ScriptStep::Exit(1)]);
        assert_eq!(steps(yaml, "T2", 2), [ScriptStep::Exit(2)]);
        assert_eq!(steps(yaml, "T2", 1), [ScriptStep::Exit(3)]);
    }
}
