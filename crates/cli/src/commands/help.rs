//! `adjutant help`: shows the commands, or the help of one command.

use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::ErrorKind;

use crate::commands::args::Args;
use crate::output::CommandOutput;
use crate::output::error::{CommandFailure, usage_failure};

/// List the commands, or show the help of one command
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  adjutant help             list the commands
  adjutant help task add    show the options of `task add`")]
pub(crate) struct HelpArgs {
    /// The command, with its subcommand if it has any
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
}

impl HelpArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let words = ["adjutant"].into_iter().chain(self.words.iter().map(String::as_str));
        // The text is that of `adjutant COMMAND --help`, so it comes from there.
        let parsed = Args::command().try_get_matches_from(words.chain(["--help"]));
        match parsed {
            Err(help) if help.kind() == ErrorKind::DisplayHelp => {
                if out.is_json() {
                    out.text("help", help.render().to_string().trim_end())?;
                } else {
                    help.print()?;
                }
                Ok(ExitCode::SUCCESS)
            }
            Err(error) => Err(usage_failure(&error)),
            Ok(_) => Err(CommandFailure::report_usage_error("this command has no help")),
        }
    }
}
