//! What a commit does to the documents: written once, for every store.

mod memory;
mod runs;

use std::collections::{BTreeMap, BTreeSet};

use adjutant_core::answer::Problem;
use adjutant_core::event::{Channel, Manner};
use adjutant_core::mission::EpicId;
use adjutant_core::run::Place;
use adjutant_core::{Event, Recorded, Status, Task, TaskId};
use serde_json::to_string_pretty;

use self::memory::Memories;
use self::runs::Runs;
use crate::batch::Batch;
use crate::document::{companion, run_result};
use crate::hash::Hash;
use crate::side_by_side::side_by_side;
use crate::store::StoreError;
use crate::taskfile::{self, BodyChange, Parsed, Patch};
use crate::wire::{HandoffWire, RunResultWire};

/// One change of the documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// A task's file is written, and moves with its companion folder if its status changed.
    Task(TaskOp),
    /// A file is written, whatever was there.
    Put {
        /// Where.
        path: String,
        /// What.
        text: String,
    },
    /// A file or a folder is moved, if it is there.
    Move {
        /// From where.
        from: String,
        /// To where.
        to: String,
    },
}

/// A change of a task's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskOp {
    /// The task.
    pub id: TaskId,
    /// The folder it lay in; none for a new task.
    pub from: Option<Status>,
    /// The folder it lies in afterwards.
    pub to: Status,
    /// What it was before; none for a new task.
    pub was: Option<String>,
    /// What it is afterwards.
    pub text: String,
    /// The hash of that.
    pub hash: Hash,
    /// How to get there, should somebody have edited the file meanwhile.
    pub patch: Patch,
}

impl TaskOp {
    /// Says whether the file changes or moves.
    pub fn changes(&self) -> bool {
        self.from != Some(self.to) || self.was.as_deref() != Some(&self.text)
    }
}

/// The documents as they are now.
pub trait Documents: Sync {
    /// Returns where a task's file lies and what it says.
    fn task(&self, id: &TaskId) -> Result<Option<(Status, String)>, StoreError>;

    /// Returns the `run.json` of a task's current run, if it can be read.
    fn run(&self, id: &TaskId) -> Result<Option<String>, StoreError>;

    /// Returns what an epic remembers.
    fn memory(&self, epic: &EpicId) -> Result<Option<String>, StoreError>;

    /// Says whether a task's current run has any files.
    fn has_run_files(&self, id: &TaskId) -> Result<bool, StoreError>;

    /// Says whether the files of a run lie under this number already.
    fn is_attempt_taken(&self, id: &TaskId, number: u32) -> Result<bool, StoreError>;
}

/// Returns the changes a batch asks for, in the order they must be made.
pub fn plan(batch: &Batch, documents: &dyn Documents) -> Result<Vec<Op>, StoreError> {
    let bodies = body_changes(&batch.events);
    let told = told(&batch.events);
    let mut runs = Runs::default();
    let mut memories = Memories::default();
    let mut ops = Vec::new();
    let task_ops = side_by_side(&batch.after, |task| {
        let changes = bodies.get(&task.id).cloned().unwrap_or_default();
        task_op(task, changes, documents)
    });
    for (task, prepared) in batch.after.iter().zip(task_ops) {
        let (op, before) = prepared?;
        runs.expect(&task.id, before);
        ops.extend(op.filter(|op| op.changes() || told.contains(&op.id)).map(Op::Task));
    }
    let after: BTreeMap<&TaskId, &Task> = batch.after.iter().map(|task| (&task.id, task)).collect();
    for (place, recorded) in batch.events.iter().enumerate() {
        let task = recorded.happened.task.as_ref().and_then(|id| after.get(id));
        if let (Some(task), Event::EpicNoted { epic, at, text }) = (task, &recorded.happened.event)
        {
            ops.extend(memories.add(epic, (task, at, text), documents));
        } else if let Some(task) = task {
            let begins = begins_run(recorded, batch.events.get(place + 1));
            ops.extend(artifacts(recorded, task, begins, &mut runs, documents)?);
        }
    }
    Ok(ops)
}

/// Says whether a run begins with this event: what lies there is then cleared away by its
/// beginning, and not taken for an attempt.
fn begins_run(recorded: &Recorded, next: Option<&Recorded>) -> bool {
    next.is_some_and(|next| {
        let starts = matches!(next.happened.event, Event::RunStarted { .. });
        starts && next.happened.task == recorded.happened.task
    })
}

fn body_changes(events: &[Recorded]) -> BTreeMap<TaskId, Vec<BodyChange>> {
    let mut bodies: BTreeMap<TaskId, Vec<BodyChange>> = BTreeMap::new();
    for recorded in events {
        let change = match &recorded.happened.event {
            Event::TaskCreated { body: Some(body), .. }
            | Event::TaskEdited { body: Some(body), .. } => BodyChange::Replace(body.clone()),
            Event::TaskLogged { entry } => BodyChange::Append(entry.clone()),
            _ => continue,
        };
        if let Some(id) = &recorded.happened.task {
            bodies.entry(id.clone()).or_default().push(change);
        }
    }
    bodies
}

