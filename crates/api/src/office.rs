//! Whoever keeps the record, as a way in asks for it. Which store that is, is not known here.

use adjutant_core::{AgentId, TaskId, Time};
use adjutant_runtime::{Answered, Request};
use serde_json::Value;
use thiserror::Error;

/// Whoever keeps the record. Every call may take as long as a disk takes.
pub trait Office: Send + Sync + 'static {
    /// Asks for something that may change the world, and answers when that is durable.
    fn ask(&self, request: Request) -> Result<Answered, Trouble>;

    /// Returns the task a text stands for: by its own id, or by one that others know it by.
    fn known(&self, text: &str) -> Result<TaskId, Trouble>;

    /// Returns an answer as every channel gives it.
    fn answer(&self, answered: &Answered) -> Value;

    /// Returns a task with its body, as its file has it.
    fn show(&self, id: &TaskId) -> Result<Value, Trouble>;

    /// Returns the file of a task, as it is.
    fn document(&self, id: &TaskId) -> Result<String, Trouble>;

    /// Returns the tasks that are wanted, without their bodies.
    fn list(&self, wanted: &Wanted) -> Result<Value, Trouble>;

    /// Returns what holds a task back.
    fn why(&self, id: &TaskId) -> Result<Value, Trouble>;

    /// Returns everything that waits for a person.
    fn inbox(&self) -> Result<Value, Trouble>;

    /// Writes the work order of a task for an agent.
    fn order(&self, id: &TaskId, agent: &AgentId, attempt: u32) -> Result<String, Trouble>;

    /// Returns the end of what the last run of a task printed.
    fn output(&self, id: &TaskId) -> Result<String, Trouble>;

    /// Keeps what an agent says about its work where its report refers to.
    fn keep_summary(&self, id: &TaskId, text: &str) -> Result<(), Trouble>;

    /// Returns what proves that a message comes from the run under this fence.
    fn token(&self, id: &TaskId, fence: u64) -> Result<String, Trouble>;

    /// Returns what time it is.
    fn now(&self) -> Time;
}

/// Which tasks are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only those with one of these statuses, if there are any here.
    pub statuses: Vec<String>,
    /// Only those this agent works on, or that are for it.
    pub agent: Option<String>,
    /// Only the first so many.
    pub limit: Option<usize>,
}

/// Why something could not be had.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct Trouble {
    /// The word for it that programs rely on.
    pub code: String,
    /// What was tried.
    pub message: String,
    /// Why not.
    pub causes: Vec<String>,
    /// What to do.
    pub hint: Option<String>,
}
