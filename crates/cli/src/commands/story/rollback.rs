//! `adjutant story rollback`: moves a story back to a step.

use std::process::ExitCode;

use adjutant_model::story::Step;

use super::{StorySelectionArgs, print, step, to_failure};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Move a story back to an earlier step
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story rollback contract --note \"The contract misses refunds.\"")]
pub(crate) struct StoryRollbackArgs {
    /// The step to return to, e.g. bdd, contract or impl
    #[arg(value_parser = step)]
    step: Step,
    /// A note for the next executor; its prompt includes it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    pub(super) which: StorySelectionArgs,
}

impl StoryRollbackArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let project = self.which.place.open()?;
        let story = self.which.named_story();
        let story = story.as_ref();
        let answer = project.rollback(story, self.step, self.note).map_err(to_failure)?;
        print(out, &answer, "cannot move the story back")
    }
}
