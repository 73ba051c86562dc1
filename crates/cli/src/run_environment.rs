//! The run that a command was called from, read from environment variables.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;

use adjutant_core::protocols::aof::MESSAGE_PREFIX;
use adjutant_engine::{EngineAnswer, EngineRequest, Request};
use adjutant_model::{AgentId, Answer, AnswerVerdict, Reason, TaskId};
use adjutant_run_files::attempt_files::AttemptFolder;
use adjutant_runs::agent::SANDBOX_VARIABLE;
use adjutant_runs::supervisor;

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

    /// Returns the calling run if its sandbox keeps it from writing the journal. Not every agent
    /// passes its environment on to our MCP server, so opening the journal's lock is tried as well.
    pub(crate) fn from_sandbox(root: &Path) -> Option<Self> {
        let inside = Self::from_env("").ok()?;
        let opened = || OpenOptions::new().write(true).open(root.join("journal/lock"));
        let refused = || opened().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        (variable(SANDBOX_VARIABLE).is_some() || refused()).then_some(inside)
    }

    /// Gives a message to the shim of the run, which keeps it until a daemon takes it.
    pub(crate) fn send_to_shim(
        &self,
        root: &Path,
        request: &EngineRequest,
    ) -> Result<EngineAnswer, CommandFailure> {
        let Request::Message { text, .. } = &request.request else {
            return Ok(Answer::rejected(Reason::OperatorOnly, None).into());
        };
        let text = String::from_utf8_lossy(text);
        let line = if text.trim_start().starts_with('{') && text.contains("\"aof\"") {
            format!("{MESSAGE_PREFIX}{}", text.trim())
        } else {
            text.into_owned()
        };
        let folder =
            self.folder(root).ok_or_else(|| shim_unreachable("ADJUTANT_ATTEMPT is not set"))?;
        supervisor::leave_message(&folder, &self.token, &line).map_err(|error| {
            CommandFailure::broken(
                "cannot deliver the message: neither a daemon nor the shim of the run answers",
                &error,
            )
            .with_hint("print it on standard output as a line `AOF/1 {…}`, or try again")
        })?;
        let (reason, task) = (Some(Reason::KeptForLater), Some(self.task.clone()));
        Ok(Answer { reason, task, ..Answer::plain(AnswerVerdict::Noop) }.into())
    }

    /// Records in the run's folder that the agent has started its MCP server. The daemon warns
    /// about an agent that has not.
    pub(crate) fn record_mcp_started(&self, root: &Path) {
        // A run without a folder here has no shim on this machine.
        let _ = self.folder(root).map(|folder| supervisor::report_mcp_started(&folder));
    }

    fn folder(&self, root: &Path) -> Option<AttemptFolder> {
        let attempt = Self::attempt_from_env()?.to_string();
        let runs = root.join("runs").join(self.task.as_str());
        Some(AttemptFolder::new(&runs.join("attempts").join(attempt)))
    }

    /// Tells the shim that the agent is not idle. Does nothing if the run is on another machine.
    pub(crate) fn record_activity(&self, root: &Path) {
        let _ = self.folder(root).map(|folder| supervisor::report_heartbeat(&folder));
    }
}

fn shim_unreachable(why: &str) -> CommandFailure {
    CommandFailure::gone(format!("cannot deliver the message: {why}"))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
