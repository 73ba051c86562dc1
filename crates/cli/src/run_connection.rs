//! The connection of a process inside a run to the socket of that run.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use adjutant_engine::ipc::IpcClient;
use adjutant_engine::{EngineAnswer, EngineRequest};
use adjutant_model::TaskId;
use adjutant_query::RunCredentials;
use adjutant_run_files::socket_protocol::{RUN_SOCKET_VARIABLE, RunSocketRequest};
use adjutant_runs::agent::SANDBOX_VARIABLE;
use adjutant_server::project_access::RunAccess;
use adjutant_store::StoreError;

use crate::output::error::CommandFailure;
use crate::run_environment::variable;

/// The socket of the calling run. Each call makes a connection of its own.
#[derive(Debug, Clone)]
pub(crate) struct RunConnection {
    socket: PathBuf,
}

impl RunConnection {
    /// Returns the socket that the environment names.
    pub(crate) fn from_env() -> Option<Self> {
        let socket = variable(RUN_SOCKET_VARIABLE)?;
        Some(Self { socket: socket.into() })
    }

    /// Returns the socket of the calling run if its sandbox keeps it from writing the journal. Not
    /// every agent passes its whole environment on, so opening the journal's lock is tried as well.
    pub(crate) fn from_sandbox(root: &Path) -> Option<Self> {
        let connection = Self::from_env()?;
        let opened = || OpenOptions::new().write(true).open(root.join("journal/lock"));
        let refused = || opened().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        (variable(SANDBOX_VARIABLE).is_some() || refused()).then_some(connection)
    }

    pub(crate) fn submit(
        &self,
        requests: &[EngineRequest],
    ) -> Result<Vec<EngineAnswer>, CommandFailure> {
        Ok(self.connect()?.ask_as_run(requests)?)
    }

    pub(crate) fn submit_one(
        &self,
        request: EngineRequest,
    ) -> Result<EngineAnswer, CommandFailure> {
        self.submit(&[request])?.pop().ok_or_else(|| StoreError::Stopped.into())
    }

    /// Tells the shim that the agent is not idle.
    pub(crate) fn record_activity(&self) {
        let _ = self.ask(RunSocketRequest::Activity);
    }

    /// Records that the agent has started its MCP server; the daemon warns if it has not.
    pub(crate) fn record_mcp_started(&self) {
        let _ = self.ask(RunSocketRequest::McpStarted);
    }

    fn ask(&self, request: RunSocketRequest) -> Result<String, CommandFailure> {
        Ok(self.connect()?.ask_for_text(request)?)
    }

    fn connect(&self) -> Result<IpcClient, CommandFailure> {
        IpcClient::connect_to_run(&self.socket).map_err(|error| {
            let message =
                format!("cannot reach the shim of the run through {}", self.socket.display());
            CommandFailure::broken(message, &error)
                .with_hint(format!("{RUN_SOCKET_VARIABLE} names the socket; it ends with the run"))
        })
    }
}

impl RunAccess for RunConnection {
    fn ask(&self, request: EngineRequest) -> Result<EngineAnswer, CommandFailure> {
        self.submit_one(request)
    }

    fn work_order(&self, _: &RunCredentials) -> Result<String, CommandFailure> {
        self.ask(RunSocketRequest::TaskContext)
    }

    fn store_summary(&self, _: &TaskId, text: &str) -> Result<(), CommandFailure> {
        self.ask(RunSocketRequest::StoreSummary { text: text.to_owned() }).map(drop)
    }

    fn task_file_text(&self, _: &TaskId) -> Result<String, CommandFailure> {
        self.ask(RunSocketRequest::TaskFile)
    }

    fn last_output(&self, _: &TaskId) -> Result<String, CommandFailure> {
        self.ask(RunSocketRequest::Output)
    }
}
