//! The changes that a commit makes to the documents, defined once for every store.

mod epic_memory;
mod run_files;

use std::collections::{BTreeMap, BTreeSet};

use adjutant_model::answer::FieldProblem;
use adjutant_model::event::ReportChannel;
use adjutant_model::mission::EpicId;
use adjutant_model::run::RunPlace;
use adjutant_model::time_limits::DurationLimit;
use adjutant_model::{Event, RecordedEvent, Status, Task, TaskId};
use serde_json::to_string_pretty;

use self::epic_memory::EpicMemories;
use self::run_files::PlannedRuns;
use crate::batch::CommitBatch;
use crate::document_paths::{companion_folder, run_result_file};
use crate::hash::ShortHash;
use crate::par_map_cpu::par_map_cpu;
use crate::store::StoreError;
use crate::taskfile::{self, BodyChange, ParsedTask, TaskFilePatch};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentChange {
    /// Writes a task's file, and moves it with its companion folder if its status changed.
    Task(TaskFileUpdate),
    /// Writes a file, replacing any that is there.
    Put { path: String, text: String },
    /// Moves a file or folder, if it exists.
    Move { from: String, to: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFileUpdate {
    pub id: TaskId,
    /// The status folder before; `None` for a new task.
    pub from: Option<Status>,
    /// The status folder afterwards.
    pub to: Status,
    /// The text before; `None` for a new task.
    pub text_before: Option<String>,
    /// The text afterwards.
    pub text: String,
    /// The hash of `text`.
    pub hash: ShortHash,
    /// The same change as a patch, for a file that was edited meanwhile.
    pub patch: TaskFilePatch,
}

impl TaskFileUpdate {
    /// Returns whether the file changes or moves.
    pub fn is_change(&self) -> bool {
        self.from != Some(self.to) || self.text_before.as_deref() != Some(&self.text)
    }
}

/// The documents before the commit.
pub trait DocumentReader: Sync {
    /// Returns a task's status folder and the text of its file.
    fn task(&self, id: &TaskId) -> Result<Option<(Status, String)>, StoreError>;

    /// Returns the `run.json` of a task's current run, if it can be read.
    fn run(&self, id: &TaskId) -> Result<Option<String>, StoreError>;

    /// Returns the memory file of an epic.
    fn memory(&self, epic: &EpicId) -> Result<Option<String>, StoreError>;

    /// Returns whether a task's current run has any files.
    fn has_run_files(&self, id: &TaskId) -> Result<bool, StoreError>;

    /// Returns whether run files are archived under this attempt number already.
    fn is_attempt_taken(&self, id: &TaskId, number: u32) -> Result<bool, StoreError>;
}

/// Returns the changes that a batch requires, in the order they must be made.
pub fn plan(
    batch: &CommitBatch,
    documents: &dyn DocumentReader,
) -> Result<Vec<DocumentChange>, StoreError> {
    let (bodies, limits) = (body_changes(&batch.events), limit_changes(&batch.events));
    let described = described_tasks(&batch.events);
    let mut runs = PlannedRuns::default();
    let mut memories = EpicMemories::default();
    let mut ops = Vec::new();
    let task_ops = par_map_cpu(&batch.tasks_after, |task| {
        let changes = bodies.get(&task.id).cloned().unwrap_or_default();
        let limits = limits.get(&task.id).map_or(&[][..], |limits| limits);
        task_change(task, changes, limits, documents)
    });
    for (task, prepared) in batch.tasks_after.iter().zip(task_ops) {
        let (op, before) = prepared?;
        runs.set_attempt(&task.id, before);
        ops.extend(
            op.filter(|op| op.is_change() || described.contains(&op.id)).map(DocumentChange::Task),
        );
    }
    let after: BTreeMap<&TaskId, &Task> =
        batch.tasks_after.iter().map(|task| (&task.id, task)).collect();
    for (place, recorded) in batch.events.iter().enumerate() {
        let task = recorded.new_event.task.as_ref().and_then(|id| after.get(id));
        if let (Some(task), Event::EpicNoted { epic, at, text }) = (task, &recorded.new_event.event)
        {
            ops.extend(memories.add(epic, (task, at, text), documents));
        } else if let Some(task) = task {
            let begins = starts_run_next(recorded, batch.events.get(place + 1));
            ops.extend(artifact_changes(recorded, task, begins, &mut runs, documents)?);
        }
    }
    Ok(ops)
}

/// Returns whether a run starts right after this event. The start itself clears old run files, so
/// they are not archived as an attempt.
fn starts_run_next(recorded: &RecordedEvent, next: Option<&RecordedEvent>) -> bool {
    next.is_some_and(|next| {
        let starts = matches!(next.new_event.event, Event::RunStarted { .. });
        starts && next.new_event.task == recorded.new_event.task
    })
}

fn body_changes(events: &[RecordedEvent]) -> BTreeMap<TaskId, Vec<BodyChange>> {
    let mut bodies: BTreeMap<TaskId, Vec<BodyChange>> = BTreeMap::new();
    for recorded in events {
        let change = match &recorded.new_event.event {
            Event::TaskCreated { body: Some(body), .. }
            | Event::TaskEdited { body: Some(body), .. } => BodyChange::Replace(body.clone()),
            Event::TaskLogged { entry } => BodyChange::Append(entry.clone()),
            _ => continue,
        };
        if let Some(id) = &recorded.new_event.task {
            bodies.entry(id.clone()).or_default().push(change);
        }
    }
    bodies
}

/// A time limit of a task file, by its name in the metadata; `None` removes it.
type LimitChange = (&'static str, Option<DurationLimit>);

/// Returns the time limits that a batch sets or removes.
fn limit_changes(events: &[RecordedEvent]) -> BTreeMap<TaskId, Vec<LimitChange>> {
    let mut changes: BTreeMap<TaskId, Vec<LimitChange>> = BTreeMap::new();
    for recorded in events {
        let Some(id) = &recorded.new_event.task else { continue };
        let named = match &recorded.new_event.event {
            Event::TaskCreated { limits: Some(limits), .. } => {
                limits.fields().into_iter().filter(|(_, limit)| limit.is_some()).collect()
            }
            Event::TaskEdited { changed, limits: Some(limits), .. } => {
                let is_changed =
                    |name: &str| changed.iter().any(|field| *field == format!("metadata.{name}"));
                limits.fields().into_iter().filter(|(name, _)| is_changed(name)).collect()
            }
            _ => vec![],
        };
        if !named.is_empty() {
            changes.entry(id.clone()).or_default().extend(named);
        }
    }
    changes
}

/// Returns the tasks that a batch describes as created or edited. Their files go into the commit
/// even if unchanged, so that other processes know this state and do not report it again.
fn described_tasks(events: &[RecordedEvent]) -> BTreeSet<&TaskId> {
    let tells = |recorded: &&RecordedEvent| {
        matches!(recorded.new_event.event, Event::TaskCreated { .. } | Event::TaskEdited { .. })
    };
    events.iter().filter(tells).filter_map(|recorded| recorded.new_event.task.as_ref()).collect()
}

/// Returns the change of a task's file, and the attempt number it had before.
fn task_change(
    task: &Task,
    changes: Vec<BodyChange>,
    limits: &[LimitChange],
    documents: &dyn DocumentReader,
) -> Result<(Option<TaskFileUpdate>, Option<u32>), StoreError> {
    let Some((from, was)) = documents.task(&task.id)? else {
        return Ok((Some(new_task(task, changes, limits)), None));
    };
    let Ok(before) = taskfile::parse(&was, Some(&task.id), Some(from)) else {
        return Ok((None, None));
    };
    let patch = TaskFilePatch::new(&before, task, changes).with_time_limits(limits);
    Ok((changed_task(task, patch, &before, from, was), before.task.attempt()))
}

fn new_task(task: &Task, changes: Vec<BodyChange>, limits: &[LimitChange]) -> TaskFileUpdate {
    let mut changes = changes.into_iter();
    let body = match changes.next() {
        Some(BodyChange::Replace(body)) => body,
        Some(BodyChange::Append(entry)) => entry.append_to(""),
        None => String::new(),
    };
    let patch = TaskFilePatch::from_body(changes.collect()).with_time_limits(limits);
    let text = taskfile::render(task, &body);
    let text = patch.apply(&text).unwrap_or(text);
    let hash = ShortHash::digest(text.as_bytes());
    TaskFileUpdate {
        id: task.id.clone(),
        from: None,
        to: task.status(),
        text_before: None,
        text,
        hash,
        patch,
    }
}

fn changed_task(
    task: &Task,
    patch: TaskFilePatch,
    before: &ParsedTask,
    from: Status,
    was: String,
) -> Option<TaskFileUpdate> {
    let text = if patch.is_empty() { was.clone() } else { patch.apply_to(&was, before).ok()? };
    let (to, hash) = (task.status(), ShortHash::digest(text.as_bytes()));
    Some(TaskFileUpdate {
        id: task.id.clone(),
        from: Some(from),
        to,
        text_before: Some(was),
        text,
        hash,
        patch,
    })
}

fn artifact_changes(
    recorded: &RecordedEvent,
    task: &Task,
    begins: bool,
    runs: &mut PlannedRuns,
    documents: &dyn DocumentReader,
) -> Result<Vec<DocumentChange>, StoreError> {
    let id = &task.id;
    Ok(match &recorded.new_event.event {
        // A result file that the agent wrote is there already, maybe with fields of its own.
        Event::TaskCompleted { result, channel: ReportChannel::Message } => {
            runs.note_files(&task.id);
            vec![write_json(run_result_file(&task.id), &**result)]
        }
        Event::DelegationRequested { handoff, .. } => {
            let inputs = format!("{}/inputs", companion_folder(task.status(), &task.id));
            let markdown = DocumentChange::Put {
                path: format!("{inputs}/handoff.md"),
                text: handoff.to_markdown(),
            };
            vec![write_json(format!("{inputs}/handoff.json"), &**handoff), markdown]
        }
        Event::TaskTransitioned { from, manner, .. } => {
            let mut ops = Vec::new();
            if !manner.is_by_request() && *from != task.status() {
                ops.push(move_companion(*from, task));
            }
            if recorded.new_event.event.starts_again() && !begins {
                ops.extend(runs.archive_attempt(id, documents)?);
            }
            ops
        }
        Event::TaskAnswered { text } => {
            let inputs = format!("{}/inputs", companion_folder(task.status(), id));
            let path = format!("{inputs}/answer-{}.md", recorded.id);
            vec![DocumentChange::Put { path, text: format!("{text}\n") }]
        }
        Event::RunStarted { agent, attempt, fence, expires_at, place, sandbox, .. } => {
            let mut ops = run_files::clear_before_start(id, *attempt, recorded.id);
            ops.push(runs.start_run(id, agent, *attempt, (recorded.at, *sandbox)));
            if *place == RunPlace::Elsewhere {
                // Asking for work is the first heartbeat, and an external run has no other kind.
                ops.extend(run_files::write_heartbeat(task, *fence, recorded.at, *expires_at));
            }
            ops
        }
        Event::RunHeartbeat { fence, expires_at } => {
            let beat = run_files::write_heartbeat(task, *fence, recorded.at, *expires_at);
            if beat.is_some() {
                runs.note_files(id);
            }
            beat.into_iter().collect()
        }
        Event::RunFailed { attempt, reason, .. } => {
            runs.fail_run(id, *attempt, recorded.at, reason, documents)?.into_iter().collect()
        }
        Event::RunSalvaged { file, text, .. } => {
            vec![run_files::salvage(id, file, text.as_deref(), recorded.id)]
        }
        Event::SalvageApplied { file } => vec![run_files::move_applied_salvage(id, file)],
        _ => vec![],
    })
}

pub(super) fn write_json(path: String, document: &impl serde::Serialize) -> DocumentChange {
    let json = to_string_pretty(document).expect("text and numbers always make JSON");
    DocumentChange::Put { path, text: json + "\n" }
}

/// A person who moves a file may leave its companion folder behind.
fn move_companion(from: Status, task: &Task) -> DocumentChange {
    DocumentChange::Move {
        from: companion_folder(from, &task.id),
        to: companion_folder(task.status(), &task.id),
    }
}

/// Joins the problems of a file into one line.
pub fn join_problems(problems: &[FieldProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
