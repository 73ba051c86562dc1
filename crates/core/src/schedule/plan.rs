//! The plan of a tick: what is over, what is held back, who gets what.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::btree_set::Iter;

use super::action::Action;
use super::judge::judge;
use super::lanes::Rank;
use super::purse::overdrawn;
use super::slots::{Desk, Slots};
use crate::id::TaskId;
use crate::input::TickFacts;
use crate::name::AgentId;
use crate::status::Status;
use crate::task::Task;
use crate::time::Time;
use crate::world::World;

/// Returns the tasks whose runs a tick wants looked at: all that are in progress, and all whose
/// run nobody has seen end. There are as many as there is work under way.
pub fn to_look_at(world: &World) -> Vec<TaskId> {
    let working = world.with_status(Status::InProgress).map(|task| &task.id);
    working.chain(world.queue().lingering()).cloned().collect()
}

/// Returns when a tick has something to do even if nothing happens until then.
pub fn next_time(world: &World, now: Time) -> Option<Time> {
    world.queue().next_rested(now)
}

/// Says whether nothing is under way, and nothing will be unless somebody does something.
pub fn is_idle(world: &World, now: Time) -> bool {
    let queue = world.queue();
    let waits = queue.runs() > 0 || queue.next_rested(now).is_some();
    !waits && plan(world, &TickFacts::default(), now).is_empty()
}

/// Returns what would be given out next, in order of rank, if there were room for it.
pub fn waiting(world: &World, now: Time) -> impl Iterator<Item = &Task> {
    let mut heads = heads(world, now);
    std::iter::from_fn(move || {
        let Reverse(mut head) = heads.pop()?;
        let task = world.task(&head.rank.id);
        if head.step() {
            heads.push(Reverse(head));
        }
        Some(task)
    })
    .flatten()
}

/// Returns what one tick does, in order: what is over is cleared up, what can go on goes on, and
/// what there is room for is given out.
pub fn plan<'w>(world: &'w World, facts: &'w TickFacts, now: Time) -> Vec<Action> {
    let mut slots = Slots::of(world, now).without(&facts.away);
    let mut actions = Vec::new();
    for (id, seen) in &facts.runs {
        let Some(task) = world.task(id) else { continue };
        let action = judge(task, seen, &world.policy().scheduler, now);
        if action.as_ref().is_some_and(|action| ends(action, task)) {
            slots.give_back(task);
        }
        actions.extend(action);
    }
    actions.extend(world.queue().doomed().iter().filter_map(|id| block(world, id)));
    let freed = world.queue().freed();
    actions.extend(freed.iter().map(|id| Action::Unblock { task: id.clone() }));
    actions.extend(assign(world, slots, now));
    actions
}

/// Says whether an action leaves no process behind. A run of ours that may still live keeps its
/// slot until it was stopped.
fn ends(action: &Action, task: &Task) -> bool {
    match action {
        Action::RunLost { .. } | Action::RunOver { .. } => true,
        Action::StaleHeartbeat { .. } | Action::ExpireLease { .. } => task.trials.open.is_none(),
        Action::RenewLease { .. }
        | Action::Block { .. }
        | Action::Unblock { .. }
        | Action::Assign { .. } => false,
    }
}

fn block(world: &World, id: &TaskId) -> Option<Action> {
    let given_up = |id: &&TaskId| {
        let status = world.task(id).map(Task::status);
        matches!(status, Some(Status::Cancelled | Status::Deadletter))
    };
    let dependency = world.task(id)?.depends_on.iter().find(given_up)?.clone();
    Some(Action::Block { task: id.clone(), dependency })
}

/// Gives out what there is room for, the first in rank first. A list for which no agent has room is
/// left as a whole, so that a long queue before a busy agent costs nothing.
fn assign<'w>(world: &'w World, mut slots: Slots<'w>, now: Time) -> Vec<Action> {
    let mut actions = Vec::new();
    if slots.are_full() {
        return actions;
    }
    let mut heads = heads(world, now);
    while !slots.are_full()
        && let Some(Reverse(mut head)) = heads.pop()
    {
        let Some(task) = world.task(&head.rank.id) else { continue };
        let Some(desk) = slots.desk_for(task) else { continue };
        let free = slots.has_resource(task.resource.as_deref());
        if free && overdrawn(world, task).is_none() {
            slots.give(task, desk);
            actions.push(start(task, desk));
        }
        if head.step() {
            heads.push(Reverse(head));
        }
    }
    actions
}

/// Returns the task an agent gets that asks for work: the first in rank that is for it, if there is
/// room. A list of tasks that are all for others is left as a whole.
pub(crate) fn next_for<'w>(world: &'w World, agent: &AgentId, now: Time) -> Option<&'w Task> {
    let slots = Slots::of(world, now);
    if slots.are_full() || !slots.has_slot(agent) {
        return None;
    }
    let mut heads = heads(world, now);
    while let Some(Reverse(mut head)) = heads.pop() {
        let Some(task) = world.task(&head.rank.id) else { continue };
        if !world.policy().may_take(agent, &task.routing) {
            continue;
        }
        let free = slots.has_resource(task.resource.as_deref());
        // A step of a story begins in the project's files, and ends there.
        if task.story().is_none() && free && overdrawn(world, task).is_none() {
            return Some(task);
        }
        if head.step() {
            heads.push(Reverse(head));
        }
    }
    None
}

fn start(task: &Task, desk: Desk<'_>) -> Action {
    Action::Assign {
        task: task.id.clone(),
        agent: desk.agent.clone(),
        node: desk.node.cloned(),
        attempt: task.next_attempt(),
        fence: task.next_fence(),
    }
}

/// The first of a list of tasks that are all for the same agents.
struct Head<'w> {
    rank: Rank,
    rest: Option<Iter<'w, Rank>>,
}

fn heads(world: &World, now: Time) -> BinaryHeap<Reverse<Head<'_>>> {
    if let Some(story) = &world.policy().only {
        let task = world.story(story).filter(|task| world.queue().is_waiting(&task.id, now));
        let head = task.map(|task| Head { rank: Rank::of(task), rest: None });
        return head.map(Reverse).into_iter().collect();
    }
    let lanes = world.queue().lists().filter_map(|ranks| {
        let mut rest = ranks.iter();
        Some(Head { rank: rest.next()?.clone(), rest: Some(rest) })
    });
    let rested = world.queue().rested(now).filter_map(|id| world.task(id));
    let alone = rested.map(|task| Head { rank: Rank::of(task), rest: None });
    lanes.chain(alone).map(Reverse).collect()
}

impl Head<'_> {
    /// Goes on to the next of the list, and says whether there is one.
    fn step(&mut self) -> bool {
        let next = self.rest.as_mut().and_then(Iterator::next);
        if let Some(rank) = next {
            self.rank = rank.clone();
        }
        next.is_some()
    }
}

impl Ord for Head<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Head<'_> {}
