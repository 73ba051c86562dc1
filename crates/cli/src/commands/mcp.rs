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
    pub(crate) fn run(self, data: ProjectData) -> Result<ExitCode, CommandFailure> {
        let identity = self.session_identity(&data)?;
        let broken = |error| CommandFailure::broken("cannot serve MCP", &error);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(broken)?;
        let sender = FolderSender::new(data.clone());
        let project = ProjectAccess::new(data.into_queries(), Box::new(sender.clone()));
        let server = McpService::new(Arc::new(project), identity);
        let ended = runtime.block_on(server.serve_stdio());
        // A client that has gone leaves a blocking read behind that never ends.
        runtime.shutdown_background();
        sender.rest();
        ended.map_err(broken)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the identity of the session: a run, an agent that fetches its work, or the operator.
    fn session_identity(self, data: &ProjectData) -> Result<SessionIdentity, CommandFailure> {
        match (data.caller(), self.agent) {
            (CommandCaller::InsideRun(_), None) => {
                let inside = RunEnvironment::from_env("cannot serve a run")?;
                inside.record_mcp_started(data.folder.root());
                let RunEnvironment { task, agent, token } = inside;
                let attempt = RunEnvironment::attempt_from_env().unwrap_or(1);
                Ok(SessionIdentity::Run(RunCredentials { task, agent, attempt, token }))
            }
            (_, Some(agent)) => {
                let attempt = format!("cannot fetch tasks as {agent}");
                data.require_operator(OperatorAction::Fetch, &attempt, &CommandOutput::new(true))?;
                Ok(SessionIdentity::Agent(agent))
            }
            (CommandCaller::Operator(_), None) => Ok(SessionIdentity::Operator(operator())),
        }
    }
}
