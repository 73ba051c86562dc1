//! `adjutant story list`: where every story stands.

use std::process::ExitCode;

use super::{InProject, failure, print_all};
use crate::error::Failure;
use crate::output::Output;

/// Show where every story stands
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(super) place: InProject,
}

impl List {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        let project = self.place.open()?;
        let answers = project.list().map_err(failure)?;
        print_all(&project, &answers, out)
    }
}
