//! Which agents may get work now: parked agents, used-up budgets and missing programs are excluded.

use std::collections::BTreeSet;

use adjutant_model::actor::AgentId;
use adjutant_model::node_id::NodeId;
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;
use adjutant_model::usage::{ParkedAgent, TaskUsage, TokenUsage, UsageBudget};

use crate::world::World;

/// Why an agent gets no work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnavailableReason<'w> {
    /// The agent hit a usage limit or cannot be used, as its run of this task found out.
    Parked(&'w TaskId, &'w ParkedAgent),
    /// The agent has used up its daily budget; the text says how much.
    AgentBudgetSpent(String),
    /// All agents together have used up the budget of the day.
    TotalBudgetSpent(String),
    /// The agent's program is missing or cannot be executed; the text says which.
    CannotStart(&'w str),
}

/// Returns why the scheduler must not assign work to `agent` now, on any node of a fleet.
pub fn agent_unavailable<'w>(
    world: &'w World,
    agent: &AgentId,
    now: Time,
) -> Option<UnavailableReason<'w>> {
    let nodes = world.policy().nodes.iter().filter(|(_, node)| node.agents.contains_key(agent));
    agent_unavailable_on_all(world, agent, nodes.map(|(name, _)| name), now)
}

/// Returns why `agent` gets no work now on any node that may run `task`.
pub(super) fn agent_unavailable_for_task<'w>(
    world: &'w World,
    agent: &AgentId,
    task: &Task,
    now: Time,
) -> Option<UnavailableReason<'w>> {
    let nodes = world.policy().nodes_for(agent, &task.routing).map(|(name, _)| name);
    agent_unavailable_on_all(world, agent, nodes, now)
}

fn agent_unavailable_on_all<'w, 'n>(
    world: &'w World,
    agent: &AgentId,
    nodes: impl Iterator<Item = &'n NodeId>,
    now: Time,
) -> Option<UnavailableReason<'w>> {
    let mut nodes = nodes.peekable();
    if nodes.peek().is_none() {
        return agent_unavailable_on_node(world, agent, None, now);
    }
    let all: Option<Vec<UnavailableReason<'w>>> =
        nodes.map(|node| agent_unavailable_on_node(world, agent, Some(node), now)).collect();
    all?.into_iter().next()
}

/// Returns why `agent` gets no work now on a node of a fleet.
pub(crate) fn agent_unavailable_on_node<'w>(
    world: &'w World,
    agent: &AgentId,
    node: Option<&NodeId>,
    now: Time,
) -> Option<UnavailableReason<'w>> {
    find_parking(world, agent, node, now)
        .or_else(|| find_spent_budget(world, agent, node, now))
        .or_else(|| find_program_problem(world, agent, node))
}

/// Returns why the program of an agent cannot be started. It comes last: an agent that fetches its
/// work runs already, so [`AgentSlots::has_slot`](super::slots::AgentSlots::has_slot) ignores it.
fn find_program_problem<'w>(
    world: &'w World,
    agent: &AgentId,
    node: Option<&NodeId>,
) -> Option<UnavailableReason<'w>> {
    let problem = world.policy().agent_on(agent, node)?.program_problem.as_deref()?;
    Some(UnavailableReason::CannotStart(problem))
}

/// Returns the entry that parks an agent. An entry counts until it expires, on the node where it
/// was found, and only as long as the agent's settings stay the same.
fn find_parking<'w>(
    world: &'w World,
    agent: &AgentId,
    node: Option<&NodeId>,
    now: Time,
) -> Option<UnavailableReason<'w>> {
    let settings = world.policy().agent_on(agent, node).map(|known| known.settings);
    let holds = |parked: &ParkedAgent| {
        let is_here = parked.node.is_none() || parked.node.as_ref() == node;
        let is_over = parked.until.is_some_and(|until| until <= now);
        settings == Some(parked.settings) && is_here && !is_over
    };
    let mut found = world.queue().parkings_of(agent).filter(|(_, parked)| holds(parked));
    // Report a problem that needs a person first: unlike a limit, it does not end by itself.
    let last = |one: &(&TaskId, &ParkedAgent)| (one.1.until.is_none(), one.1.until);
    let first = found.next()?;
    let (task, parked) = found.fold(first, |a, b| if last(&b) > last(&a) { b } else { a });
    Some(UnavailableReason::Parked(task, parked))
}

fn find_spent_budget<'w>(
    world: &'w World,
    agent: &AgentId,
    node: Option<&NodeId>,
    now: Time,
) -> Option<UnavailableReason<'w>> {
    let policy = world.policy();
    let own = policy.agent_on(agent, node).map(|known| known.budget_day).unwrap_or_default();
    let all = policy.scheduler.budget_day;
    if own == UsageBudget::default() && all == UsageBudget::default() {
        return None;
    }
    let (by_agent, by_all) = usage_today(world, agent, now);
    let own = own.overdrawn(by_agent).map(UnavailableReason::AgentBudgetSpent);
    own.or_else(|| all.overdrawn(by_all).map(UnavailableReason::TotalBudgetSpent))
}

/// Returns today's usage of one agent and of all agents.
fn usage_today(world: &World, agent: &AgentId, now: Time) -> (TokenUsage, TokenUsage) {
    let mut sums = (TokenUsage::default(), TokenUsage::default());
    for (who, usage) in usage_on_day(world, now) {
        sums.1 = sums.1.plus(usage);
        if who == agent {
            sums.0 = sums.0.plus(usage);
        }
    }
    sums
}

/// Returns the usage of each agent on the day of `now`.
pub fn usage_on_day(world: &World, now: Time) -> Vec<(&AgentId, TokenUsage)> {
    world.queue().usage_on_day(&now.day())
}

/// Returns the tasks whose runs parked an agent.
pub(crate) fn tasks_that_parked(world: &World, agent: &AgentId) -> Vec<TaskId> {
    let tasks: BTreeSet<&TaskId> = world.queue().parkings_of(agent).map(|(task, _)| task).collect();
    tasks.into_iter().cloned().collect()
}

/// Returns how a task exceeds its budget; `None` if it may continue.
pub fn exceeded_budget(world: &World, task: &Task) -> Option<String> {
    task_budget(world, task).overdrawn(task_usage(task))
}

/// Returns how much a run of a task may use: the smallest of the agent's budget for a run and of
/// what is left of the budgets of the task, of the agent's day and of the day.
pub fn remaining_run_budget(world: &World, task: &Task, agent: &AgentId, now: Time) -> UsageBudget {
    let policy = world.policy();
    let known = policy.agent_on(agent, task.history.node.as_ref());
    let run = known.map(|known| known.budget).unwrap_or_default();
    let day = known.map(|known| known.budget_day).unwrap_or_default();
    let (by_agent, by_all) = usage_today(world, agent, now);
    run.within(task_budget(world, task).left(task_usage(task)))
        .within(day.left(by_agent))
        .within(policy.scheduler.budget_day.left(by_all))
}

/// The task's own budget takes precedence over the configuration.
fn task_budget(world: &World, task: &Task) -> UsageBudget {
    let own = task.history.account().map(|account| account.budget).unwrap_or_default();
    let other = world.policy().scheduler.budget_task;
    UsageBudget { tokens: own.tokens.or(other.tokens), cost: own.cost.or(other.cost) }
}

fn task_usage(task: &Task) -> TokenUsage {
    task.history.account().map(TaskUsage::used).unwrap_or_default()
}
