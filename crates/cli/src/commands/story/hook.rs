//! `adjutant story hook`: takes in what an executor left.

use std::process::ExitCode;

use adjutant_runtime::story::Ask;

use super::{Which, failure, print};
use crate::error::Failure;
use crate::output::Output;

/// Take in what an executor left: run the tests and the check, and write down how the step went
#[derive(Debug, clap::Args)]
pub(crate) struct Hook {
    /// Do nothing as long as the executor has left nothing
    #[arg(long)]
    if_handed_over: bool,
    #[command(flatten)]
    pub(super) which: Which,
}

impl Hook {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        let project = self.which.place.open()?;
        let ask = if self.if_handed_over { Ask::IfHandedOver } else { Ask::Ended };
        let answer = project.hook(self.which.story().as_ref(), ask).map_err(failure)?;
        let code = print(out, &answer, "cannot take in what an executor left")?;
        Ok(if answer.result == "stale" { ExitCode::from(1) } else { code })
    }
}
