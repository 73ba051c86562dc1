//! `adjutant task reopen`: returns a cancelled task to the backlog.

use std::process::ExitCode;

use adjutant_model::Command;

use super::submit_change;
use crate::commands::several_tasks::{for_each_task, several_ids_help};
use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Return a cancelled task to the backlog
///
/// Tasks that depend on it wait for it again: those that were blocked because it was cancelled
/// are unblocked when it is done.
#[derive(Debug, clap::Args)]
#[command(after_help = several_ids_help!(
    "  adjutant task reopen 042\n  adjutant task reopen 042 --reason \"Needed after all\""
))]
pub(crate) struct TaskReopenArgs {
    /// The ids of the tasks
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// The reason, for the event log
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

impl TaskReopenArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        for_each_task(data, out, &self.ids, |id| {
            let command = Command::Reopen { id: id.clone(), reason: self.reason.clone() };
            submit_change(data, out, id, &format!("cannot reopen {id}"), command)
        })
    }
}
