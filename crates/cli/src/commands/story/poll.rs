//! `adjutant story poll`: looks whether an executor took too long.

use std::process::ExitCode;

use super::{InProject, failure, print_all};
use crate::error::Failure;
use crate::output::Output;

/// Look whether the executor of any story took too long
#[derive(Debug, clap::Args)]
pub(crate) struct Poll {
    #[command(flatten)]
    pub(super) place: InProject,
}

impl Poll {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        let project = self.place.open()?;
        let answers = project.poll().map_err(failure)?;
        print_all(&project, &answers, out)
    }
}
