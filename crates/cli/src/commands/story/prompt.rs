//! `adjutant story prompt`: shows the prompt for the current step.

use std::process::ExitCode;

use super::{StorySelectionArgs, print, to_failure};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Print the prompt of the current step
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story prompt --story US-005")]
pub(crate) struct StoryPromptArgs {
    #[command(flatten)]
    pub(super) which: StorySelectionArgs,
}

impl StoryPromptArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let project = self.which.place.open()?;
        let story = self.which.named_story();
        let story = story.as_ref();
        let answer = project.prompt(story).map_err(to_failure)?;
        print(out, &answer, "cannot show the prompt")
    }
}
