//! `adjutant shim`: the process between the daemon and an agent. Started by the daemon only.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::output::error::CommandFailure;

/// Supervise one run; its instructions come on standard input
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct ShimArgs {}

impl ShimArgs {
    /// Says whether these arguments start a shim and have no options.
    pub(crate) fn matches_args(mut arguments: impl Iterator<Item = OsString>) -> bool {
        arguments.next().is_some_and(|name| name == "shim") && arguments.next().is_none()
    }

    #[expect(clippy::unused_self, reason = "it is called like every other command")]
    pub(crate) fn run(self) -> Result<ExitCode, CommandFailure> {
        adjutant_runs::shim::run()
            .map_err(|error| CommandFailure::broken("cannot supervise the run", &error))?;
        Ok(ExitCode::SUCCESS)
    }
}
