//! `adjutant story reject`: rejects a step, with a reason that selects the next one.

use std::process::ExitCode;

use super::{RejectReasonArg, StorySelectionArgs, parse_reject_reason, print, to_failure};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Reject a step; the reason decides which step is next
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story reject default --note \"The total is wrong for an empty cart.\"
  adjutant story reject needs_clarification")]
pub(crate) struct StoryRejectArgs {
    /// The reason: `constitution_violation`, `needs_clarification`, `nfr_missing`, `scope_warning`,
    /// `test_timeout`, or `default` if none of these fits
    #[arg(value_parser = parse_reject_reason)]
    reason: RejectReasonArg,
    /// A note for the next executor; its prompt includes it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    pub(super) which: StorySelectionArgs,
}

impl StoryRejectArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let project = self.which.place.open()?;
        let story = self.which.named_story();
        let story = story.as_ref();
        let answer = project.reject(story, self.reason.0, self.note).map_err(to_failure)?;
        print(out, &answer, "cannot reject the step")
    }
}
