//! The fields of `STATE.json` that Adjutant adds and that no decision of the core uses.

use std::fmt;

use adjutant_model::{AgentId, TaskId, Time};
use adjutant_process::test_runner::TestFormat;
use adjutant_process::test_runner::test_command::TestCommand;
use serde_json::{Value, json};

use super::StateFile;

/// The agent that does the steps.
pub(crate) const AGENT: &str = "agent";

pub(crate) const STARTED_AT: &str = "started_at";

/// When a person last began, reopened or automated the story.
pub(crate) const TAKEN_UP_AT: &str = "taken_up_at";

/// The id of the last change that carried one.
pub(crate) const LAST_REQUEST: &str = "last_request";

/// The project's commit when the story began.
pub(crate) const BASE_COMMIT: &str = "base_commit";

const AUTO: &str = "auto";
const DISPATCHED_BY: &str = "dispatched_by";
pub(crate) const FINGERPRINTS: &str = "papers_before";

/// Among the fingerprints: the test command that was found when the executor was started.
pub(super) const TEST_COMMAND: &str = "test_command";

/// The run that was started for a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRun {
    pub task: TaskId,
    pub attempt: u32,
    pub fence: u64,
}

impl StepRun {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let [task, attempt, fence] = text.split(' ').collect::<Vec<_>>().try_into().ok()?;
        Some(Self {
            task: TaskId::parse(task).ok()?,
            attempt: attempt.parse().ok()?,
            fence: fence.parse().ok()?,
        })
    }
}

impl fmt::Display for StepRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.task, self.attempt, self.fence)
    }
}

pub(super) fn test_command_field(command: &TestCommand) -> Value {
    json!({"line": command.line, "format": command.format.map(TestFormat::as_str)})
}

impl StateFile {
    /// Returns a field whose value is text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.extra(name).and_then(Value::as_str)
    }

    pub(crate) fn set_text(&mut self, name: &str, value: &impl ToString) {
        self.set_extra(name, json!(value.to_string()));
    }

    /// Returns whether agents do the story's steps.
    pub fn is_auto(&self) -> bool {
        self.extra(AUTO).and_then(Value::as_bool).unwrap_or(false)
    }

    pub fn set_auto(&mut self, auto: bool) {
        self.set_extra(AUTO, json!(auto));
    }

    pub fn agent(&self) -> Option<AgentId> {
        self.text(AGENT).and_then(|name| AgentId::parse(name).ok())
    }

    pub fn taken_up_at(&self) -> Option<Time> {
        self.text(TAKEN_UP_AT).and_then(|text| Time::parse(text).ok())
    }

    pub fn base_commit(&self) -> Option<&str> {
        self.text(BASE_COMMIT)
    }

    /// Returns the run that was started for the current step; `None` if a person started it.
    pub fn step_run(&self) -> Option<StepRun> {
        self.text(DISPATCHED_BY).and_then(StepRun::parse)
    }

    /// Sets the run that does the current step; `None` if the caller starts the executor.
    pub fn set_step_run(&mut self, run: Option<&StepRun>) {
        let by = run.map_or("caller".to_owned(), ToString::to_string);
        self.set_text(DISPATCHED_BY, &by);
    }

    /// Returns the fingerprint that a file had before the current executor was started.
    pub(super) fn fingerprint_before(&self, name: &str) -> Option<&str> {
        self.extra(FINGERPRINTS)?.get(name)?.as_str()
    }

    /// Returns the test command that was found when the current executor was started.
    pub(crate) fn test_command_before(&self) -> Option<TestCommand> {
        let field = self.extra(FINGERPRINTS)?.get(TEST_COMMAND)?;
        let line = field.get("line")?.as_str()?.to_owned();
        let format = field.get("format").and_then(Value::as_str).and_then(TestFormat::parse);
        Some(TestCommand { line, format })
    }

    pub fn set_fingerprints(&mut self, fingerprints: Value) {
        self.set_extra(FINGERPRINTS, fingerprints);
    }
}
