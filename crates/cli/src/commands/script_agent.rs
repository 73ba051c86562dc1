//! `adjutant script-agent`: the built-in agent that plays a script. Not for people.

use std::path::PathBuf;
use std::process::ExitCode;

use adjutant_runtime::script::{self, BadScript};

use crate::error::Failure;

/// Be an agent that does what a script says
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct ScriptAgent {
    /// The script
    #[arg(required_unless_present = "steps")]
    file: Option<PathBuf>,

    /// Steps instead of a script, as JSON
    #[arg(long, conflicts_with = "file", value_name = "JSON")]
    steps: Option<String>,
}

impl ScriptAgent {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let played = match (self.steps, self.file) {
            (Some(steps), _) => script::run_steps(&steps),
            (None, file) => script::run(&file.unwrap_or_default()),
        };
        played.map_err(|bad| match bad {
            BadScript::Unreadable { .. } => Failure::broken("cannot play the script", &bad),
            BadScript::Nonsense(_) => Failure::usage(bad.to_string())
                .hint("`docs/script-agent.md` lists what a script agent can do"),
        })
    }
}
