//! Free slots for runs, counted down while a plan assigns tasks.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_model::actor::AgentId;
use adjutant_model::node_id::NodeId;
use adjutant_model::policy::NodePolicy;
use adjutant_model::task::Task;
use adjutant_model::time::Time;

use super::agent_availability::{UnavailableReason, agent_unavailable, agent_unavailable_on_node};
use crate::world::World;

/// The agent and the node that a task is assigned to.
#[derive(Debug, Clone, Copy)]
pub(super) struct AssignmentTarget<'w> {
    pub(super) agent: &'w AgentId,
    /// The fleet node that starts the run; `None` outside a fleet.
    pub(super) node: Option<&'w NodeId>,
}

pub(super) struct AgentSlots<'w> {
    world: &'w World,
    now: Time,
    /// Free slots under the concurrency limit; negative if there are too many runs already.
    free: i64,
    /// The change in the number of runs of each agent by this plan.
    run_changes: BTreeMap<&'w AgentId, i64>,
    /// The same by fleet node.
    run_changes_on_node: BTreeMap<(&'w NodeId, &'w AgentId), i64>,
    /// The nodes that get no work, because they are silent.
    silent_nodes: Option<&'w BTreeSet<NodeId>>,
    /// The change in the number of users of each resource by this plan.
    resource_user_changes: BTreeMap<&'w str, i64>,
}

impl<'w> AgentSlots<'w> {
    pub(super) fn new(world: &'w World, now: Time) -> Self {
        let limit = i64::from(world.policy().scheduler.concurrency);
        Self {
            world,
            now,
            free: limit - i64::from(world.queue().runs()),
            run_changes: BTreeMap::new(),
            run_changes_on_node: BTreeMap::new(),
            silent_nodes: None,
            resource_user_changes: BTreeMap::new(),
        }
    }

    /// Excludes nodes that are silent.
    pub(super) fn with_silent_nodes(mut self, away: &'w BTreeSet<NodeId>) -> Self {
        self.silent_nodes = Some(away);
        self
    }

    /// Releases the slot and the resource of a task's run.
    pub(super) fn release_slot(&mut self, task: &'w Task) {
        let open = task.history.open.as_ref().map(|run| &run.agent);
        if let Some(agent) = task.lease().map(|lease| &lease.agent).or(open) {
            self.free += 1;
            self.count(AssignmentTarget { agent, node: task.history.node.as_ref() }, -1);
        }
        self.count_user(task, -1);
    }

    /// Takes a slot and the resource for a task.
    pub(super) fn take_slot(&mut self, task: &'w Task, desk: AssignmentTarget<'w>) {
        self.free -= 1;
        self.count(desk, 1);
        self.count_user(task, 1);
    }

    fn count(&mut self, desk: AssignmentTarget<'w>, by: i64) {
        *self.run_changes.entry(desk.agent).or_default() += by;
        if let Some(node) = desk.node {
            *self.run_changes_on_node.entry((node, desk.agent)).or_default() += by;
        }
    }

