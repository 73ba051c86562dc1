//! `adjutant story approve`: a person says yes.

use std::process::ExitCode;

use super::{Which, failure, persons_only, print};
use crate::error::Failure;
use crate::output::Output;

/// Say yes: to a review, or to another try
#[derive(Debug, clap::Args)]
pub(crate) struct Approve {
    /// What there is to say to the next executor
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    pub(super) which: Which,
}

impl Approve {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        persons_only("cannot approve")?;
        let project = self.which.place.open()?;
        let story = self.which.story();
        let story = story.as_ref();
        let answer = project.approve(story, self.note).map_err(failure)?;
        print(out, &answer, "cannot approve")
    }
}
