//! `adjutant webhook-agent`: hands a run to an agent elsewhere, by HTTP. Not for people.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use adjutant_runtime::remote::{self, Errand};

use crate::data::Data;
use crate::error::Failure;
use crate::inside::Inside;
use crate::output::stream;

/// Hand a run to an agent elsewhere, as a paper says
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct WebhookAgent {
    /// The paper: where the agent is
    paper: PathBuf,
}

impl WebhookAgent {
    pub(crate) fn run(self, data: &Data) -> Result<ExitCode, Failure> {
        let attempt = "cannot hand the run on";
        let Inside { task, agent, token } = Inside::find(attempt)?;
        let mut order = String::new();
        let read = std::io::stdin().read_to_string(&mut order);
        read.map_err(|error| Failure::broken(attempt, &error))?;
        let errand = Errand {
            root: data.folder.root().to_owned(),
            task: task.to_string(),
            agent: agent.to_string(),
            attempt: Inside::attempt().unwrap_or(1),
            token,
            order,
        };
        // What went wrong is the last line, which is told of the run.
        remote::run(&self.paper, &errand, &mut *stream())
            .map_err(|trouble| Failure::broken(trouble.to_string(), &trouble))?;
        Ok(ExitCode::SUCCESS)
    }
}
