//! `adjutant agents allow`: adds a host to the list of an agent.

use std::process::ExitCode;

use adjutant_config::{Config, FILE, allow_host};
use adjutant_core::network::AllowedHost;
use adjutant_model::command::OperatorAction;
use adjutant_process::atomic_file::write_atomic;
use serde_json::json;

use crate::config_trust::accept_text;
use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean};

/// Let an agent with a list of hosts connect to one more host
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The host is added to `network` of the agent in adjutant.toml, and the new text is accepted.

Examples:
  adjutant agents allow claude registry.example.com
  adjutant agents allow claude 127.0.0.1:11434")]
pub(crate) struct AgentAllowArgs {
    /// The name of the agent
    agent: String,
    /// The host, or the host and its port
    host: String,
}

impl AgentAllowArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let Self { agent, host } = self;
        let attempt = format!("cannot allow {} for {}", clean(&host), clean(&agent));
        data.require_operator(OperatorAction::AllowHost, &attempt, out)?;
        // This command accepts what it writes, so what it finds must be accepted.
        if !data.unaccepted().is_empty() {
            let why = vec!["adjutant.toml has changes that are not accepted".to_owned()];
            let failure = CommandFailure::refused_because("unaccepted_config", attempt, why);
            return Err(failure.with_hint("`adjutant trust` shows them and asks"));
        }
        let refused = |why: String| CommandFailure::not_possible(attempt.clone(), &clean(&why));
        let host = AllowedHost::parse(&host).map_err(refused)?;
        let before = data.config_text();
        let text = allow_host(before, &agent, &host).map_err(refused)?;
        let path = data.folder.root().join(FILE);
        let variables = adjutant_config::environment_variables();
        Config::read(&text, variables.into_iter()).map_err(|wrong| refused(wrong.message))?;
        let is_new = text != before;
        if is_new {
            accept_text(data, &text)?;
            write_atomic(&path, text.as_bytes())
                .map_err(|error| CommandFailure::broken(attempt.clone(), &error))?;
        }
        if out.is_json() {
            out.document(&json!({"agent": agent, "host": host.to_string(), "added": is_new}))?;
        } else {
            let note = if is_new { "" } else { " (unchanged)" };
            out.line(&format!("{} may connect to {host}{note}", clean(&agent)))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
