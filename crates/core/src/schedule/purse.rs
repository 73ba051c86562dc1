//! Who may work and who may not: agents that cannot, and budgets that are used up.

use std::collections::BTreeSet;

use crate::account::{Account, Budget, Parked, Usage};
use crate::id::TaskId;
use crate::name::AgentId;
use crate::node::NodeId;
use crate::task::Task;
use crate::time::Time;
use crate::world::World;

/// Why an agent is given nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closed<'w> {
    /// It has reached a limit or cannot be used, as was found out with this task.
    Parked(&'w TaskId, &'w Parked),
    /// It has used up what it may use today; the words say how much.
    Spent(String),
    /// All agents together have used up what they may use today.
    AllSpent(String),
}

/// Says why an agent is given nothing now, on any node of a fleet; none if it may work.
pub fn closed<'w>(world: &'w World, agent: &AgentId, now: Time) -> Option<Closed<'w>> {
    let nodes = world.policy().nodes.iter().filter(|(_, node)| node.agents.contains_key(agent));
    closed_on_all(world, agent, nodes.map(|(name, _)| name), now)
}

/// Says why an agent is given nothing now on any node a task may go to; none if it may work.
pub(super) fn closed_for<'w>(
    world: &'w World,
    agent: &AgentId,
    task: &Task,
    now: Time,
) -> Option<Closed<'w>> {
    let nodes = world.policy().nodes_for(agent, &task.routing).map(|(name, _)| name);
    closed_on_all(world, agent, nodes, now)
}

fn closed_on_all<'w, 'n>(
    world: &'w World,
    agent: &AgentId,
    nodes: impl Iterator<Item = &'n NodeId>,
    now: Time,
) -> Option<Closed<'w>> {
    let mut nodes = nodes.peekable();
    if nodes.peek().is_none() {
        return closed_on(world, agent, None, now);
    }
    let all: Option<Vec<Closed<'w>>> =
        nodes.map(|node| closed_on(world, agent, Some(node), now)).collect();
    all?.into_iter().next()
}

/// Says why an agent is given nothing now on a node of a fleet; none if it may work there.
pub(crate) fn closed_on<'w>(
    world: &'w World,
    agent: &AgentId,
    node: Option<&NodeId>,
    now: Time,
) -> Option<Closed<'w>> {
    parked(world, agent, node, now).or_else(|| spent(world, agent, node, now))
}

/// What was found out about an agent counts for as long as it said, where it was found out, and
/// under the settings it was found out under.
fn parked<'w>(
    world: &'w World,
    agent: &AgentId,
    node: Option<&NodeId>,
    now: Time,
) -> Option<Closed<'w>> {
    let settings = world.policy().agent_on(agent, node).map(|known| known.settings);
    let holds = |parked: &Parked| {
        let is_here = parked.node.is_none() || parked.node.as_ref() == node;
        let is_over = parked.until.is_some_and(|until| until <= now);
        settings == Some(parked.settings) && is_here && !is_over
    };
    let mut found = world.queue().parked(agent).filter(|(_, parked)| holds(parked));
    // What waits for a person is said first: it does not end by itself.
    let last = |one: &(&TaskId, &Parked)| (one.1.until.is_none(), one.1.until);
    let first = found.next()?;
    let (task, parked) = found.fold(first, |a, b| if last(&b) > last(&a) { b } else { a });
    Some(Closed::Parked(task, parked))
}

fn spent<'w>(
    world: &'w World,
    agent: &AgentId,
    node: Option<&NodeId>,
    now: Time,
) -> Option<Closed<'w>> {
    let policy = world.policy();
    let own = policy.agent_on(agent, node).map(|known| known.budget_day).unwrap_or_default();
    let all = policy.scheduler.budget_day;
    if own == Budget::default() && all == Budget::default() {
        return None;
    }
    let (by_agent, by_all) = today(world, agent, now);
    let own = own.overdrawn(by_agent).map(Closed::Spent);
    own.or_else(|| all.overdrawn(by_all).map(Closed::AllSpent))
}

/// Returns what an agent, and what all agents used today.
fn today(world: &World, agent: &AgentId, now: Time) -> (Usage, Usage) {
    let mut sums = (Usage::default(), Usage::default());
    for (who, usage) in spent_on(world, now) {
        sums.1 = sums.1.plus(usage);
        if who == agent {
            sums.0 = sums.0.plus(usage);
        }
    }
    sums
}

/// Returns what each agent used on the day `now` falls on.
pub fn spent_on(world: &World, now: Time) -> Vec<(&AgentId, Usage)> {
    world.queue().spent_on(&now.day())
}

/// Returns the tasks with which it was found out that an agent cannot work.
pub(crate) fn parked_with(world: &World, agent: &AgentId) -> Vec<TaskId> {
    let tasks: BTreeSet<&TaskId> = world.queue().parked(agent).map(|(task, _)| task).collect();
    tasks.into_iter().cloned().collect()
}

/// Says what of its budget a task has used up; none if it may go on.
pub fn overdrawn(world: &World, task: &Task) -> Option<String> {
    budget_of(world, task).overdrawn(used(task))
}

/// Returns how much a run of a task may use: its own budget, and what is left of the others.
pub fn allowance(world: &World, task: &Task, agent: &AgentId, now: Time) -> Budget {
    let policy = world.policy();
    let known = policy.agent_on(agent, task.trials.node.as_ref());
    let run = known.map(|known| known.budget).unwrap_or_default();
    let day = known.map(|known| known.budget_day).unwrap_or_default();
    let (by_agent, by_all) = today(world, agent, now);
    run.within(budget_of(world, task).left(used(task)))
        .within(day.left(by_agent))
        .within(policy.scheduler.budget_day.left(by_all))
}

/// What a task says of its budget counts before what the configuration says.
fn budget_of(world: &World, task: &Task) -> Budget {
    let own = task.trials.account().map(|account| account.budget).unwrap_or_default();
    let other = world.policy().scheduler.budget_task;
    Budget { tokens: own.tokens.or(other.tokens), cost: own.cost.or(other.cost) }
}

fn used(task: &Task) -> Usage {
    task.trials.account().map(Account::used).unwrap_or_default()
}
