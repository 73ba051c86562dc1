//! `adjutant approve`: accepts work in review.

use std::process::ExitCode;
use std::time::Duration;

use adjutant_core::World;
use adjutant_engine::EngineAnswer;
use adjutant_engine::ipc::IpcClient;
use adjutant_model::{AnswerVerdict, Command, Event, EventId, Status, TaskId};
use adjutant_query::approval::ApprovalOutcome;
use adjutant_store::file::EventFiles;
use serde_json::Value;

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
       adjutant approve 042                   \"merged as COMMIT\", or exit code 1 on a conflict\n  \
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
    /// Do not wait for the merge: answer `queued`
    #[arg(long)]
    no_wait: bool,
}

/// Whether to wait for the merge of approved work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MergeWait {
    UntilDecided,
    None,
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
        let wait = if self.no_wait { MergeWait::None } else { MergeWait::UntilDecided };
        for_each_task(data, out, &self.ids, |id| {
            let (task, note) = (id.clone(), note.clone());
            let command = if self.allow_protected {
                Command::ApproveProtected { id: task, note }
            } else {
                Command::Approve { id: task, note }
            };
            approve(data, out, id, command, wait)
        })
    }
}

fn approve(
    data: &ProjectData,
    out: &CommandOutput,
    id: &TaskId,
    command: Command,
    wait: MergeWait,
) -> Result<ChangedTask, CommandFailure> {
    // A merge that was requested before is found after this event, too.
    let world = data.load_world(out)?;
    let merging = world.task(id).and_then(|task| task.history.merging());
    let earlier = merging.and_then(|_| last_merge_request(data, id));
    let answered = submit_command(data, out, &format!("cannot approve {id}"), command)?;
    let requested = merge_request(&answered);
    if requested.or(earlier).is_some() && wait == MergeWait::UntilDecided {
        data.perform_pending_effects()?;
    }
    let outcome = match requested.or(earlier) {
        Some(_) if wait == MergeWait::None => Some(ApprovalOutcome::Queued { waits: None }),
        Some(event) => Some(merge_outcome(data, id, event)?),
        None => is_approval(&answered).then_some(ApprovalOutcome::Approved),
    };
    let note = match &outcome {
        Some(ApprovalOutcome::Approved) => protected_note(&answered),
        Some(outcome) => format!(" ({})", outcome.in_words(agent_of(&world, id).as_deref())),
        None if answered.answer.verdict == AnswerVerdict::Noop => UNCHANGED_NOTE.to_owned(),
        None => String::new(),
    };
    Ok(ChangedTask::read(data, id, note)?.with_outcome(outcome))
}

/// Returns the agent that gets the task back if its work cannot be merged.
fn agent_of(world: &World, id: &TaskId) -> Option<String> {
    let task = world.task(id)?;
    let last = task.last_run.as_ref().map(|run| &run.agent);
    task.routing.agent.as_ref().or(last).map(ToString::to_string)
}

/// Waits until the daemon has merged the work, sent it back, or said what the merge waits for. A
/// daemon that ends meanwhile leaves the merge to the next one; a node of a fleet may take longer.
fn merge_outcome(
    data: &ProjectData,
    id: &TaskId,
    requested: EventId,
) -> Result<ApprovalOutcome, CommandFailure> {
    let mut pause = FIRST_PAUSE;
    loop {
        let has_daemon = IpcClient::connect(data.folder.root()).is_some();
        let outcome = ApprovalOutcome::of_merge(data.folder.root(), id, requested, usize::MAX)
            .map_err(|error| CommandFailure::unreadable_log(&error))?;
        if !outcome.is_under_way() || !has_daemon || data.is_in_fleet() {
            return Ok(outcome);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// Returns the event with which the merge was requested, if it was.
fn merge_request(answered: &EngineAnswer) -> Option<EventId> {
    let asked = |event: &Event| matches!(event, Event::MergeRequested { .. });
    answered.events.iter().find(|event| asked(&event.new_event.event)).map(|event| event.id)
}

/// Returns whether the task was approved, and not a permission granted.
fn is_approval(answered: &EngineAnswer) -> bool {
    let mut events = answered.events.iter().map(|event| &event.new_event.event);
    events.any(|event| matches!(event, Event::TaskTransitioned { to: Status::Done, .. }))
}

/// Finds the request of a merge that is under way, in the event log.
fn last_merge_request(data: &ProjectData, id: &TaskId) -> Option<EventId> {
    let mut files = EventFiles::open(data.folder.root());
    let mut last = None;
    while let Ok(Some(line)) = files.next_line() {
        let Ok(text) = str::from_utf8(&line.bytes) else { continue };
        if !text.contains("\"merge.requested\"") || !text.contains(id.as_str()) {
            continue;
        }
        let event: Value = serde_json::from_str(text).unwrap_or_default();
        if event["taskId"] == id.as_str() && event["type"] == "merge.requested" {
            last = event["eventId"].as_u64().map(EventId);
        }
    }
    last
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
