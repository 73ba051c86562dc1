//! `adjutant approve`: accepts work in review.

use std::process::ExitCode;

use adjutant_engine::EngineAnswer;
use adjutant_model::work::PendingMerge;
use adjutant_model::{AnswerVerdict, Command, Event, TaskId};

use super::several_tasks::{for_each_task, several_ids_help};
use super::task::{ChangedTask, UNCHANGED_NOTE, submit_command};
use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean};

/// Approve work in review: merge it if `merge` is configured, and mark the task as done
#[derive(Debug, clap::Args)]
#[command(after_help = several_ids_help!(
    "  adjutant task diff 042                 read the changes\n  \
       adjutant approve 042\n  \
       adjutant approve 042 043 --note \"thanks\""
))]
pub(crate) struct ApproveTaskArgs {
    /// The ids of the tasks
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// A comment, for the event log
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
}

impl ApproveTaskArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        let note = if self.note.is_empty() { "approved".to_owned() } else { self.note };
        for_each_task(data, out, &self.ids, |id| approve(data, out, id, &note))
    }
}

fn approve(
    data: &ProjectData,
    out: &CommandOutput,
    id: &TaskId,
    note: &str,
) -> Result<ChangedTask, CommandFailure> {
    let attempt = format!("cannot approve {id}");
    let command = Command::Approve { id: id.clone(), note: note.to_owned() };
    let answered = submit_command(data, out, &attempt, command)?;
    if has_merge_request(&answered) {
        data.perform_pending_effects()?;
    }
    let note = match data.load_world(out)?.task(id).and_then(|task| task.history.merging()) {
        Some(PendingMerge { waits: Some(waits), .. }) => {
            format!(" (approved; the merge waits: {})", clean(waits))
        }
        Some(PendingMerge { waits: None, .. }) => " (approved; being merged)".to_owned(),
        None if answered.answer.verdict == AnswerVerdict::Noop => UNCHANGED_NOTE.to_owned(),
        None => String::new(),
    };
    ChangedTask::read(data, id, note)
}

fn has_merge_request(answered: &EngineAnswer) -> bool {
    let mut events = answered.events.iter().map(|event| &event.new_event.event);
    events.any(|event| matches!(event, Event::MergeRequested { .. }))
}
