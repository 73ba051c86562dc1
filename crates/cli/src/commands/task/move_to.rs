//! `adjutant task move`: moves a task to another status.

use std::process::ExitCode;

use adjutant_model::{Command, Status};
use adjutant_query::task_list::parse_status;

use super::submit_change;
use crate::commands::several_tasks::{for_each_task, several_ids_help};
use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Move a task to another status
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "adjutant task move [OPTIONS] <ID>... <STATUS>",
    after_help = several_ids_help!(
        "  adjutant task move 042 ready                          let the scheduler assign it\n  \
           adjutant task move 042 043 backlog --reason \"not now\""
    )
)]
pub(crate) struct TaskMoveArgs {
    /// The ids of the tasks, and then their new status, e.g. ready, backlog or blocked
    // One list, because options may stand anywhere between the ids and the status.
    #[arg(value_name = "ID|STATUS", required = true)]
    ids_and_status: Vec<String>,
    /// The reason, for the event log
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

impl TaskMoveArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let (to, ids) = split_status(&self.ids_and_status)?;
        for_each_task(data, out, ids, |id| {
            let command = Command::Move { id: id.clone(), to, reason: self.reason.clone() };
            submit_change(data, out, id, &format!("cannot move {id} to {to}"), command)
        })
    }
}

/// Returns the status, which comes last, and the ids before it.
fn split_status(words: &[String]) -> Result<(Status, &[String]), CommandFailure> {
    let hint = "`--help` shows how the command is called";
    let Some((last, ids)) = words.split_last().filter(|(_, ids)| !ids.is_empty()) else {
        let message = "the following required arguments were not provided";
        let mut failure = CommandFailure::report_usage_error(message);
        failure.causes = vec!["<STATUS>".to_owned()];
        return Err(failure.with_hint(hint));
    };
    let to = parse_status(last).map_err(|problem| {
        let message = format!("invalid value '{last}' for '<STATUS>': {problem}");
        CommandFailure::report_usage_error(message).with_hint(hint)
    })?;
    Ok((to, ids))
}
