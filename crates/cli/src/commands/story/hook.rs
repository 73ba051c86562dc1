//! `adjutant story hook`: processes the hand-over of an executor.

use std::path::Path;
use std::process::ExitCode;

use adjutant_config::SharedConfig;
use adjutant_core::story::AdvanceResult;
use adjutant_store::file::DATA_FOLDER;
use adjutant_stories::{HookTrigger, StepChecks, StoryCommandResult, StoryProject};

use super::person_check::ReportCaller;
use super::{StorySelectionArgs, board_sync, print, to_failure};
use crate::data::this_program;
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
    pub(super) fn run(
        self,
        caller: ReportCaller,
        data: Option<&Path>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let project = self.which.place.open()?;
        if caller == ReportCaller::Executor {
            return self.leave_to_adjutant(&project, out);
        }
        let data = match board_sync::find_data(project.folder().root(), data) {
            // Without a data folder there is nothing that a test could reach.
            Err(_) if !project.folder().root().join(DATA_FOLDER).exists() => None,
            found => found?,
        };
        let config = data.as_ref().map(|data| data.config().clone()).unwrap_or_default();
        let root = data.as_ref().map(|data| data.folder.root());
        let checks = StepChecks::new(this_program()?, root, SharedConfig::new(config));
        let trigger = if self.if_handed_over {
            HookTrigger::IfHandedOver
        } else {
            HookTrigger::ExecutorEnded
        };
        let answer = project
            .hook(self.which.named_story().as_ref(), trigger, &checks)
            .map_err(to_failure)?;
        let code = print(out, &answer, "cannot process the hand-over")?;
        let is_stale = answer.result == StoryCommandResult::StaleHandOver;
        Ok(if is_stale { ExitCode::from(1) } else { code })
    }

    /// Changes nothing: Adjutant measures the step of its own run, after the run has ended, and not
    /// in a process that the executor controls.
    fn leave_to_adjutant(
        &self,
        project: &StoryProject<'_>,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let story = self.which.named_story();
        let (mut answer, _) = project.status(story.as_ref()).map_err(to_failure)?;
        answer.result = AdvanceResult::Nothing.into();
        answer.warnings.push("Adjutant evaluates the hand-over when this run has ended".to_owned());
        print(out, &answer, "cannot process the hand-over")
    }
}
