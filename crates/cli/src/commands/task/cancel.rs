//! `adjutant task cancel`: cancels a task.

use std::process::ExitCode;

use adjutant_model::Command;

use super::submit_change;
use crate::commands::several_tasks::{for_each_task, several_ids_help};
use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Cancel a task, and stop its run
#[derive(Debug, clap::Args)]
#[command(after_help = several_ids_help!(
    "  adjutant task cancel 042\n  adjutant task cancel 042 043 --reason \"no longer needed\""
))]
pub(crate) struct TaskCancelArgs {
    /// The ids of the tasks
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// The reason, for the event log
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

impl TaskCancelArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        for_each_task(data, out, &self.ids, |id| {
            let command = Command::Cancel { id: id.clone(), reason: self.reason.clone() };
            submit_change(data, out, id, &format!("cannot cancel {id}"), command)
        })
    }
}
