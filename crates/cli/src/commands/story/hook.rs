//! `adjutant story hook`: processes the hand-over of an executor.

use std::process::ExitCode;

use adjutant_stories::{HookTrigger, StoryCommandResult};

use super::{StorySelectionArgs, print, to_failure};
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Process the hand-over of an executor: run the tests and the check, and record the result
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant story hook                   after an executor has ended
  adjutant story hook --if-handed-over  for hooks of Claude Code and git")]
pub(crate) struct StoryHookArgs {
    /// Do nothing if there is no hand-over yet
    #[arg(long)]
    if_handed_over: bool,
    #[command(flatten)]
    pub(super) which: StorySelectionArgs,
}

impl StoryHookArgs {
    pub(crate) fn run(self, out: &CommandOutput) -> Result<ExitCode, CommandFailure> {
        let project = self.which.place.open()?;
        let trigger = if self.if_handed_over {
            HookTrigger::IfHandedOver
        } else {
            HookTrigger::ExecutorEnded
        };
        let answer =
            project.hook(self.which.named_story().as_ref(), trigger).map_err(to_failure)?;
        let code = print(out, &answer, "cannot process the hand-over")?;
        let is_stale = answer.result == StoryCommandResult::StaleHandOver;
        Ok(if is_stale { ExitCode::from(1) } else { code })
    }
}
