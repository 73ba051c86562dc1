//! `adjutant story prompt`: what an executor is told.

use std::process::ExitCode;

use super::{Which, failure, print};
use crate::error::Failure;
use crate::output::Output;

/// Show what an executor of the present step is told
#[derive(Debug, clap::Args)]
pub(crate) struct Prompt {
    #[command(flatten)]
    pub(super) which: Which,
}

impl Prompt {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        let project = self.which.place.open()?;
        let story = self.which.story();
        let story = story.as_ref();
        let answer = project.prompt(story).map_err(failure)?;
        print(out, &answer, "cannot show the prompt")
    }
}
