//! `adjutant answer`: answers the question a task is blocked on.

use std::process::ExitCode;

use adjutant_model::Command;

use super::task::submit_and_show;
use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Answer a question of an agent: the task becomes ready, and its next run gets the answer
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant answer 042 \"Use the Apache-2.0 licence.\"
  adjutant answer 042 1:allow    allow what permission request 1 asks for")]
pub(crate) struct AnswerTaskArgs {
    /// The id of the task
    id: String,
    /// The answer; for a permission request, its number and `allow` or `deny`
    text: String,
}

impl AnswerTaskArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let id = data.task_id(&self.id)?;
        if self.text.trim().is_empty() {
            return Err(CommandFailure::report_usage_error("the answer is empty")
                .with_hint("write `adjutant answer ID TEXT`"));
        }
        let text = self.text;
        submit_and_show(data, out, &format!("cannot answer {id}"), Command::Answer { id, text })
    }
}
