//! `adjutant story prompt`: shows the prompt for the current step.

use std::process::ExitCode;

use adjutant_model::story::Step;

use super::{StorySelectionArgs, print, step, to_failure};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Print the prompt of the current step, or of a named one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story prompt --story US-005
  adjutant story prompt bdd --story US-005  for a story without a state file")]
pub(crate) struct StoryPromptArgs {
    /// The step [default: the current step of the story]
    #[arg(value_parser = step)]
    step: Option<Step>,
    #[command(flatten)]
    pub(super) which: StorySelectionArgs,
}

impl StoryPromptArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let project = self.which.place.open()?;
        let story = self.which.named_story();
        let story = story.as_ref();
        let answer = match self.step {
            Some(step) => project.step_prompt(story, step),
            None => project.prompt(story),
        };
        let answer = answer.map_err(to_failure)?;
        print(out, &answer, "cannot show the prompt")
    }
}
