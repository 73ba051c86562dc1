//! What people do in a night: add, change, move, approve, answer, try again, and give up.

use adjutant_core::command::{Changes, NewTask, Start};
use adjutant_core::task::{Review, Routing};
use adjutant_core::{AgentId, Command, Priority, Status, Task, TaskId, World};
use adjutant_runtime::Request;

use crate::dice::Dice;
use crate::project::operator;

/// The agents there are.
pub(super) const AGENTS: [&str; 3] = ["ann", "bob", "cy"];

const PRIORITIES: [Priority; 4] =
    [Priority::Critical, Priority::High, Priority::Normal, Priority::Low];

/// Makes a task, which may wait for some of those there are.
pub(super) fn add(dice: &mut Dice, world: &World) -> Request {
    let tasks: Vec<&TaskId> = world.tasks().map(|task| &task.id).collect();
    let mut depends_on = Vec::new();
    if !tasks.is_empty() && dice.once_in(3) {
        depends_on = (0..=dice.below(2)).map(|_| (*dice.one_of(&tasks)).clone()).collect();
        depends_on.sort();
        depends_on.dedup();
    }
    let agent = dice.once_in(2).then(|| agent(dice));
    operator(Command::Add(Box::new(NewTask {
        title: format!("Task {}", tasks.len() + 1),
        body: "Do it.".to_owned(),
        priority: *dice.one_of(&PRIORITIES),
        routing: Routing { agent, ..Routing::default() },
        depends_on,
        resource: dice.once_in(4).then(|| "the database".to_owned()),
        review: if dice.once_in(2) { Review::Required } else { Review::NotNeeded },
        start: if dice.once_in(8) { Start::Backlog } else { Start::Ready },
        ..NewTask::default()
    })))
}

fn agent(dice: &mut Dice) -> AgentId {
    AgentId::parse(dice.one_of::<&str>(&AGENTS)).expect("a good name")
}

/// Does something to a task, as its status suggests it.
pub(super) fn act(dice: &mut Dice, world: &World) -> Option<Request> {
    let tasks: Vec<&Task> = world.tasks().collect();
    if tasks.is_empty() {
        return None;
    }
    let task = *dice.one_of(&tasks);
    let id = task.id.clone();
    if dice.once_in(6) {
        return Some(edit(dice, id));
    }
    if dice.once_in(40) {
        return Some(operator(Command::Cancel { id, reason: "not needed".to_owned() }));
    }
    let (note, reason) = (String::new(), "so it is".to_owned());
    let command = match task.status() {
        Status::Backlog => Command::Move { id, to: Status::Ready, reason },
        Status::Review if dice.once_in(3) => Command::Reject { id, reason },
        Status::Review => Command::Approve { id, note },
        Status::Blocked | Status::Deadletter if dice.once_in(2) => Command::Retry { id },
        Status::Blocked => Command::Answer { id, text: "42".to_owned() },
        Status::Ready | Status::InProgress if dice.once_in(6) => {
            Command::Move { id, to: *dice.one_of(&Status::ALL), reason }
        }
        Status::Deadletter
        | Status::Ready
        | Status::InProgress
        | Status::Done
        | Status::Cancelled => return None,
    };
    Some(operator(command))
}

fn edit(dice: &mut Dice, id: TaskId) -> Request {
    let mut changes = Changes { title: Some("Another title".to_owned()), ..Changes::default() };
    match dice.below(4) {
        0 => changes.priority = Some(*dice.one_of(&PRIORITIES)),
        1 => changes.agent = Some(dice.once_in(2).then(|| agent(dice))),
        2 => changes.body = Some("Do it well.".to_owned()),
        _ => changes.review = Some(Review::NotNeeded),
    }
    operator(Command::Edit { id, changes: Box::new(changes) })
}

/// Lets a report count that came too late.
pub(super) fn apply_salvage(id: TaskId, name: String) -> Request {
    operator(Command::ApplySalvage { id, name, text: None })
}

/// Gives everything that only a person can move on to the crew, at the end of a night.
pub(super) fn hand_over(world: &World) -> Vec<Request> {
    let to_ready = |task: &Task| {
        let command =
            Command::Move { id: task.id.clone(), to: Status::Ready, reason: String::new() };
        operator(command)
    };
    let waits = |task: &&Task| match task.status() {
        Status::Backlog => true,
        Status::InProgress => task.lease().is_none(),
        _ => false,
    };
    world.tasks().filter(waits).map(to_ready).collect()
}
