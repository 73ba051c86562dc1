//! The run that a command was called from, read from environment variables.

use adjutant_model::{AgentId, TaskId};

use crate::output::error::CommandFailure;

pub(crate) struct RunEnvironment {
    pub(crate) task: TaskId,
    pub(crate) agent: AgentId,
    /// Proves that a message comes from this run.
    pub(crate) token: String,
}

impl RunEnvironment {
    /// Reads the environment, or fails and names the missing variable.
    pub(crate) fn from_env(attempt: &str) -> Result<Self, CommandFailure> {
        let task = variable("ADJUTANT_TASK_ID").and_then(|text| TaskId::parse(&text).ok());
        let agent = variable("ADJUTANT_AGENT").and_then(|text| AgentId::parse(&text).ok());
        let token = variable("ADJUTANT_RUN_TOKEN");
        match (task, agent, token) {
            (Some(task), Some(agent), Some(token)) => Ok(Self { task, agent, token }),
            (None, _, _) => Err(CommandFailure::no_run(attempt, "ADJUTANT_TASK_ID")),
            (_, None, _) => Err(CommandFailure::no_run(attempt, "ADJUTANT_AGENT")),
            (_, _, None) => Err(CommandFailure::no_run(attempt, "ADJUTANT_RUN_TOKEN")),
        }
    }

    pub(crate) fn attempt_from_env() -> Option<u32> {
        variable("ADJUTANT_ATTEMPT")?.parse().ok()
    }
}

/// Returns an environment variable, unless it is empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
