//! `adjutant story list`: shows the position of every story.

use std::process::ExitCode;

use super::{StoryProjectArgs, print_all, to_failure};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// List the stories with their step and status
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story list")]
pub(crate) struct StoryListArgs {
    #[command(flatten)]
    pub(super) place: StoryProjectArgs,
}

impl StoryListArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let project = self.place.open()?;
        let answers = project.list().map_err(to_failure)?;
        print_all(&project, &answers, out)
    }
}
