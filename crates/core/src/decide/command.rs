//! What an operator's command does.

use super::Decision;
use super::draft::Draft;
use super::handoff::is_part_of;
use super::message::find;
use super::permit::{self, Wish};
use super::{salvage, story, take};
use crate::answer::{Problem, Reason, Verdict};
use crate::command::{Caller, Changes, Command, NewTask};
use crate::effect::Effect;
use crate::event::Event;
use crate::id::TaskId;
use crate::name::{Actor, AgentId};
use crate::policy::Merge;
use crate::schedule::parked_with;
use crate::status::Status;
use crate::task::{State, TITLE_CHARS_MAX, Task};
use crate::time::Time;
use crate::trials::Trials;
use crate::world::World;

pub(super) fn decide(world: &World, by: &Caller, command: &Command, now: Time) -> Decision {
    let actor = match by {
        Caller::Operator(actor) => actor,
        Caller::InsideRun(actor) => {
            let draft = Draft::new(actor.clone(), command.task().cloned());
            return refuse(draft, command, Reason::OperatorOnly, vec![]);
        }
    };
    let mut draft = Draft::new(actor.clone(), None);
    if let Some((task, problem)) = story::forbids(world, command) {
        draft.on(task);
        return refuse(draft, command, Reason::StoryOwned, vec![problem]);
    }
    match command {
        Command::Add(new) => add(world, draft, command, new, actor, now),
        Command::Edit { id, changes } => on_task(world, draft, command, id, |draft, task| {
            edit(world, draft, command, task, changes, now)
        }),
        Command::Move { id, to, reason } => on_task(world, draft, command, id, |draft, task| {
            if task.status() == *to {
                return draft.end(Verdict::Noop, None);
            }
            transition(draft, command, task, *to, reason)
        }),
        Command::Approve { id, note } => on_task(world, draft, command, id, |draft, task| {
            approve(world, draft, command, task, note)
        }),
        Command::Reject { id, reason } => on_task(world, draft, command, id, |draft, task| {
            if let Some(asked) = permit::waiting(task) {
                return permit::answer(draft, command, task, asked, &Wish::Deny(reason));
            }
            from(&[Status::Review], draft, command, task, Status::Ready, reason)
        }),
        Command::Cancel { id, reason } => on_task(world, draft, command, id, |draft, task| {
            transition(draft, command, task, Status::Cancelled, reason)
        }),
        Command::Retry { id } => {
            on_task(world, draft, command, id, |draft, task| retry(draft, command, task))
        }
        Command::Chore(_) => draft.end(Verdict::Applied, None),
        Command::Answer { id, text } => {
            on_task(world, draft, command, id, |draft, task| answer(draft, command, task, text))
        }
        Command::Take { agent } => take::decide(world, agent, now),
        Command::Free { agent } => free(world, draft, agent),
        Command::ApplySalvage { id, name, text } => {
            on_task(world, draft, command, id, |draft, task| {
                salvage::apply(draft, command, task, name, text.as_deref())
            })
        }
    }
}

pub(super) fn refuse(
    mut draft: Draft,
    command: &Command,
    reason: Reason,
    problems: Vec<Problem>,
) -> Decision {
    draft.push(Event::CommandRefused { command: command.name().to_owned(), reason });
    let mut decision = draft.end(Verdict::Rejected, Some(reason));
    decision.answer.problems = problems;
    decision
}

fn on_task(
    world: &World,
    mut draft: Draft,
    command: &Command,
    id: &TaskId,
    then: impl FnOnce(Draft, &Task) -> Decision,
) -> Decision {
    match find(world, id) {
        Ok(task) => {
            draft.on(task);
            then(draft, task)
        }
        Err(reason) => {
            draft.about(id);
            refuse(draft, command, reason, vec![])
        }
    }
}

/// Accepts work in review. What is on a branch of its own is merged first, where that is asked for.
fn approve(
    world: &World,
    mut draft: Draft,
    command: &Command,
    task: &Task,
    note: &str,
) -> Decision {
    if let Some(asked) = permit::waiting(task) {
        return permit::answer(draft, command, task, asked, &Wish::Allow(note));
    }
    let attempt = task.last_run.as_ref().map(|run| run.attempt);
    match attempt.filter(|_| task.status() == Status::Review) {
        Some(_) if task.trials.merging().is_some() => draft.end(Verdict::Noop, None),
        Some(attempt) if world.policy().merge_of(task) != Merge::None => {
            draft.push(Event::MergeRequested { note: note.to_owned() });
            draft.owe(Effect::MergeWork { task: task.id.clone(), attempt });
            draft.end(Verdict::Applied, None)
        }
        _ => from(&[Status::Review], draft, command, task, Status::Done, note),
    }
}

