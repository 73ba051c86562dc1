//! A story is a task: it is made, moved and closed as the story's own files say.
//!
//! The files own the position. What is decided here is what the task on the board makes of it, along
//! the table of moves; the same facts twice change nothing.

use super::Decision;
use super::draft::Draft;
use super::recovery::exited;
use crate::answer::{Problem, Reason, Verdict};
use crate::command::Command;
use crate::effect::Stop;
use crate::event::Event;
use crate::foreign::Foreign;
use crate::input::StoryFacts;
use crate::name::Actor;
use crate::pipeline::{Hold, Position, Status as StepStatus, Step};
use crate::run::Exit;
use crate::status::Status;
use crate::task::{Routing, State, TITLE_CHARS_MAX, Task};
use crate::time::Time;
use crate::world::World;

pub(super) fn decide(world: &World, by: &Actor, facts: &StoryFacts, now: Time) -> Decision {
    // Whoever notices that an executor took too long stops it at once; one that has reported is
    // given the time to end.
    let by = match facts.position.status {
        StepStatus::Timeout => &Actor::Scheduler,
        _ => by,
    };
    let mut draft = Draft::new(by.clone(), None);
    match world.story(&facts.position.story) {
        // Another checkout of the project may have the same files, and moves nothing.
        Some(task) if !task.status().is_closed() && !is_home(task, &facts.position) => {
            draft.on(task);
            draft.end(Verdict::Noop, None)
        }
        Some(task) if !task.status().is_closed() => follow(draft, task, facts, now),
        Some(task) if !is_taken_up(task, facts) => {
            draft.on(task);
            draft.end(Verdict::Noop, Some(Reason::TaskClosed))
        }
        _ if is_done(&facts.position) => draft.end(Verdict::Noop, None),
        // It may be the one whose file cannot be read.
        _ if !world.unreadable().is_empty() => {
            draft.end(Verdict::Noop, Some(Reason::TaskUnreadable))
        }
        _ => make(world, draft, by, facts, now),
    }
}

/// Says whether facts come from where the files of a story are: the node that told of it first. On
/// one machine there is no other.
fn is_home(task: &Task, position: &Position) -> bool {
    let home = task.home();
    position.node.is_none() || home.is_none() || home == position.node.as_ref()
}

fn is_done(position: &Position) -> bool {
    position.step == Step::Done
}

/// Says whether a story whose task is over needs another: it was done and is not any more, or its
/// task was cancelled and somebody has taken the story up since.
fn is_taken_up(task: &Task, facts: &StoryFacts) -> bool {
    let since = |time: Time| time > task.last_transition_at;
    match task.status() {
        Status::Done => !is_done(&facts.position),
        _ => !is_done(&facts.position) && facts.taken_up_at.is_some_and(since),
    }
}

fn make(world: &World, mut draft: Draft, by: &Actor, facts: &StoryFacts, now: Time) -> Decision {
    let position = &facts.position;
    let task = Task {
        state: State::Ready,
        routing: Routing { agent: facts.agent.clone(), ..Routing::default() },
        foreign: Some(Box::new(Foreign::of_story(position.clone()))),
        ..Task::new(world.next_id(now), &title(facts), by, now)
    };
    draft.on(&task);
    let body = format!(
        "The story {0}. Where it stands is said by the project's files under `.ai`, and this task \
         follows them; `adjutant story status --story {0}` shows it.\n",
        position.story
    );
    draft.push(Event::TaskCreated { task: Box::new(task.clone()), body: Some(body) });
    go(&mut draft, &task, position);
    draft.end(Verdict::Applied, None)
}

fn follow(mut draft: Draft, task: &Task, facts: &StoryFacts, now: Time) -> Decision {
    let position = &facts.position;
    draft.on(task);
    edit(&mut draft, task, facts, now);
    let before = task.story();
    if before != Some(position) {
        draft.push(Event::StoryMoved { position: Box::new(position.clone()) });
        let was_running = before.is_some_and(|before| before.status == StepStatus::Running);
        if was_running && matches!(position.status, StepStatus::Pass | StepStatus::Failing) {
            draft.stop(Stop::Reported);
        }
    }
    // A task that was given up because its runs could not be started waits for a person.
    if task.status() != Status::Deadletter || before != Some(position) {
        go(&mut draft, task, position);
    }
    let verdict = if draft.is_empty() { Verdict::Noop } else { Verdict::Applied };
    draft.end(verdict, None)
}

