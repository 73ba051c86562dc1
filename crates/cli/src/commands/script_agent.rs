//! `adjutant script-agent`: the built-in agent that plays a script. Started by the daemon only.

use std::path::PathBuf;
use std::process::ExitCode;

use adjutant_runs::script::{self, ScriptError};

use crate::output::error::CommandFailure;

/// Run the built-in agent that plays a script
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct ScriptAgentArgs {
    /// The script to play
    #[arg(required_unless_present = "steps")]
    file: Option<PathBuf>,

    /// Steps instead of a script, as JSON
    #[arg(long, conflicts_with = "file", value_name = "JSON")]
    steps: Option<String>,
}

impl ScriptAgentArgs {
    pub(crate) fn run(self) -> Result<ExitCode, CommandFailure> {
        let played = match (self.steps, self.file) {
            (Some(steps), _) => script::run_steps(&steps),
            (None, file) => script::run(&file.unwrap_or_default()),
        };
        played.map_err(|bad| match bad {
            ScriptError::Unreadable { .. } => {
                CommandFailure::broken("cannot play the script", &bad)
            }
            ScriptError::Invalid(_) => CommandFailure::report_usage_error(bad.to_string())
                .with_hint("`docs/script-agent.md` lists what a script agent can do"),
        })
    }
}
