//! `adjutant check-shim`: the process above a check. Started by other commands only.

use std::ffi::OsString;
use std::process::ExitCode;

use adjutant_runs::check_command::CHECK_SHIM_COMMAND;

use crate::output::error::CommandFailure;

/// Supervise one command that checks work; its instructions come on standard input
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct CheckShimArgs {}

impl CheckShimArgs {
    /// Says whether these arguments start a check's shim and have no options.
    pub(crate) fn matches_args(mut arguments: impl Iterator<Item = OsString>) -> bool {
        arguments.next().is_some_and(|name| name == CHECK_SHIM_COMMAND)
            && arguments.next().is_none()
    }

    #[expect(clippy::unused_self, reason = "it is called like every other command")]
    pub(crate) fn run(self) -> Result<ExitCode, CommandFailure> {
        adjutant_runs::check_shim::run()
            .map_err(|error| CommandFailure::broken("cannot supervise the check", &error))?;
        Ok(ExitCode::SUCCESS)
    }
}
