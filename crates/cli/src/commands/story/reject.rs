//! `adjutant story reject`: a person says no.

use std::process::ExitCode;

use super::{Rejection, Which, failure, persons_only, print, reason};
use crate::error::Failure;
use crate::output::Output;

/// Say no: the reason decides where the story goes, at once
#[derive(Debug, clap::Args)]
pub(crate) struct Reject {
    /// Why: `constitution_violation`, `needs_clarification`, `nfr_missing`, `scope_warning`,
    /// `test_timeout`, or `default` for none of these
    #[arg(value_parser = reason)]
    reason: Rejection,
    /// What there is to say to the next executor
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    pub(super) which: Which,
}

impl Reject {
    pub(crate) fn run(self, out: &Output) -> Result<ExitCode, Failure> {
        persons_only("cannot reject")?;
        let project = self.which.place.open()?;
        let story = self.which.story();
        let story = story.as_ref();
        let answer = project.reject(story, self.reason.0, self.note).map_err(failure)?;
        print(out, &answer, "cannot reject")
    }
}
