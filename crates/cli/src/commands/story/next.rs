//! `adjutant story next`: starts the next executor of a story.

use std::process::ExitCode;

use super::{StorySelectionArgs, print, to_failure};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Start the next step and print its prompt, or say what the story waits for
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story next
  adjutant story next --story US-005 --note \"Use the existing parser.\"")]
pub(crate) struct StoryNextArgs {
    /// A note for the next executor; its prompt includes it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    pub(super) which: StorySelectionArgs,
}

impl StoryNextArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let project = self.which.place.open()?;
        let story = self.which.named_story();
        let story = story.as_ref();
        let answer = project.continue_story(story, self.note).map_err(to_failure)?;
        print(out, &answer, "cannot continue the story")
    }
}
