//! `adjutant webhook-agent`: hands a run to a remote agent over HTTP. Started by the daemon only.

use std::error::Error as _;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use adjutant_runs::remote_agent::{self, RemoteRun};

use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::stdout_stream;
use crate::run_environment::RunEnvironment;

/// Hand a run to a remote agent over HTTP
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct WebhookAgentArgs {
    /// The file with the address of the agent
    paper: PathBuf,
}

impl WebhookAgentArgs {
    pub(crate) fn run(self, data: &ProjectData) -> Result<ExitCode, CommandFailure> {
        let attempt = "cannot hand the run to the remote agent";
        let RunEnvironment { task, agent, token } = RunEnvironment::from_env(attempt)?;
        let mut order = String::new();
        let read = std::io::stdin().read_to_string(&mut order);
        read.map_err(|error| CommandFailure::broken(attempt, &error))?;
        let errand = RemoteRun {
            root: data.folder.root().to_owned(),
            task: task.to_string(),
            agent: agent.to_string(),
            attempt: RunEnvironment::attempt_from_env().unwrap_or(1),
            token,
            order,
        };
        // The error becomes the last line of output, which is reported as the reason of the run.
        remote_agent::run(&self.paper, &errand, &mut *stdout_stream()).map_err(
            |error| match error.source() {
                Some(cause) => CommandFailure::broken(error.to_string(), cause),
                None => CommandFailure::broken_because(error.to_string(), []),
            },
        )?;
        Ok(ExitCode::SUCCESS)
    }
}
