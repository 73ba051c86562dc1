//! `adjutant story poll`: checks whether an executor has timed out.

use std::process::ExitCode;

use super::{StoryProjectArgs, print_all, to_failure};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Check every story for an executor that has timed out
#[derive(Debug, clap::Args)]
#[command(after_help = "\
`adjutant up` does this all the time; use `poll` where no daemon is running, e.g. from cron.

Examples:
  adjutant story poll")]
pub(crate) struct StoryPollArgs {
    #[command(flatten)]
    pub(super) place: StoryProjectArgs,
}

impl StoryPollArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let project = self.place.open()?;
        let answers = project.poll().map_err(to_failure)?;
        print_all(&project, &answers, out)
    }
}
