//! The plan of a tick: which runs are over, which tasks are blocked, and which agent
//! gets which task.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::btree_set::Iter;

use adjutant_model::actor::AgentId;
use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;

use super::action::ScheduleAction;
use super::agent_availability::{agent_unavailable_for_task, exceeded_budget};
use super::hold_reasons::is_deferred;
use super::run_actions::run_action;
use super::slots::{AgentSlots, AssignmentTarget};
use crate::input::TickFacts;
use crate::world::World;
use crate::world::task_lanes::TaskRank;

/// Returns the tasks whose runs a tick has to inspect: tasks in progress, and tasks whose run was
/// never seen to end. Their number grows with the running work, not with all tasks.
pub fn tasks_to_inspect(world: &World) -> Vec<TaskId> {
    let working = world.with_status(Status::InProgress).map(|task| &task.id);
    working.chain(world.queue().tasks_with_unended_run()).cloned().collect()
}

/// Returns the next time at which a tick has something to do even if nothing else happens.
pub fn next_wake_time(world: &World, now: Time) -> Option<Time> {
    world.queue().next_backoff_end(now)
}

/// Returns whether no run is going and none will start until a person or an agent does something.
/// A task that was deferred waits for a person, although it is retried now and then.
pub fn is_idle(world: &World, now: Time) -> bool {
    let queue = world.queue();
    let retries = |id: &TaskId| world.task(id).is_some_and(|task| !is_deferred(task));
    let waits = queue.runs() > 0 || queue.tasks_in_backoff(now).any(retries);
    !waits && plan(world, &TickFacts::default(), now).is_empty()
}

/// Returns the tasks that would be assigned next, in order of rank, if there were free slots. A
/// task that no agent can do now is left out.
pub fn waiting_tasks(world: &World, now: Time) -> impl Iterator<Item = &Task> {
    let mut heads = lane_heads(world, now);
    std::iter::from_fn(move || {
        let Reverse(mut head) = heads.pop()?;
        let task = world.task(&head.rank.id);
        // The other tasks of a list are for the same agents.
        if task.is_some_and(|task| !has_available_agent(world, task, now)) {
            return Some(None);
        }
        if head.advance() {
            heads.push(Reverse(head));
        }
        Some(task)
    })
    .flatten()
}

fn has_available_agent(world: &World, task: &Task, now: Time) -> bool {
    let is_available =
        |name: &AgentId| agent_unavailable_for_task(world, name, task, now).is_none();
    world.policy().agents_for(&task.routing).any(|(name, _)| is_available(name))
}

/// Returns the actions of one tick, in order: clean up ended runs, block and unblock tasks, then
/// assign tasks to free slots.
pub fn plan<'w>(world: &'w World, facts: &'w TickFacts, now: Time) -> Vec<ScheduleAction> {
    let mut slots = AgentSlots::new(world, now).with_silent_nodes(&facts.unreachable_nodes);
    let mut actions = Vec::new();
    for (id, seen) in &facts.runs {
        let Some(task) = world.task(id) else { continue };
        let action = run_action(task, seen, &world.policy().scheduler, now);
        if action.as_ref().is_some_and(|action| frees_slot(action, task)) {
            slots.release_slot(task);
        }
        actions.extend(action);
    }
    actions.extend(world.queue().tasks_to_block().iter().filter_map(|id| block_action(world, id)));
    let freed = world.queue().tasks_to_unblock();
    actions.extend(freed.iter().map(|id| ScheduleAction::Unblock { task: id.clone() }));
    actions.extend(assign(world, slots, now));
    actions
}

/// Returns whether an action frees the slot of the run. A local run that may still be alive keeps
/// its slot until it was stopped.
fn frees_slot(action: &ScheduleAction, task: &Task) -> bool {
    match action {
        ScheduleAction::RunLost { .. } | ScheduleAction::RunOver { .. } => true,
        ScheduleAction::StaleHeartbeat { .. } | ScheduleAction::ExpireLease { .. } => {
            task.history.open.is_none()
        }
        ScheduleAction::RenewLease { .. }
        | ScheduleAction::Block { .. }
        | ScheduleAction::Unblock { .. }
        | ScheduleAction::Assign { .. } => false,
    }
}

