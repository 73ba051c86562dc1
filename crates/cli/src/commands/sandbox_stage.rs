//! `adjutant sandbox-stage`: the first process in a sandbox. Started by other commands only.

use std::ffi::OsString;
use std::process::ExitCode;

use adjutant_runs::sandbox::stage::{self, STAGE_COMMAND};

use crate::output::error::CommandFailure;

/// Give up rights inside a sandbox and become the command that it is made for
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(crate) struct SandboxStageArgs {
    /// The descriptors of its instructions and of the pipe for its status
    descriptors: Vec<OsString>,
}

impl SandboxStageArgs {
    /// Returns the stage that these arguments start. It skips parsing all arguments, because every
    /// run in a sandbox waits for it.
    pub(crate) fn from_args(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let is_stage = arguments.next().is_some_and(|name| name == STAGE_COMMAND);
        is_stage.then(|| Self { descriptors: arguments.collect() })
    }

    pub(crate) fn run(self) -> Result<ExitCode, CommandFailure> {
        stage::run(&self.descriptors)
            .map_err(|error| CommandFailure::broken("cannot confine the command", &error))?;
        Ok(ExitCode::SUCCESS)
    }
}
