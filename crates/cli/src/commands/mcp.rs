//! `adjutant mcp`: serves MCP over standard input and output.

use std::process::ExitCode;
use std::sync::Arc;

use adjutant_model::AgentId;
use adjutant_model::command::{CommandCaller, OperatorAction};
use adjutant_query::RunCredentials;
use adjutant_server::mcp::{McpService, SessionIdentity};
use adjutant_server::project_access::ProjectAccess;

use crate::caller::operator;
use crate::data::ProjectData;
use crate::folder_sender::FolderSender;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;
use crate::run_connection::RunConnection;
use crate::run_environment::RunEnvironment;

/// Serve MCP (Model Context Protocol) over standard input and output
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Inside a run the tools are those of the run's agent, for its own task only. Environment variables \
identify the run, as for `adjutant report`.

Examples:
  adjutant mcp                 the tools of an operator
  adjutant mcp --agent claude  the tools of an agent that fetches tasks itself")]
pub(crate) struct McpArgs {
    /// Fetch tasks as this agent
    #[arg(long, value_name = "NAME", value_parser = super::task::agent)]
    agent: Option<AgentId>,
}

impl McpArgs {
    pub(crate) fn run(
        self,
        data: impl FnOnce() -> Result<ProjectData, CommandFailure>,
    ) -> Result<ExitCode, CommandFailure> {
        if let Some(connection) = RunConnection::from_env().filter(|_| self.agent.is_none()) {
            let run = calling_run()?;
            connection.record_mcp_started();
            return serve(McpService::for_run(Box::new(connection), run));
        }
        let data = data()?;
        let identity = self.session_identity(&data)?;
        let sender = FolderSender::new(data.clone());
        let project = ProjectAccess::new(data.into_queries(), Box::new(sender.clone()));
        let served = serve(McpService::new(Arc::new(project), identity));
        sender.rest();
        served
    }

    /// Returns the identity of the session: a run, an agent that fetches its work, or the operator.
    fn session_identity(self, data: &ProjectData) -> Result<SessionIdentity, CommandFailure> {
        match (data.caller(), self.agent) {
            (CommandCaller::InsideRun(_), None) => Ok(SessionIdentity::Run(calling_run()?)),
            (_, Some(agent)) => {
                let attempt = format!("cannot fetch tasks as {agent}");
                data.require_operator(OperatorAction::Fetch, &attempt, &CommandOutput::new(true))?;
                Ok(SessionIdentity::Agent(agent))
            }
            (CommandCaller::Operator(_), None) => Ok(SessionIdentity::Operator(operator())),
        }
    }
}

/// Returns the run that the environment names.
fn calling_run() -> Result<RunCredentials, CommandFailure> {
    let RunEnvironment { task, agent, token } = RunEnvironment::from_env("cannot serve a run")?;
    let attempt = RunEnvironment::attempt_from_env().unwrap_or(1);
    Ok(RunCredentials { task, agent, attempt, token })
}

/// Serves until the client disconnects.
fn serve(server: McpService) -> Result<ExitCode, CommandFailure> {
    let broken = |error| CommandFailure::broken("cannot serve MCP", &error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(broken)?;
    let ended = runtime.block_on(server.serve_stdio());
    // A client that has gone leaves a blocking read behind that never ends.
    runtime.shutdown_background();
    ended.map_err(broken)?;
    Ok(ExitCode::SUCCESS)
}
