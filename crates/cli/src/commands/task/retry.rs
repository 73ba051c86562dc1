//! `adjutant task retry`: makes a stuck task ready to run again.

use std::process::ExitCode;

use adjutant_model::Command;

use super::submit_change;
use crate::commands::several_tasks::{for_each_task, several_ids_help};
use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Run a task again that is blocked or was given up, or end its wait for the next attempt
#[derive(Debug, clap::Args)]
#[command(after_help = several_ids_help!(
    "  adjutant task retry 042\n  adjutant task retry 042 043"
))]
pub(crate) struct TaskRetryArgs {
    /// The ids of the tasks
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

impl TaskRetryArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        for_each_task(data, out, &self.ids, |id| {
            let command = Command::Retry { id: id.clone() };
            submit_change(data, out, id, &format!("cannot retry {id}"), command)
        })
    }
}
