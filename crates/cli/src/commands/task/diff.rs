//! `adjutant task diff`: shows the changes that the work on a task made.

use std::process::ExitCode;

use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean, clean_lines};

/// Show the changes that were made for a task, as a diff
///
/// Compares the branch of the task with the commit that it started from. This works for agents with
/// `workspace = "worktree"`. Uncommitted changes are not shown.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  adjutant task diff 042
  adjutant task diff 042 > change.patch")]
pub(crate) struct TaskDiffArgs {
    /// The id of the task
    id: String,
}

impl TaskDiffArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let id = data.task_id(&self.id)?;
        let diff = data.worktrees().diff(&id);
        let diff = diff.map_err(|why| {
            CommandFailure::not_possible(format!("cannot show the changes of {id}"), &clean(&why.0))
        })?;
        let text = String::from_utf8_lossy(&diff);
        let world = data.load_world(out)?;
        let protected = world.task(&id).map_or(&[][..], |task| task.history.protected_files());
        if !protected.is_empty() && !out.is_json() {
            let files = clean(&protected.join(", "));
            out.warn(&format!("the change touches protected paths: {files}"));
        }
        if out.is_json() {
            let mut document = serde_json::json!({"taskId": id.as_str(), "diff": text});
            if !protected.is_empty() {
                document["protected"] = serde_json::json!(protected);
            }
            out.document(&document)?;
        } else if out.is_terminal() {
            out.line(&clean_lines(text.trim_end()))?;
        } else {
            out.bytes(&diff)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
