//! `adjutant approve`: accepts work in review.

use std::process::ExitCode;

use adjutant_engine::EngineAnswer;
use adjutant_engine::ipc::IpcClient;
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
       adjutant approve 042 043 --note \"thanks\"\n  \
       adjutant approve 042 --allow-protected  it changes .adjutant/ or rules in .ai/"
))]
pub(crate) struct ApproveTaskArgs {
    /// The ids of the tasks
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// A comment, for the event log
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
    /// Also approve changes of files that say what Adjutant runs: .adjutant/ and the rules in .ai/
    #[arg(long)]
    allow_protected: bool,
}

impl ApproveTaskArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        // Without a daemon, this process merges and runs the checks.
        let accepted;
        let data = if IpcClient::connect(data.folder.root()).is_some() {
            data
        } else {
            accepted = data.with_accepted_config("cannot approve work", out)?;
            &accepted
        };
        let note = if self.note.is_empty() { "approved".to_owned() } else { self.note };
        for_each_task(data, out, &self.ids, |id| {
            let (task, note) = (id.clone(), note.clone());
            let command = if self.allow_protected {
                Command::ApproveProtected { id: task, note }
            } else {
                Command::Approve { id: task, note }
            };
            approve(data, out, id, command)
        })
    }
}

fn approve(
    data: &ProjectData,
    out: &CommandOutput,
    id: &TaskId,
    command: Command,
) -> Result<ChangedTask, CommandFailure> {
    let attempt = format!("cannot approve {id}");
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
        None => protected_note(&answered),
    };
    ChangedTask::read(data, id, note)
}

fn has_merge_request(answered: &EngineAnswer) -> bool {
    let mut events = answered.events.iter().map(|event| &event.new_event.event);
    events.any(|event| matches!(event, Event::MergeRequested { .. }))
}

/// Returns the protected files whose change was allowed, for the output.
fn protected_note(answered: &EngineAnswer) -> String {
    let files = |event: &Event| match event {
        Event::ProtectedAllowed { files } => Some(files.join(", ")),
        _ => None,
    };
    let mut events = answered.events.iter().map(|event| &event.new_event.event);
    let files = events.find_map(files);
    files.map_or_else(String::new, |files| format!(" (with protected paths: {})", clean(&files)))
}