fn from(
    allowed: &[Status],
    draft: Draft,
    command: &Command,
    task: &Task,
    to: Status,
    reason: &str,
) -> Decision {
    if allowed.contains(&task.status()) {
        return transition(draft, command, task, to, reason);
    }
    let only: Vec<&str> = allowed.iter().map(|status| status.as_str()).collect();
    let what = format!("is {}, not {}", task.status(), only.join(" or "));
    refuse(draft, command, Reason::InvalidTransition, vec![Problem::new("status", what)])
}

fn transition(
    mut draft: Draft,
    command: &Command,
    task: &Task,
    to: Status,
    reason: &str,
) -> Decision {
    let from = task.status();
    if !from.may_move_to(to) {
        let ways: Vec<&str> = from.moves().iter().map(|status| status.as_str()).collect();
        let ways = if ways.is_empty() { "nowhere".to_owned() } else { ways.join(", ") };
        let what = format!("no move from {from} to {to}; from {from} it can go to: {ways}");
        return refuse(
            draft,
            command,
            Reason::InvalidTransition,
            vec![Problem::new("status", what)],
        );
    }
    draft.transition(to, reason);
    draft.end(Verdict::Applied, None)
}

/// Lets a task be tried again that is stuck, and one that is ready and waits be tried at once.
fn retry(mut draft: Draft, command: &Command, task: &Task) -> Decision {
    let trials = &task.trials;
    let held = trials.not_before.is_some() || !trials.parked().is_empty();
    let waits = held || !trials.failures.is_empty();
    if task.status() != Status::Ready || !waits {
        let stuck = [Status::Deadletter, Status::Blocked];
        return from(&stuck, draft, command, task, Status::Ready, "retry");
    }
    draft.push(Event::TaskRetried);
    draft.end(Verdict::Applied, None)
}

/// Forgets that an agent could not work, wherever that was found out.
fn free(world: &World, mut draft: Draft, agent: &AgentId) -> Decision {
    let tasks = parked_with(world, agent);
    for task in &tasks {
        draft.about(task);
        draft.push(Event::AgentFreed { agent: agent.clone() });
    }
    draft.end(if tasks.is_empty() { Verdict::Noop } else { Verdict::Applied }, None)
}

fn answer(mut draft: Draft, command: &Command, task: &Task, text: &str) -> Decision {
    if text.trim().is_empty() {
        let problem = Problem::new("text", "must not be empty");
        return refuse(draft, command, Reason::InvalidArgument, vec![problem]);
    }
    if let Some(asked) = permit::waiting(task) {
        return permit::answer(draft, command, task, asked, &Wish::Choose(text));
    }
    if task.status() == Status::Blocked && task.trials.blocked_by.is_none() {
        draft.push(Event::TaskAnswered { text: text.to_owned() });
    } else if task.trials.blocked_by.is_some() {
        let problem = Problem::new("dependsOn", "it waits for a task that was given up");
        return refuse(draft, command, Reason::HeldBack, vec![problem]);
    }
    from(&[Status::Blocked], draft, command, task, Status::Ready, "answered")
}

fn add(
    world: &World,
    mut draft: Draft,
    command: &Command,
    new: &NewTask,
    actor: &Actor,
    now: Time,
) -> Decision {
    let id = world.next_id(now);
    let checked = check_title(&new.title)
        .and_then(|()| check_commands(&new.checks))
        .and_then(|()| check_links(world, &id, new.parent.as_ref(), &new.depends_on));
    if let Err((reason, problem)) = checked {
        return refuse(draft, command, reason, vec![problem]);
    }
    let task = Task {
        state: State::entered(new.start.status()),
        priority: new.priority,
        routing: new.routing.clone(),
        parent: new.parent.clone(),
        depends_on: new.depends_on.clone(),
        resource: new.resource.as_deref().map(Into::into),
        due_by: new.due_by,
        review: new.review,
        trials: Trials { checks: commands(&new.checks), ..Trials::default() },
        ..Task::new(id, &new.title, actor, now)
    };
    draft.on(&task);
    draft.push(Event::TaskCreated { task: Box::new(task), body: Some(new.body.clone()) });
    draft.end(Verdict::Applied, None)
}

