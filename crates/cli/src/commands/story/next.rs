//! `adjutant story next`: goes on with a story.

use std::process::ExitCode;

use super::{Which, failure, persons_only, print};
use crate::error::Failure;
use crate::output::Output;

/// Go on: start the next executor, or say what is waited for
#[derive(Debug, clap::Args)]
pub(crate) struct Next {
    /// What there is to say to the next executor
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    pub(super) which: Which,
}

impl Next {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        persons_only("cannot go on")?;
        let project = self.which.place.open()?;
        let story = self.which.story();
        let story = story.as_ref();
        let answer = project.next(story, self.note).map_err(failure)?;
        print(out, &answer, "cannot go on")
    }
}
