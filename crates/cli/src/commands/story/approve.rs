//! `adjutant story approve`: approves a review, or allows another attempt.

use std::process::ExitCode;

use super::{StorySelectionArgs, print, to_failure};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Approve a review, or allow another attempt
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story approve --note \"Keep the API small.\"")]
pub(crate) struct StoryApproveArgs {
    /// A note for the next executor; its prompt includes it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    pub(super) which: StorySelectionArgs,
}

impl StoryApproveArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let project = self.which.place.open()?;
        let story = self.which.named_story();
        let story = story.as_ref();
        let answer = project.approve(story, self.note).map_err(to_failure)?;
        print(out, &answer, "cannot approve the step")
    }
}
