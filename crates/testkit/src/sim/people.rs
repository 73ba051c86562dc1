//! Actions of people in a simulation: add, edit, move, approve, answer, retry and cancel tasks.

use adjutant_core::World;
use adjutant_engine::EngineRequest;
use adjutant_model::command::{InitialStatus, NewTask, TaskChanges};
use adjutant_model::review::ReviewPolicy;
use adjutant_model::task::TaskRouting;
use adjutant_model::{AgentId, Command, Priority, Status, Task, TaskId};

use crate::project::operator_request;
use crate::seeded_rng::SeededRng;

pub(super) const AGENTS: [&str; 3] = ["ann", "bob", "cy"];

const PRIORITIES: [Priority; 4] =
    [Priority::Critical, Priority::High, Priority::Normal, Priority::Low];

/// Adds a task, which may depend on existing ones.
pub(super) fn add_random_task(rng: &mut SeededRng, world: &World) -> EngineRequest {
    let tasks: Vec<&TaskId> = world.tasks().map(|task| &task.id).collect();
    let mut depends_on = Vec::new();
    if !tasks.is_empty() && rng.one_in(3) {
        depends_on = (0..=rng.below(2)).map(|_| (*rng.choose(&tasks)).clone()).collect();
        depends_on.sort();
        depends_on.dedup();
    }
    let agent = rng.one_in(2).then(|| agent(rng));
    operator_request(Command::Add(Box::new(NewTask {
        title: format!("Task {}", tasks.len() + 1),
        body: "Do it.".to_owned(),
        priority: *rng.choose(&PRIORITIES),
        routing: TaskRouting { agent, ..TaskRouting::default() },
        depends_on,
        resource: rng.one_in(4).then(|| "the database".to_owned()),
        review: if rng.one_in(2) { ReviewPolicy::Required } else { ReviewPolicy::NotNeeded },
        start: if rng.one_in(8) { InitialStatus::Backlog } else { InitialStatus::Ready },
        ..NewTask::default()
    })))
}

fn agent(rng: &mut SeededRng) -> AgentId {
    AgentId::parse(rng.choose::<&str>(&AGENTS)).expect("a good name")
}

/// Performs an action on a random task that fits its status.
pub(super) fn random_action(rng: &mut SeededRng, world: &World) -> Option<EngineRequest> {
    let tasks: Vec<&Task> = world.tasks().collect();
    if tasks.is_empty() {
        return None;
    }
    let task = *rng.choose(&tasks);
    let id = task.id.clone();
    if rng.one_in(6) {
        return Some(edit(rng, id));
    }
    if rng.one_in(40) {
        return Some(operator_request(Command::Cancel { id, reason: "not needed".to_owned() }));
    }
    let (note, reason) = (String::new(), "so it is".to_owned());
    let command = match task.status() {
        Status::Backlog => Command::Move { id, to: Status::Ready, reason },
        Status::Review if rng.one_in(3) => Command::Reject { id, reason },
        Status::Review => Command::Approve { id, note },
        Status::Blocked | Status::Deadletter if rng.one_in(2) => Command::Retry { id },
        Status::Blocked => Command::Answer { id, text: "42".to_owned() },
        Status::Ready | Status::InProgress if rng.one_in(6) => {
            Command::Move { id, to: *rng.choose(&Status::ALL), reason }
        }
        Status::Deadletter
        | Status::Ready
        | Status::InProgress
        | Status::Done
        | Status::Cancelled => return None,
    };
    Some(operator_request(command))
}

fn edit(rng: &mut SeededRng, id: TaskId) -> EngineRequest {
    let mut changes =
        TaskChanges { title: Some("Another title".to_owned()), ..TaskChanges::default() };
    match rng.below(4) {
        0 => changes.priority = Some(*rng.choose(&PRIORITIES)),
        1 => changes.agent = Some(rng.one_in(2).then(|| agent(rng))),
        2 => changes.body = Some("Do it well.".to_owned()),
        _ => changes.review = Some(ReviewPolicy::NotNeeded),
    }
    operator_request(Command::Edit { id, changes: Box::new(changes) })
}

/// Applies a late report that was salvaged.
pub(super) fn apply_salvage(id: TaskId, name: String) -> EngineRequest {
    operator_request(Command::ApplySalvage { id, name, text: None })
}

/// Moves every task that only a person can move to ready, at the end of a simulation.
pub(super) fn move_stuck_to_ready(world: &World) -> Vec<EngineRequest> {
    let to_ready = |task: &Task| {
        let command =
            Command::Move { id: task.id.clone(), to: Status::Ready, reason: String::new() };
        operator_request(command)
    };
    let waits = |task: &&Task| match task.status() {
        Status::Backlog => true,
        Status::InProgress => task.lease().is_none(),
        _ => false,
    };
    world.tasks().filter(waits).map(to_ready).collect()
}
