//! A mission or a `new_task`: work that is asked for becomes a task.

use super::Decision;
use super::document::{Sender, escapes, receive};
use super::draft::Draft;
use crate::answer::{Problem, Reason, Verdict};
use crate::aof::Sent;
use crate::delegation::NewTask;
use crate::dialect::Document;
use crate::event::Event;
use crate::foreign::Foreign;
use crate::input::{Facts, Token};
use crate::mission::Mission;
use crate::order::{body_of_mission, body_of_new_task, title_of};
use crate::priority::Priority;
use crate::task::{DEPTH_MAX, Routing, State, Task};
use crate::time::Time;
use crate::world::World;

/// What a document asks for, in the words of a task.
pub(super) struct Wish {
    title: String,
    body: String,
    priority: Priority,
    parent: Option<String>,
    due_by: Option<Time>,
    routing: Routing,
    foreign: Foreign,
}

impl Wish {
    pub(super) fn of_mission(mission: &Mission) -> Self {
        Self {
            title: title_of(&mission.instruction),
            body: body_of_mission(mission),
            priority: Priority::default(),
            parent: None,
            due_by: None,
            routing: Routing::default(),
            foreign: Foreign::of_mission(mission),
        }
    }

    pub(super) fn of_new_task(task: &NewTask) -> Self {
        let mode = Some(task.delegated_to_mode.as_str().into());
        Self {
            title: title_of(&task.objective),
            body: body_of_new_task(task),
            priority: task
                .priority
                .map(crate::delegation::TaskPriority::of_task)
                .unwrap_or_default(),
            parent: task.parent_task_id.as_ref().map(ToString::to_string),
            due_by: task.due_by(),
            routing: Routing { mode, ..Routing::default() },
            foreign: Foreign::of_new_task(task),
        }
    }
}

/// Makes the task a document asks for, unless it is there already.
pub(super) fn create(
    world: &World,
    sent: &Sent,
    facts: &Facts,
    now: Time,
    wish: &Wish,
) -> Decision {
    let sender = Sender::of(world, &facts.token);
    let mut draft = Draft::new(sender.actor.clone(), None);
    let known = world.resolve(sent.document.foreign_id()).and_then(|id| world.task(&id));
    if let Some(task) = known {
        draft.on(task);
    }
    if let Some((reason, problems)) = escapes(facts) {
        return draft.reject(reason, problems);
    }
    receive(&mut draft, sent);
    if let Err(reason) = check_run(world, &facts.token) {
        return draft.reject(reason, vec![]);
    }
    if let Some(task) = known {
        return again(draft, task, &sent.document);
    }
    let checked = check_parent(world, wish, &facts.token)
        .and_then(|parent| Ok((parent, depth(world, parent, &facts.token)?)));
    let (parent, depth) = match checked {
        Ok(checked) => checked,
        Err((reason, problem)) => {
            draft.push(Event::DelegationRejected { reason: reason.as_str().to_owned() });
            return draft.reject(reason, vec![problem]);
        }
    };
    let task = Task { depth, ..task(world, wish, parent, &sender, now) };
    draft.on(&task);
    draft.push(Event::TaskCreated { task: Box::new(task), body: Some(wish.body.clone()) });
    draft.end(Verdict::Applied, None)
}

/// Who asks from inside a run must still be that run.
fn check_run(world: &World, token: &Token) -> Result<(), Reason> {
    match token {
        Token::None => Ok(()),
        Token::Unknown => Err(Reason::UnknownToken),
        Token::Run { task, fence } => {
            let lease = world.task(task).and_then(Task::lease);
            let current = lease.is_some_and(|lease| lease.fence == *fence);
            if current { Ok(()) } else { Err(Reason::StaleRun) }
        }
    }
}

/// What was sent before is there; what is sent under its id and says something else is refused.
fn again(draft: Draft, task: &Task, document: &Document) -> Decision {
    let foreign = task.foreign.as_deref();
    let (was, is) = match document {
        Document::Mission(mission) => {
            (foreign.and_then(Foreign::mission).map(Mission::document), mission.document())
        }
        Document::NewTask(new) => {
            (foreign.and_then(Foreign::new_task).map(NewTask::document), new.document())
        }
        Document::Result(_) | Document::AttemptCompletion(_) => (None, document.object()),
    };
    let Some(was) = was else {
        let problem = Problem::new("", format!("{} is there and was not made from this", task.id));
        return draft.reject(Reason::TaskConflict, vec![problem]);
    };
    let keys = was.keys().chain(is.keys().filter(|key| !was.contains_key(*key)));
    let differs = keys.filter(|key| was.get(*key) != is.get(*key));
    let problem =
        |key: &String| Problem::new(key, format!("is not what {} was made from", task.id));
    let problems: Vec<Problem> = differs.map(problem).collect();
    if problems.is_empty() {
        return draft.end(Verdict::Noop, None);
    }
    draft.reject(Reason::TaskConflict, problems)
}

/// A part is one level below its whole, and no run makes parts of another's task.
fn check_parent<'w>(
    world: &'w World,
    wish: &Wish,
    token: &Token,
) -> Result<Option<&'w Task>, (Reason, Problem)> {
    let Some(named) = &wish.parent else { return Ok(None) };
    let wrong = |reason, what: String| (reason, Problem::new("parentTaskId", what));
    let missing = || wrong(Reason::ParentNotFound, format!("there is no task {named}"));
    let id = world.resolve(named).ok_or_else(missing)?;
    if world.unreadable().contains(&id) {
        let what = format!("the file of {id} cannot be read");
        return Err(wrong(Reason::TaskUnreadable, what));
    }
    let parent = world.task(&id).ok_or_else(missing)?;
    if parent.depth.saturating_add(1) > DEPTH_MAX {
        let what = format!("{id} was itself delegated");
        return Err(wrong(Reason::NestedDelegation, what));
    }
    match token {
        Token::Run { task, .. } if *task != parent.id => {
            let what = format!("it was sent by a run of {task}");
            Err(wrong(Reason::UnauthorizedAgent, what))
        }
        Token::None | Token::Unknown | Token::Run { .. } => Ok(Some(parent)),
    }
}

/// Returns how deep a task lies. What a run asks for lies below the task of the run, whether it says
/// so or not: a run that was delegated delegates no further.
fn depth(world: &World, parent: Option<&Task>, token: &Token) -> Result<u32, (Reason, Problem)> {
    let Token::Run { task, .. } = token else {
        return Ok(parent.map_or(0, |parent| parent.depth.saturating_add(1)));
    };
    let depth = world.task(task).map_or(0, |task| task.depth).saturating_add(1);
    if depth > DEPTH_MAX {
        let what = format!("it was sent by a run of {task}, which was itself delegated");
        return Err((Reason::NestedDelegation, Problem::new("", what)));
    }
    Ok(depth)
}

fn task(world: &World, wish: &Wish, parent: Option<&Task>, sender: &Sender, now: Time) -> Task {
    Task {
        state: State::Ready,
        priority: wish.priority,
        routing: wish.routing.clone(),
        parent: parent.map(|parent| parent.id.clone()),
        due_by: wish.due_by,
        foreign: Some(Box::new(wish.foreign.clone())),
        ..Task::new(world.next_id(now), &wish.title, &sender.actor, now)
    }
}