/// Returns the tasks of which a batch tells what they are. Their files go into the commit even if
/// they stay as they are, so that others know what was seen and do not tell it again.
fn told(events: &[Recorded]) -> BTreeSet<&TaskId> {
    let tells = |recorded: &&Recorded| {
        matches!(recorded.happened.event, Event::TaskCreated { .. } | Event::TaskEdited { .. })
    };
    events.iter().filter(tells).filter_map(|recorded| recorded.happened.task.as_ref()).collect()
}

/// Returns what a task's file becomes, and the number of the run it had before.
fn task_op(
    task: &Task,
    changes: Vec<BodyChange>,
    documents: &dyn Documents,
) -> Result<(Option<TaskOp>, Option<u32>), StoreError> {
    let Some((from, was)) = documents.task(&task.id)? else {
        return Ok((Some(new_task(task, changes)), None));
    };
    let Ok(before) = taskfile::parse(&was, Some(&task.id), Some(from)) else {
        return Ok((None, None));
    };
    Ok((changed_task(task, changes, &before, from, was), before.task.attempt()))
}

fn new_task(task: &Task, changes: Vec<BodyChange>) -> TaskOp {
    let mut changes = changes.into_iter();
    let body = match changes.next() {
        Some(BodyChange::Replace(body)) => body,
        Some(BodyChange::Append(entry)) => entry.append_to(""),
        None => String::new(),
    };
    let patch = Patch::body(changes.collect());
    let text = taskfile::render(task, &body);
    let text = patch.apply(&text).unwrap_or(text);
    let hash = Hash::of(text.as_bytes());
    TaskOp { id: task.id.clone(), from: None, to: task.status(), was: None, text, hash, patch }
}

fn changed_task(
    task: &Task,
    changes: Vec<BodyChange>,
    before: &Parsed,
    from: Status,
    was: String,
) -> Option<TaskOp> {
    let patch = Patch::new(before, task, changes);
    let text = if patch.is_empty() { was.clone() } else { patch.apply_to(&was, before).ok()? };
    let (to, hash) = (task.status(), Hash::of(text.as_bytes()));
    Some(TaskOp { id: task.id.clone(), from: Some(from), to, was: Some(was), text, hash, patch })
}

fn artifacts(
    recorded: &Recorded,
    task: &Task,
    begins: bool,
    runs: &mut Runs,
    documents: &dyn Documents,
) -> Result<Vec<Op>, StoreError> {
    let id = &task.id;
    Ok(match &recorded.happened.event {
        // One that was left lies there already, with whatever else its author wrote into it.
        Event::TaskCompleted { result, channel: Channel::Message } => {
            runs.filled(&task.id);
            vec![put(run_result(&task.id), &RunResultWire::from(&**result))]
        }
        Event::DelegationRequested { handoff } => {
            let inputs = format!("{}/inputs", companion(task.status(), &task.id));
            let markdown =
                Op::Put { path: format!("{inputs}/handoff.md"), text: handoff.markdown() };
            vec![put(format!("{inputs}/handoff.json"), &HandoffWire::from(&**handoff)), markdown]
        }
        Event::TaskTransitioned { from, manner, .. } => {
            let mut ops = Vec::new();
            if *manner != Manner::Ruled && *from != task.status() {
                ops.push(follow(*from, task));
            }
            if recorded.happened.event.starts_again() && !begins {
                ops.extend(runs.put_aside(id, documents)?);
            }
            ops
        }
        Event::TaskAnswered { text } => {
            let inputs = format!("{}/inputs", companion(task.status(), id));
            let path = format!("{inputs}/answer-{}.md", recorded.id);
            vec![Op::Put { path, text: format!("{text}\n") }]
        }
        Event::RunStarted { agent, attempt, fence, expires_at, place } => {
            let mut ops = runs::clear(id, *attempt, recorded.id);
            ops.push(runs.started(id, agent, *attempt, recorded.at));
            if *place == Place::Elsewhere {
                // To ask for work is the first sign of life, and the only kind there will be.
                ops.extend(runs::beaten(task, *fence, recorded.at, *expires_at));
            }
            ops
        }
        Event::RunHeartbeat { fence, expires_at } => {
            let beat = runs::beaten(task, *fence, recorded.at, *expires_at);
            if beat.is_some() {
                runs.filled(id);
            }
            beat.into_iter().collect()
        }
        Event::RunFailed { attempt, reason, .. } => {
            runs.failed(id, *attempt, recorded.at, reason, documents)?.into_iter().collect()
        }
        Event::RunSalvaged { file, text, .. } => {
            vec![runs::salvage(id, file, text.as_deref(), recorded.id)]
        }
        Event::SalvageApplied { file } => vec![runs::settle_salvage(id, file)],
        _ => vec![],
    })
}

pub(super) fn put(path: String, document: &impl serde::Serialize) -> Op {
    let json = to_string_pretty(document).expect("text and numbers always make JSON");
    Op::Put { path, text: json + "\n" }
}

/// Who moves a file by hand may leave its companion folder behind.
fn follow(from: Status, task: &Task) -> Op {
    Op::Move { from: companion(from, &task.id), to: companion(task.status(), &task.id) }
}

/// Turns problems with a file into one line.
pub fn in_words(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