/// Takes over what the story is called and who is to do it, where nobody has said otherwise.
fn edit(draft: &mut Draft, task: &Task, facts: &StoryFacts, now: Time) {
    let mut edited = task.clone();
    if *task.title == *facts.position.story.as_str() {
        edited.title = title(facts).into();
    }
    if facts.agent.is_some() {
        edited.routing.agent.clone_from(&facts.agent);
    }
    let changed = super::file::differences(task, &edited);
    if !changed.is_empty() {
        edited.updated_at = now;
        draft.push(Event::TaskEdited { task: Box::new(edited), changed, body: None });
    }
}

/// Returns what a task is called: the story, and what its scenarios are called.
fn title(facts: &StoryFacts) -> String {
    let story = facts.position.story.as_str();
    let said = facts.title.as_deref().map(crate::worklog::single_line).unwrap_or_default();
    let said: String = said.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let whole = match said.trim() {
        "" => story.to_owned(),
        said if said.contains(story) => said.to_owned(),
        said => format!("{story} {said}"),
    };
    whole.chars().take(TITLE_CHARS_MAX).collect()
}

/// Moves the task to where its story stands.
fn go(draft: &mut Draft, task: &Task, position: &Position) {
    let to = target(position);
    // The run it was given to is about to begin the step, or has to end first.
    let working = task.lease().is_some() || task.trials.open.is_some();
    if to == Status::Ready && task.status() == Status::InProgress && working {
        return;
    }
    let from = task.status();
    if from != to {
        for next in way(from, to) {
            draft.transition(next, &position.in_words());
        }
    }
}

/// Returns the status of a task whose story stands so.
fn target(position: &Position) -> Status {
    match position.status {
        _ if is_done(position) => Status::Done,
        StepStatus::Pending | StepStatus::Pass | StepStatus::Failing => Status::Ready,
        StepStatus::Running => Status::InProgress,
        StepStatus::Timeout => Status::Blocked,
        StepStatus::NeedsHuman => match position.hold {
            // A person says whether what is there is good.
            Some(Hold::Review | Hold::NoVerdict) => Status::Review,
            Some(Hold::Stuck | Hold::Limit | Hold::Asked) | None => Status::Blocked,
        },
    }
}

/// Returns the moves from one status to another, along the table.
fn way(from: Status, to: Status) -> Vec<Status> {
    if from.may_move_to(to) {
        return vec![to];
    }
    let over = match to {
        Status::Done => Status::Review,
        Status::Review => Status::InProgress,
        Status::InProgress | Status::Blocked => Status::Ready,
        Status::Backlog | Status::Ready | Status::Cancelled | Status::Deadletter => return vec![],
    };
    let mut way = if from == over { vec![] } else { way(from, over) };
    way.push(to);
    way
}

/// The run of a step is over. What it came to is measured next, and told by the story's files; a
/// step is tried as often as the pipeline says, and not as often as the scheduler would.
pub(super) fn let_go(draft: &mut Draft, task: &Task, exit: &Exit, said: &str) {
    exited(draft, task, exit, said);
}

/// Returns why a command is refused that would say where a story stands: its files do, and whoever
/// brings such a command changes them first.
pub(super) fn forbids<'w>(world: &'w World, command: &Command) -> Option<(&'w Task, Problem)> {
    let task = world.task(command.task()?)?;
    let position = task.story().filter(|_| says_where(command, task))?;
    let place = position.node.as_ref().map_or_else(String::new, |node| format!(" on {node}"));
    let text = format!(
        "{} stands where its files say{place}: {}; `adjutant story` moves it",
        position.story,
        position.in_words()
    );
    Some((task, Problem::new("metadata.story", text)))
}

/// Says whether a command is about where a task stands. Giving it up is for anybody to say, and so
/// is taking it up again when its runs could not be started.
fn says_where(command: &Command, task: &Task) -> bool {
    match command {
        Command::Move { to, .. } => *to != Status::Cancelled && *to != task.status(),
        Command::Retry { .. } => task.status() != Status::Deadletter,
        // What a run of a step waits to be told says nothing of where its story stands.
        Command::Approve { .. } | Command::Reject { .. } | Command::Answer { .. } => {
            super::permit::waiting(task).is_none()
        }
        Command::Add(_)
        | Command::Edit { .. }
        | Command::Cancel { .. }
        | Command::Chore(_)
        | Command::Take { .. }
        | Command::Free { .. }
        | Command::ApplySalvage { .. } => false,
    }
}
