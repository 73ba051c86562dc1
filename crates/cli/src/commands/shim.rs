//! `adjutant shim`: stands between the daemon and an agent. Not for people.

use std::process::ExitCode;

use crate::error::Failure;

/// Look after one run, told on standard input
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct Shim {}

impl Shim {
    #[expect(clippy::unused_self, reason = "it is called like every other command")]
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        adjutant_runtime::shim::run()
            .map_err(|error| Failure::broken("cannot look after the run", &error))?;
        Ok(ExitCode::SUCCESS)
    }
}