    fn count_user(&mut self, task: &'w Task, by: i64) {
        if let Some(resource) = task.resource.as_deref() {
            *self.resource_user_changes.entry(resource).or_default() += by;
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.free <= 0
    }

    /// Returns whether a resource is free.
    pub(super) fn is_resource_free(&self, resource: Option<&str>) -> bool {
        resource.is_none_or(|resource| {
            let more = self.resource_user_changes.get(resource).copied().unwrap_or(0);
            i64::from(self.world.queue().resource_user_count(resource)) + more <= 0
        })
    }

    /// Returns the agent for a task: among agents with a free slot the one with the fewest runs,
    /// then the first by name. The agent that just failed at the task comes last: an agent that
    /// cannot work at all is always free and would otherwise use up every attempt.
    ///
    /// In a fleet, the task goes to the node with the fewest runs that has such an agent, or to the
    /// node that has the branch of an earlier run.
    pub(super) fn find_target(&self, task: &'w Task) -> Option<AssignmentTarget<'w>> {
        let agents = || self.world.policy().agents_for(&task.routing).map(|(name, _)| name);
        let keeper = self.world.policy().keeper(task);
        let keeper =
            keeper.filter(|keeper| agents().any(|name| self.can_run_on(task, name, keeper)));
        let failed = task.last_failed();
        let desks = agents().filter_map(|name| self.target_for_agent(task, name, keeper));
        desks
            .min_by_key(|desk| (failed == Some(desk.agent), self.run_count(desk.agent), desk.agent))
    }

    /// Returns where an agent can run a task, if there is a free slot. If `keeper` is set, only
    /// that node counts, because it has the branch of an earlier run.
    fn target_for_agent(
        &self,
        task: &'w Task,
        agent: &'w AgentId,
        keeper: Option<&NodeId>,
    ) -> Option<AssignmentTarget<'w>> {
        let policy = self.world.policy();
        let slots = policy.agents.get(agent).map_or(0, |agent| agent.slots);
        if self.run_count(agent) >= i64::from(slots) {
            return None;
        }
        if policy.nodes.is_empty() {
            let is_open = agent_unavailable_on_node(self.world, agent, None, self.now).is_none();
            return is_open.then_some(AssignmentTarget { agent, node: None });
        }
        let may = |name: &NodeId| keeper.is_none_or(|keeper| keeper == name);
        let nodes = policy.nodes_for(agent, &task.routing).filter(|(name, _)| may(name));
        let nodes = nodes.filter(|(name, _)| self.can_run_on(task, agent, name));
        let room = nodes.filter(|(name, node)| self.has_slot_on(name, node, agent));
        let node = room.map(|(name, _)| name).min_by_key(|name| (self.runs_on(name), *name))?;
        Some(AssignmentTarget { agent, node: Some(node) })
    }

    /// Returns whether an agent could run a task on a node, apart from free slots.
    fn can_run_on(&self, task: &Task, agent: &AgentId, node: &NodeId) -> bool {
        let policy = self.world.policy();
        let fits = || policy.nodes_for(agent, &task.routing).any(|(name, _)| name == node);
        let slots = policy.agent_on(agent, Some(node)).map_or(0, |agent| agent.slots);
        let is_open =
            || agent_unavailable_on_node(self.world, agent, Some(node), self.now).is_none();
        slots > 0 && task.may_go_to(node) && fits() && is_open()
    }

    fn has_slot_on(&self, name: &NodeId, node: &NodePolicy, agent: &AgentId) -> bool {
        let given = self.run_changes_on_node.get(&(name, agent)).copied().unwrap_or(0);
        let busy = i64::from(self.world.queue().run_count_on(name, agent)) + given;
        let slots = node.agents.get(agent).map_or(0, |agent| agent.slots);
        let there = self.silent_nodes.is_none_or(|away| !away.contains(name));
        there && busy < i64::from(slots) && self.runs_on(name) < i64::from(node.concurrency)
    }

    fn runs_on(&self, node: &NodeId) -> i64 {
        let given =
            self.run_changes_on_node.iter().filter(|((on, _), _)| *on == node).map(|(_, by)| by);
        i64::from(self.world.queue().runs_on(node)) + given.sum::<i64>()
    }

    /// Returns whether an agent that asks for work has a free slot. An agent that is not in the
    /// configuration has no limit of its own.
    pub(super) fn has_slot(&self, agent: &AgentId) -> bool {
        let known = self.world.policy().agents.get(agent);
        let room = known.is_none_or(|known| self.run_count(agent) < i64::from(known.slots));
        let runs_already = |why| matches!(why, UnavailableReason::CannotStart(_));
        room && agent_unavailable(self.world, agent, self.now).is_none_or(runs_already)
    }

    fn run_count(&self, agent: &AgentId) -> i64 {
        let given = self.run_changes.get(agent).copied().unwrap_or(0);
        i64::from(self.world.queue().run_count(agent)) + given
    }
}