fn block_action(world: &World, id: &TaskId) -> Option<ScheduleAction> {
    let given_up = |id: &&TaskId| {
        let status = world.task(id).map(Task::status);
        matches!(status, Some(Status::Cancelled | Status::Deadletter))
    };
    let dependency = world.task(id)?.depends_on.iter().find(given_up)?.clone();
    Some(ScheduleAction::Block { task: id.clone(), dependency })
}

/// Assigns tasks in order of rank while slots are free. If no agent for a list has a free slot, the
/// rest of the list is skipped, so a long queue for a busy agent costs nothing.
fn assign<'w>(world: &'w World, mut slots: AgentSlots<'w>, now: Time) -> Vec<ScheduleAction> {
    let mut actions = Vec::new();
    if slots.is_full() {
        return actions;
    }
    let mut heads = lane_heads(world, now);
    while !slots.is_full()
        && let Some(Reverse(mut head)) = heads.pop()
    {
        let Some(task) = world.task(&head.rank.id) else { continue };
        let Some(desk) = slots.find_target(task) else { continue };
        let free = slots.is_resource_free(task.resource.as_deref());
        if free && exceeded_budget(world, task).is_none() {
            slots.take_slot(task, desk);
            actions.push(assign_action(task, desk));
        }
        if head.advance() {
            heads.push(Reverse(head));
        }
    }
    actions
}

/// Returns the task for an agent that asks for work: the first in rank that the agent may take, if
/// there is a free slot. Lists of tasks for other agents are skipped.
pub(crate) fn next_task_for<'w>(world: &'w World, agent: &AgentId, now: Time) -> Option<&'w Task> {
    let slots = AgentSlots::new(world, now);
    if slots.is_full() || !slots.has_slot(agent) {
        return None;
    }
    let mut heads = lane_heads(world, now);
    while let Some(Reverse(mut head)) = heads.pop() {
        let Some(task) = world.task(&head.rank.id) else { continue };
        if !world.policy().may_take(agent, &task.routing) {
            continue;
        }
        let free = slots.is_resource_free(task.resource.as_deref());
        // A step of a story starts and ends in the project's files, so an agent cannot fetch it.
        if task.story().is_none() && free && exceeded_budget(world, task).is_none() {
            return Some(task);
        }
        if head.advance() {
            heads.push(Reverse(head));
        }
    }
    None
}

fn assign_action(task: &Task, desk: AssignmentTarget<'_>) -> ScheduleAction {
    ScheduleAction::Assign {
        task: task.id.clone(),
        agent: desk.agent.clone(),
        node: desk.node.cloned(),
        attempt: task.next_attempt(),
        fence: task.next_fence(),
    }
}

/// The current first task of a list, and the rest of the list.
struct LaneHead<'w> {
    rank: TaskRank,
    rest: Option<Iter<'w, TaskRank>>,
}

fn lane_heads(world: &World, now: Time) -> BinaryHeap<Reverse<LaneHead<'_>>> {
    if let Some(story) = &world.policy().only {
        let task =
            world.task_of_story(story).filter(|task| world.queue().is_assignable(&task.id, now));
        let head = task.map(|task| LaneHead { rank: TaskRank::from_task(task), rest: None });
        return head.map(Reverse).into_iter().collect();
    }
    let lanes = world.queue().assignable_lists().filter_map(|ranks| {
        let mut rest = ranks.iter();
        Some(LaneHead { rank: rest.next()?.clone(), rest: Some(rest) })
    });
    let rested = world.queue().tasks_past_backoff(now).filter_map(|id| world.task(id));
    let alone = rested.map(|task| LaneHead { rank: TaskRank::from_task(task), rest: None });
    lanes.chain(alone).map(Reverse).collect()
}

impl LaneHead<'_> {
    /// Moves to the next task of the list; returns whether there is one.
    fn advance(&mut self) -> bool {
        let next = self.rest.as_mut().and_then(Iterator::next);
        if let Some(rank) = next {
            self.rank = rank.clone();
        }
        next.is_some()
    }
}

impl Ord for LaneHead<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl PartialOrd for LaneHead<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for LaneHead<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for LaneHead<'_> {}
