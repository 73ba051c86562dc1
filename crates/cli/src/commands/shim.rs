//! `adjutant shim`: stands between the daemon and an agent. Not for people.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::error::Failure;

/// Look after one run, told on standard input
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Shim {}

impl Shim {
    /// Says whether these arguments are what a shim is started with, and nothing else.
    pub(crate) fn is_asked_for(mut arguments: impl Iterator<Item = OsString>) -> bool {
        arguments.next().is_some_and(|name| name == "shim") && arguments.next().is_none()
    }

    #[expect(clippy::unused_self, reason = "it is called like every other command")]
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        adjutant_runtime::shim::run()
            .map_err(|error| Failure::broken("cannot look after the run", &error))?;
        Ok(ExitCode::SUCCESS)
    }
}
