//! `adjutant story reopen`: reopens a story that is done.

use std::process::ExitCode;

use adjutant_model::story::{Step, StoryId};

use super::{StoryProjectArgs, print, step, story, to_failure};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Reopen a story that is done
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story reopen US-005 --step verify")]
pub(crate) struct StoryReopenArgs {
    /// The id of the story
    #[arg(value_parser = story)]
    id: StoryId,
    /// The step to continue at
    #[arg(long, value_name = "STEP", default_value = "impl", value_parser = step)]
    step: Step,
    /// A note for the next executor; its prompt includes it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    pub(super) place: StoryProjectArgs,
}

impl StoryReopenArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let project = self.place.open()?;
        let answer = project.reopen(&self.id, self.step, self.note).map_err(to_failure)?;
        print(out, &answer, "cannot reopen the story")
    }
}
