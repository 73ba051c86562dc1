//! How much room there is for runs, counted down while a plan gives it away.

use std::collections::BTreeMap;

use super::purse::closed;
use crate::name::AgentId;
use crate::task::Task;
use crate::time::Time;
use crate::world::World;

/// The room there is.
pub(super) struct Slots<'w> {
    world: &'w World,
    now: Time,
    /// How many runs fit, all in all. Below zero if there are too many already.
    free: i64,
    /// How many runs of each agent were given or given back by this plan.
    given: BTreeMap<&'w AgentId, i64>,
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
            users: BTreeMap::new(),
        }
    }

    /// Takes back what the run of a task had.
    pub(super) fn give_back(&mut self, task: &'w Task) {
        let open = task.trials.open.as_ref().map(|run| &run.agent);
        if let Some(agent) = task.lease().map(|lease| &lease.agent).or(open) {
            self.free += 1;
            *self.given.entry(agent).or_default() -= 1;
        }
        self.count_user(task, -1);
    }

    /// Gives room to a task.
    pub(super) fn give(&mut self, task: &'w Task, agent: &'w AgentId) {
        self.free -= 1;
        *self.given.entry(agent).or_default() += 1;
        self.count_user(task, 1);
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
    pub(super) fn agent_for(&self, task: &'w Task) -> Option<&'w AgentId> {
        let agents = self.world.policy().agents_for(&task.routing);
        let room = agents.filter(|(name, agent)| self.busy(name) < i64::from(agent.slots));
        let room = room.filter(|(name, _)| closed(self.world, name, self.now).is_none());
        let failed = task.last_failed();
        let rank = |name: &&'w AgentId| (failed == Some(*name), self.busy(name), *name);
        room.map(|(name, _)| name).min_by_key(rank)
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
