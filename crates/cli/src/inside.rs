//! The run a command was called from, as its environment tells it.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;

use adjutant_core::{AgentId, Answer, Reason, TaskId, Verdict};
use adjutant_runtime::agent::SANDBOX_VARIABLE;
use adjutant_runtime::shim::files::Folder;
use adjutant_runtime::{Answered, Request, supervisor};

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

    /// Returns the run if it is kept in a sandbox, in which the record cannot be written. Not every
    /// agent passes on to our MCP server what it was told, so that it is tried.
    pub(crate) fn confined(root: &Path) -> Option<Self> {
        let inside = Self::find("").ok()?;
        let opened = || OpenOptions::new().write(true).open(root.join("journal/lock"));
        let refused = || opened().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        (variable(SANDBOX_VARIABLE).is_some() || refused()).then_some(inside)
    }

    /// Has a message kept by whoever looks after the run, until somebody is there who takes it.
    pub(crate) fn keep(&self, root: &Path, request: &Request) -> Result<Answered, Failure> {
        let (Request::Message(raw) | Request::Inside { raw, .. }) = request else {
            return Ok(answered(Answer::rejected(Reason::OperatorOnly, None)));
        };
        let text = String::from_utf8_lossy(raw);
        let line = if text.trim_start().starts_with('{') && text.contains("\"aof\"") {
            format!("AOF/1 {}", text.trim())
        } else {
            text.into_owned()
        };
        let folder = self.folder(root).ok_or_else(|| nobody("ADJUTANT_ATTEMPT is not set"))?;
        supervisor::say(&folder, &self.token, &line).map_err(|error| {
            Failure::broken("cannot reach anybody who takes the message", &error)
                .hint("print it on standard output, as a line `AOF/1 {…}`, or try again")
        })?;
        let (reason, task) = (Some(Reason::KeptForLater), Some(self.task.clone()));
        Ok(answered(Answer { reason, task, ..Answer::plain(Verdict::Noop) }))
    }

    /// Notes that the agent has started its MCP server: of one that does not, nobody hears.
    pub(crate) fn serves(&self, root: &Path) {
        // A run that has no folder is not looked after here.
        let _ = self.folder(root).map(|folder| supervisor::served(&folder));
    }

    /// Returns the folder of the attempt, as its environment tells it.
    fn folder(&self, root: &Path) -> Option<Folder> {
        let attempt = Self::attempt()?.to_string();
        let runs = root.join("runs").join(self.task.as_str());
        Some(Folder::at(&runs.join("attempts").join(attempt)))
    }

    /// Lets whoever looks after the run know that its agent is not idle. One that works elsewhere
    /// is looked after by nobody here.
    pub(crate) fn touch(&self, root: &Path) {
        let _ = self.folder(root).map(|folder| supervisor::touch(&folder));
    }
}

fn answered(answer: Answer) -> Answered {
    Answered { answer, events: vec![], owed: vec![] }
}

fn nobody(why: &str) -> Failure {
    Failure::gone(format!("cannot reach anybody who takes the message: {why}"))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
