//! The run a command was called from, as its environment tells it.

use std::path::Path;

use adjutant_core::{AgentId, TaskId};
use adjutant_runtime::shim::files::Folder;
use adjutant_runtime::supervisor;

use crate::error::Failure;

/// A run, as its agent knows it.
pub(crate) struct Inside {
    /// The task it is for.
    pub(crate) task: TaskId,
    /// Who works on it.
    pub(crate) agent: AgentId,
    /// What proves that a message is this run's.
    pub(crate) token: String,
}

impl Inside {
    /// Reads the environment, or says what of it is missing.
    pub(crate) fn find(attempt: &str) -> Result<Self, Failure> {
        let task = variable("ADJUTANT_TASK_ID").and_then(|text| TaskId::parse(&text).ok());
        let agent = variable("ADJUTANT_AGENT").and_then(|text| AgentId::parse(&text).ok());
        let token = variable("ADJUTANT_RUN_TOKEN");
        match (task, agent, token) {
            (Some(task), Some(agent), Some(token)) => Ok(Self { task, agent, token }),
            (None, _, _) => Err(Failure::no_run(attempt, "ADJUTANT_TASK_ID")),
            (_, None, _) => Err(Failure::no_run(attempt, "ADJUTANT_AGENT")),
            (_, _, None) => Err(Failure::no_run(attempt, "ADJUTANT_RUN_TOKEN")),
        }
    }

    /// Returns the number of the run, as its environment tells it.
    pub(crate) fn attempt() -> Option<u32> {
        variable("ADJUTANT_ATTEMPT")?.parse().ok()
    }

    /// Lets whoever looks after the run know that its agent is not idle. One that works elsewhere
    /// is looked after by nobody here.
    pub(crate) fn touch(&self, root: &Path) {
        let attempt = variable("ADJUTANT_ATTEMPT").filter(|number| number.parse::<u32>().is_ok());
        if let Some(attempt) = attempt {
            let runs = root.join("runs").join(self.task.as_str());
            let _ = supervisor::touch(&Folder::at(&runs.join("attempts").join(attempt)));
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
