//! `adjutant story report-error`: an executor broke.

use std::process::ExitCode;

use super::{Which, failure, print};
use crate::error::Failure;
use crate::output::Output;

/// Say that the executor broke; that counts as an attempt
#[derive(Debug, clap::Args)]
pub(crate) struct ReportError {
    /// How, in words
    error: String,
    #[command(flatten)]
    pub(super) which: Which,
}

impl ReportError {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        let project = self.which.place.open()?;
        let story = self.which.story();
        let story = story.as_ref();
        let answer = project.report_error(story, &self.error).map_err(failure)?;
        print(out, &answer, "cannot take note of the error")
    }
}
