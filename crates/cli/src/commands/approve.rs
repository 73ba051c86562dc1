//! `adjutant approve`: accepts work in review.

use std::process::ExitCode;
use std::time::Duration;

use adjutant_core::World;
use adjutant_core::schedule::task_notes;
use adjutant_engine::EngineAnswer;
use adjutant_engine::ipc::IpcClient;
use adjutant_model::work::PendingMerge;
use adjutant_model::{AnswerVerdict, Command, Event, Status, Task, TaskId};

use super::several_tasks::{for_each_task, several_ids_help};
use super::task::{ChangedTask, UNCHANGED_NOTE, submit_command};
use crate::data::ProjectData;
use crate::output::error::CommandFailure;
use crate::output::{CommandOutput, clean};

/// The pauses between two looks at a merge that a daemon does.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);

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
    let world = wait_for_merge(data, out, id)?;
    let task = world.task(id);
    let status = task.map(Task::status);
    let note = match task.and_then(|task| task.history.merging()) {
        Some(PendingMerge { waits: Some(waits), .. }) => {
            format!(" (approved; the merge waits: {})", clean(waits))
        }
        Some(PendingMerge { waits: None, .. }) => {
            format!(" (approved, not merged yet; `adjutant task show {id}` shows when it is)")
        }
        None if has_merge_request(&answered) && status != Some(Status::Done) => {
            sent_back_note(&world, id)
        }
        None if answered.answer.verdict == AnswerVerdict::Noop => UNCHANGED_NOTE.to_owned(),
        None => protected_note(&answered),
    };
    ChangedTask::read(data, id, note)
}

/// Says why approved work was not merged. Its next run may have started already.
fn sent_back_note(world: &World, id: &TaskId) -> String {
    let notes = world.task(id).map(task_notes).unwrap_or_default();
    let note = match notes.first() {
        Some(note) => clean(note.trim_end_matches('.')),
        None => format!(
            "it was approved, but could not be merged and went back; `adjutant events --task {id}` \
             shows why"
        ),
    };
    format!(" ({note})")
}

/// Waits until the daemon has merged the work, sent it back, or said what the merge waits for. A
/// daemon that ends meanwhile leaves the merge to the next one; a node of a fleet may take longer.
fn wait_for_merge(
    data: &ProjectData,
    out: &CommandOutput,
    id: &TaskId,
) -> Result<World, CommandFailure> {
    let mut pause = FIRST_PAUSE;
    loop {
        let world = data.load_world(out)?;
        let merging = world.task(id).and_then(|task| task.history.merging());
        let is_under_way = merging.is_some_and(|merging| merging.waits.is_none());
        if !is_under_way || data.is_in_fleet() || IpcClient::connect(data.folder.root()).is_none() {
            return Ok(world);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
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
