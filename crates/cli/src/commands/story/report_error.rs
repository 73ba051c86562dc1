//! `adjutant story report-error`: records that an executor failed.

use std::process::ExitCode;

use super::{StorySelectionArgs, print, to_failure};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Record that the executor failed; this counts as an attempt
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story report-error \"the agent ran out of memory\"")]
pub(crate) struct StoryReportErrorArgs {
    /// What went wrong
    error: String,
    #[command(flatten)]
    pub(super) which: StorySelectionArgs,
}

impl StoryReportErrorArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let project = self.which.place.open()?;
        let story = self.which.named_story();
        let story = story.as_ref();
        let answer = project.report_error(story, &self.error).map_err(to_failure)?;
        print(out, &answer, "cannot record the error")
    }
}
