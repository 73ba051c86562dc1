//! `adjutant task copy`: creates a task with the content of another one.

use std::process::ExitCode;

use adjutant_model::Command;

use super::{StartArg, submit_and_show};
use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Create a task with the content of another one
///
/// The new task has the title, the body and all fields that `task add` sets. It has no history: no
/// runs, no work log, and no connection to a document that the other task was made from.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  adjutant task copy 042
  adjutant task copy 042 --status ready")]
pub(crate) struct TaskCopyArgs {
    /// The id of the task
    id: String,
    /// The status of the new task
    #[arg(long, value_enum, default_value = "backlog")]
    status: StartArg,
}

impl TaskCopyArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let id = data.task_id(&self.id)?;
        let attempt = format!("cannot copy {id}");
        let command = Command::Copy { id, start: self.status.into(), content: None };
        submit_and_show(data, out, &attempt, command)
    }
}