fn edit(
    world: &World,
    mut draft: Draft,
    command: &Command,
    task: &Task,
    changes: &Changes,
    now: Time,
) -> Decision {
    let (mut edited, mut fields) = changed(task, changes);
    if changes.body.is_some() {
        fields.push("body".to_owned());
    }
    if fields.is_empty() {
        return draft.end(Verdict::Noop, None);
    }
    let checked = check_title(&edited.title)
        .and_then(|()| check_links(world, &task.id, edited.parent.as_ref(), &edited.depends_on));
    if let Err((reason, problem)) = checked {
        return refuse(draft, command, reason, vec![problem]);
    }
    edited.updated_at = now;
    let (task, body) = (Box::new(edited), changes.body.clone());
    draft.push(Event::TaskEdited { task, changed: fields, body });
    draft.end(Verdict::Applied, None)
}

/// Returns the task with the changes made, and the names of the fields that are different.
fn changed(task: &Task, changes: &Changes) -> (Task, Vec<String>) {
    let mut edited = task.clone();
    if let Some(title) = &changes.title {
        edited.title = title.trim().into();
    }
    if let Some(priority) = changes.priority {
        edited.priority = priority;
    }
    if let Some(agent) = &changes.agent {
        edited.routing.agent.clone_from(agent);
    }
    if let Some(tags) = &changes.tags {
        edited.routing.tags = tags.iter().map(|tag| tag.as_str().into()).collect();
    }
    if let Some(depends_on) = &changes.depends_on {
        edited.depends_on.clone_from(depends_on);
    }
    if let Some(parent) = &changes.parent {
        edited.parent.clone_from(parent);
    }
    if let Some(resource) = &changes.resource {
        edited.resource = resource.as_deref().map(Into::into);
    }
    if let Some(due_by) = changes.due_by {
        edited.due_by = due_by;
    }
    if let Some(review) = changes.review {
        edited.review = review;
    }
    let names = super::file::differences(task, &edited);
    (edited, names)
}

type Refused = (Reason, Problem);

fn check_title(title: &str) -> Result<(), Refused> {
    let wrong = |message: String| Err((Reason::InvalidArgument, Problem::new("title", message)));
    if title.trim().is_empty() {
        return wrong("must not be empty".to_owned());
    }
    if title.chars().nth(TITLE_CHARS_MAX).is_some() {
        return wrong(format!("must have at most {TITLE_CHARS_MAX} characters"));
    }
    if title.chars().any(char::is_control) {
        return wrong("must be one line without control characters".to_owned());
    }
    Ok(())
}

/// An empty command would pass, and one of several lines cannot be told from several.
fn check_commands(checks: &[String]) -> Result<(), Refused> {
    let wrong = |check: &&String| check.trim().is_empty() || check.chars().any(char::is_control);
    let wrong: Vec<String> =
        checks.iter().filter(wrong).map(|check| format!("{check:?}")).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let what = format!("each must be a command of one line, and not {}", wrong.join(", "));
    Err((Reason::InvalidArgument, Problem::new("checks", what)))
}

fn commands(checks: &[String]) -> Option<Box<[Box<str>]>> {
    (!checks.is_empty()).then(|| checks.iter().map(|check| check.trim().into()).collect())
}

fn check_links(
    world: &World,
    id: &TaskId,
    parent: Option<&TaskId>,
    depends_on: &[TaskId],
) -> Result<(), Refused> {
    if let Some(parent) = parent.filter(|parent| world.task(parent).is_none()) {
        let problem = Problem::new("parentId", format!("there is no task {parent}"));
        return Err((Reason::ParentNotFound, problem));
    }
    if parent.is_some_and(|parent| is_part_of(world, parent, id)) {
        let problem = Problem::new("parentId", format!("{id} would be a part of itself"));
        return Err((Reason::DependencyCycle, problem));
    }
    for dependency in depends_on {
        if dependency != id && world.task(dependency).is_none() {
            let problem = Problem::new("dependsOn", format!("there is no task {dependency}"));
            return Err((Reason::DependencyNotFound, problem));
        }
        if depends(world, dependency, id) {
            let problem = Problem::new("dependsOn", format!("{dependency} waits for {id} itself"));
            return Err((Reason::DependencyCycle, problem));
        }
    }
    Ok(())
}

/// Says whether `task` is `on`, or waits for it by one way or another.
fn depends(world: &World, task: &TaskId, on: &TaskId) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    let mut open = vec![task];
    while let Some(id) = open.pop() {
        if id == on {
            return true;
        }
        if seen.insert(id)
            && let Some(task) = world.task(id)
        {
            open.extend(&task.depends_on);
        }
    }
    false
}
