//! The file that says how a script agent behaves.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Attempts, Step};

/// What a script agent does, by task and by attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// What it does for the task of this id, all of it.
    #[serde(default)]
    tasks: BTreeMap<String, Part>,
    /// What it does where nothing else is said.
    #[serde(default)]
    steps: Vec<Step>,
    /// What it does in the attempt of this number.
    #[serde(default)]
    attempts: Attempts,
}

/// What it does for one task, by attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    /// What it does where nothing else is said.
    #[serde(default)]
    steps: Vec<Step>,
    /// What it does in the attempt of this number.
    #[serde(default)]
    attempts: Attempts,
}

/// A script that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum BadScript {
    /// It cannot be read.
    #[error("cannot read the script {}", .path.display())]
    Unreadable {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It makes no sense.
    #[error("cannot play the script: {0}")]
    Nonsense(String),
}

impl BadScript {
    pub(super) fn json(error: &serde_json::Error) -> Self {
        Self::Nonsense(error.to_string())
    }
}

impl Script {
    /// Reads a script: TOML if its name ends so, else YAML.
    pub fn load(path: &Path) -> Result<Self, BadScript> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| BadScript::Unreadable { path: path.to_owned(), source })?;
        if path.extension().is_some_and(|ending| ending == "toml") {
            Self::from_toml(&text)
        } else {
            Self::from_yaml(&text)
        }
    }

    /// Reads a script in TOML.
    pub fn from_toml(text: &str) -> Result<Self, BadScript> {
        toml::from_str(text).map_err(|error| BadScript::Nonsense(error.to_string()))
    }

    /// Reads a script in YAML.
    pub fn from_yaml(text: &str) -> Result<Self, BadScript> {
        serde_saphyr::from_str(text).map_err(|error| BadScript::Nonsense(error.to_string()))
    }

    /// Returns what it does for a task in an attempt.
    pub fn steps(&self, task: &str, attempt: u32) -> &[Step] {
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

    fn steps(yaml: &str, task: &str, attempt: u32) -> Vec<Step> {
        Script::from_yaml(yaml).expect("a good script").steps(task, attempt).to_vec()
    }

    #[test]
    fn a_bare_outcome_is_a_report_that_says_no_more() {
        for outcome in ["done", "partial", "blocked", "needs-review", "needs_review"] {
            let whole = format!("steps: [{{report: {{outcome: {outcome}}}}}]");
            let word = format!("steps: [report: {outcome}]");
            assert_eq!(steps(&word, "", 1), steps(&whole, "", 1));
            let toml = format!("[[steps]]\nreport = {outcome:?}\n");
            let read = Script::from_toml(&toml).expect("a good script");
            assert_eq!(read.steps("", 1), steps(&word, "", 1));
        }
        for bad in ["{report: finished}", "{report: {outcome: done, note: x}}", "{report: 3}"] {
            assert!(Script::from_yaml(&format!("steps: [{bad}]")).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_said_for_a_task_counts_for_it_alone() {
        let yaml = "tasks: {T1: {attempts: {1: [hang]}, steps: [exit: 1]}}\n\
                    attempts: {2: [exit: 2]}\nsteps: [exit: 3]\n";
        assert_eq!(steps(yaml, "T1", 1), [Step::Hang]);
        assert_eq!(steps(yaml, "T1", 2), [Step::Exit(1)]);
        assert_eq!(steps(yaml, "T2", 2), [Step::Exit(2)]);
        assert_eq!(steps(yaml, "T2", 1), [Step::Exit(3)]);
    }
}
