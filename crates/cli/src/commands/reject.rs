//! `adjutant reject`: sends work in review back to be redone.

use std::process::ExitCode;

use adjutant_model::Command;

use super::several_tasks::{for_each_task, several_ids_help};
use super::task::submit_change;
use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Reject work in review: the task becomes ready and runs again
#[derive(Debug, clap::Args)]
#[command(after_help = several_ids_help!(
    "  adjutant reject 042 --reason \"The form must also work without JavaScript.\"\n  \
       adjutant reject 042 043 --reason \"Rebase on main first.\""
))]
pub(crate) struct RejectTaskArgs {
    /// The ids of the tasks
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// What is wrong; the next work order includes it
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl RejectTaskArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        if self.reason.trim().is_empty() {
            return Err(CommandFailure::report_usage_error("a rejection needs a reason")
                .with_hint("write `--reason TEXT`"));
        }
        for_each_task(data, out, &self.ids, |id| {
            let command = Command::Reject { id: id.clone(), reason: self.reason.clone() };
            submit_change(data, out, id, &format!("cannot reject {id}"), command)
        })
    }
}
