//! `adjutant mcp`: the MCP server, over standard input and output.

use std::process::ExitCode;
use std::sync::Arc;

use adjutant_api::mcp::{Bearer, Bound, Server};
use adjutant_core::AgentId;
use adjutant_core::command::{Caller, Chore};

use crate::data::Data;
use crate::error::Failure;
use crate::inside::Inside;
use crate::office::FolderOffice;
use crate::output::Output;
use crate::person::operator;

/// Serve MCP over standard input and output
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Inside a run its tools are those of an agent, for that run and no other: which \
    run it is comes from the environment, as for `adjutant report`.\n\
    With `--agent` they are those of an agent that fetches its own work.\n\
    Else they are those of an operator."
)]
pub(crate) struct Mcp {
    /// Fetch work as this agent
    #[arg(long, value_name = "NAME", value_parser = super::task::agent)]
    agent: Option<AgentId>,
}

impl Mcp {
    pub(crate) fn run(self, data: Data) -> Result<ExitCode, Failure> {
        let bearer = self.bearer(&data)?;
        let broken = |error| Failure::broken("cannot serve MCP", &error);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(broken)?;
        let office = Arc::new(FolderOffice::new(data));
        let server = Server::new(Arc::clone(&office) as _, bearer);
        let ended = runtime.block_on(server.serve_stdio());
        // A client that is gone leaves a read behind that never ends.
        runtime.shutdown_background();
        office.rest();
        ended.map_err(broken)?;
        Ok(ExitCode::SUCCESS)
    }

    /// Settles whom the session speaks for.
    fn bearer(self, data: &Data) -> Result<Bearer, Failure> {
        match (data.caller(), self.agent) {
            (Caller::InsideRun(_), None) => {
                let inside = Inside::find("cannot serve a run")?;
                inside.serves(data.folder.root());
                let Inside { task, agent, token } = inside;
                let attempt = Inside::attempt().unwrap_or(1);
                Ok(Bearer::Run(Bound { task, agent, attempt, token }))
            }
            (_, Some(agent)) => {
                let attempt = format!("cannot fetch work as {agent}");
                data.permit(Chore::Fetch, &attempt, &Output::new(true))?;
                Ok(Bearer::Agent(agent))
            }
            (Caller::Operator(_), None) => Ok(Bearer::Operator(operator())),
        }
    }
}
