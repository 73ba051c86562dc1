//! `adjutant story rollback`: puts a story back to a step.

use std::process::ExitCode;

use adjutant_core::pipeline::Step;

use super::{Which, failure, persons_only, print, step};
use crate::error::Failure;
use crate::output::Output;

/// Put a story back to a step
#[derive(Debug, clap::Args)]
pub(crate) struct Rollback {
    /// The step
    #[arg(value_parser = step)]
    step: Step,
    /// What there is to say to the next executor
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    pub(super) which: Which,
}

impl Rollback {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        persons_only("cannot put the story back")?;
        let project = self.which.place.open()?;
        let story = self.which.story();
        let story = story.as_ref();
        let answer = project.rollback(story, self.step, self.note).map_err(failure)?;
        print(out, &answer, "cannot put the story back")
    }
}
