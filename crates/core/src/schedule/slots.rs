//! How much room there is for runs, counted down while a plan gives it away.

use std::collections::{BTreeMap, BTreeSet};

use super::purse::{closed, closed_on};
use crate::name::AgentId;
use crate::node::NodeId;
use crate::policy::NodePolicy;
use crate::task::Task;
use crate::time::Time;
use crate::world::World;

/// Who a task goes to, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Desk<'w> {
    /// The agent.
    pub(super) agent: &'w AgentId,
    /// The node of a fleet that is to start it.
    pub(super) node: Option<&'w NodeId>,
}

/// The room there is.
pub(super) struct Slots<'w> {
    world: &'w World,
    now: Time,
    /// How many runs fit, all in all. Below zero if there are too many already.
    free: i64,
    /// How many runs of each agent were given or given back by this plan.
    given: BTreeMap<&'w AgentId, i64>,
    /// How many of them on each node of a fleet.
    given_on: BTreeMap<(&'w NodeId, &'w AgentId), i64>,
    /// The nodes that are given nothing.
    away: Option<&'w BTreeSet<NodeId>>,
    /// How many users of each resource this plan added or took away.
    users: BTreeMap<&'w str, i64>,
}

impl<'w> Slots<'w> {
    pub(super) fn of(world: &'w World, now: Time) -> Self {
        let limit = i64::from(world.policy().scheduler.concurrency);
        Self {
            world,
            now,
            free: limit - i64::from(world.queue().runs()),
            given: BTreeMap::new(),
            given_on: BTreeMap::new(),
            away: None,
            users: BTreeMap::new(),
        }
    }

    /// Leaves nodes out of which nothing is heard.
    pub(super) fn without(mut self, away: &'w BTreeSet<NodeId>) -> Self {
        self.away = Some(away);
        self
    }

    /// Takes back what the run of a task had.
    pub(super) fn give_back(&mut self, task: &'w Task) {
        let open = task.trials.open.as_ref().map(|run| &run.agent);
        if let Some(agent) = task.lease().map(|lease| &lease.agent).or(open) {
            self.free += 1;
            self.count(Desk { agent, node: task.trials.node.as_ref() }, -1);
        }
        self.count_user(task, -1);
    }

    /// Gives room to a task.
    pub(super) fn give(&mut self, task: &'w Task, desk: Desk<'w>) {
        self.free -= 1;
        self.count(desk, 1);
        self.count_user(task, 1);
    }

    fn count(&mut self, desk: Desk<'w>, by: i64) {
        *self.given.entry(desk.agent).or_default() += by;
        if let Some(node) = desk.node {
            *self.given_on.entry((node, desk.agent)).or_default() += by;
        }
    }

    fn count_user(&mut self, task: &'w Task, by: i64) {
        if let Some(resource) = task.resource.as_deref() {
            *self.users.entry(resource).or_default() += by;
        }
    }

    /// Says whether there is no room for anybody.
    pub(super) fn are_full(&self) -> bool {
        self.free <= 0
    }

    /// Says whether nobody uses what a task wants to use.
    pub(super) fn has_resource(&self, resource: Option<&str>) -> bool {
        resource.is_none_or(|resource| {
            let more = self.users.get(resource).copied().unwrap_or(0);
            i64::from(self.world.queue().users(resource)) + more <= 0
        })
    }

    /// Returns the agent a task goes to: of those with room the one with the fewest runs, and of
    /// these the first by name. One that has just failed at it comes last, so that an agent that
    /// cannot work at all, and is always free, does not use up every attempt.
    ///
    /// In a fleet it goes to the node that has such an agent and the fewest runs, or to the one that
    /// has the branch an earlier run worked on.
    pub(super) fn desk_for(&self, task: &'w Task) -> Option<Desk<'w>> {
        let agents = || self.world.policy().agents_for(&task.routing).map(|(name, _)| name);
        let keeper = self.world.policy().keeper(task);
        let keeper = keeper.filter(|keeper| agents().any(|name| self.works_on(task, name, keeper)));
        let failed = task.last_failed();
        let desks = agents().filter_map(|name| self.desk_of(task, name, keeper));
        desks.min_by_key(|desk| (failed == Some(desk.agent), self.busy(desk.agent), desk.agent))
    }

    /// Returns where an agent does a task, if there is room for it: on the node that has its work,
    /// where there is one.
    fn desk_of(
        &self,
        task: &'w Task,
        agent: &'w AgentId,
        keeper: Option<&NodeId>,
    ) -> Option<Desk<'w>> {
        let policy = self.world.policy();
        let slots = policy.agents.get(agent).map_or(0, |agent| agent.slots);
        if self.busy(agent) >= i64::from(slots) {
            return None;
        }
        if policy.nodes.is_empty() {
            let is_open = closed_on(self.world, agent, None, self.now).is_none();
            return is_open.then_some(Desk { agent, node: None });
        }
        let may = |name: &NodeId| keeper.is_none_or(|keeper| keeper == name);
        let nodes = policy.nodes_for(agent, &task.routing).filter(|(name, _)| may(name));
        let nodes = nodes.filter(|(name, _)| self.works_on(task, agent, name));
        let room = nodes.filter(|(name, node)| self.has_room_on(name, node, agent));
        let node = room.map(|(name, _)| name).min_by_key(|name| (self.runs_on(name), *name))?;
        Some(Desk { agent, node: Some(node) })
    }

    /// Says whether an agent does a task on a node when it has room.
    fn works_on(&self, task: &Task, agent: &AgentId, node: &NodeId) -> bool {
        let policy = self.world.policy();
        let fits = || policy.nodes_for(agent, &task.routing).any(|(name, _)| name == node);
        let slots = policy.agent_on(agent, Some(node)).map_or(0, |agent| agent.slots);
        let is_open = || closed_on(self.world, agent, Some(node), self.now).is_none();
        slots > 0 && task.may_go_to(node) && fits() && is_open()
    }

    fn has_room_on(&self, name: &NodeId, node: &NodePolicy, agent: &AgentId) -> bool {
        let given = self.given_on.get(&(name, agent)).copied().unwrap_or(0);
        let busy = i64::from(self.world.queue().busy_on(name, agent)) + given;
        let slots = node.agents.get(agent).map_or(0, |agent| agent.slots);
        let there = self.away.is_none_or(|away| !away.contains(name));
        there && busy < i64::from(slots) && self.runs_on(name) < i64::from(node.concurrency)
    }

    fn runs_on(&self, node: &NodeId) -> i64 {
        let given = self.given_on.iter().filter(|((on, _), _)| *on == node).map(|(_, by)| by);
        i64::from(self.world.queue().runs_on(node)) + given.sum::<i64>()
    }

    /// Says whether an agent that asks for work has room for it. One that is not in the
    /// configuration has as much as there is.
    pub(super) fn has_slot(&self, agent: &AgentId) -> bool {
        let known = self.world.policy().agents.get(agent);
        let room = known.is_none_or(|known| self.busy(agent) < i64::from(known.slots));
        room && closed(self.world, agent, self.now).is_none()
    }

    fn busy(&self, agent: &AgentId) -> i64 {
        let given = self.given.get(agent).copied().unwrap_or(0);
        i64::from(self.world.queue().busy(agent)) + given
    }
}
