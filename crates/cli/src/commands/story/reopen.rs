//! `adjutant story reopen`: takes a story up again that was done.

use std::process::ExitCode;

use adjutant_core::pipeline::{Step, StoryId};

use super::{InProject, failure, persons_only, print, step, story};
use crate::error::Failure;
use crate::output::Output;

/// Take a story up again that was done
#[derive(Debug, clap::Args)]
pub(crate) struct Reopen {
    /// The story
    #[arg(value_parser = story)]
    id: StoryId,
    /// Where it goes on
    #[arg(long, value_name = "STEP", default_value = "impl", value_parser = step)]
    step: Step,
    /// What there is to say to the next executor
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    pub(super) place: InProject,
}

impl Reopen {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        persons_only("cannot take the story up again")?;
        let project = self.place.open()?;
        let answer = project.reopen(&self.id, self.step, self.note).map_err(failure)?;
        print(out, &answer, "cannot take the story up again")
    }
}
