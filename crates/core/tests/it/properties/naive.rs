//! A naive planner that examines every task every time: slow, but simple enough to trust.

use std::collections::BTreeMap;

use adjutant_core::World;
use adjutant_core::input::{FoundResult, RunFacts, TickFacts};
use adjutant_core::schedule::{ScheduleAction, TaskRecovery};
use adjutant_model::run::RunLiveness;
use adjutant_model::{AgentId, Status, Task, Time};

/// The runs and the resources in use.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UsedSlots {
    runs: i64,
    busy: BTreeMap<AgentId, i64>,
    used: BTreeMap<String, i64>,
}

impl UsedSlots {
    pub(crate) fn from_world(world: &World) -> Self {
        let mut room = Self { runs: 0, busy: BTreeMap::new(), used: BTreeMap::new() };
        for task in world.tasks() {
            room.count(task, 1);
        }
        room
    }

    fn count(&mut self, task: &Task, by: i64) {
        let open = task.history.open.as_ref();
        if let Some(agent) = task.lease().map(|it| &it.agent).or(open.map(|it| &it.agent)) {
            self.runs += by;
            *self.busy.entry(agent.clone()).or_default() += by;
        }
        if (task.status() == Status::InProgress || open.is_some())
            && let Some(resource) = &task.resource
        {
            *self.used.entry(resource.to_string()).or_default() += by;
        }
    }

    fn agent_for(&self, world: &World, task: &Task, now: Time) -> Option<AgentId> {
        let busy = |name: &AgentId| self.busy.get(name).copied().unwrap_or(0);
        let agents = world.policy().agents.iter().filter(|(name, policy)| {
            let named = task.routing.agent.as_ref().is_none_or(|agent| agent == *name);
            let open = !is_parked(world, name, now) && !has_spent(world, name, now);
            named && open && busy(name) < i64::from(policy.slots)
        });
        let last = task.last_run.as_ref().filter(|_| !task.history.failures.is_empty());
        let has_failed = |name: &AgentId| last.is_some_and(|run| run.agent == *name);
        let rank = |name: &&AgentId| (has_failed(name), busy(name), (*name).clone());
        agents.map(|(name, _)| name).min_by_key(rank).cloned()
    }

    /// Returns every limit that is exceeded, unless it was exceeded as much before.
    pub(crate) fn exceeded_limits(&self, world: &World, before: &Self) -> Vec<String> {
        let mut over = Vec::new();
        if self.runs > i64::from(world.policy().scheduler.concurrency).max(before.runs) {
            over.push(format!("{} runs", self.runs));
        }
        for (agent, runs) in &self.busy {
            let slots = world.policy().agents.get(agent).map_or(0, |policy| policy.slots);
            if *runs > i64::from(slots).max(before.busy.get(agent).copied().unwrap_or(0)) {
                over.push(format!("{agent} has {runs} runs"));
            }
        }
        for (resource, users) in &self.used {
            if *users > 1.max(before.used.get(resource).copied().unwrap_or(0)) {
                over.push(format!("{users} use {resource}"));
            }
        }
        over
    }
}

/// Returns whether any task's run found that an agent cannot work.
fn is_parked(world: &World, name: &AgentId, now: Time) -> bool {
    let open =
        world.tasks().filter(|task| !matches!(task.status(), Status::Done | Status::Cancelled));
    let mut found = open.flat_map(|task| task.history.parked());
    found.any(|parked| {
        let same = parked.agent == *name && parked.settings == 0;
        same && parked.until.is_none_or(|until| until > now)
    })
}

/// Returns whether an agent, or all agents together, have used up today's budget.
fn has_spent(world: &World, name: &AgentId, now: Time) -> bool {
    let all = world.tasks().filter_map(|task| task.history.account.as_ref());
    let today = all.flat_map(|account| &account.spent).filter(|spent| *spent.day == now.day());
    let (mut own, mut sum) = (0, 0);
    for spent in today {
        sum += spent.usage.tokens();
        own += if spent.agent == *name { spent.usage.tokens() } else { 0 };
    }
    let over = |budget: Option<u64>, used| budget.is_some_and(|limit| used >= limit);
    let policy = world.policy();
    over(policy.agents[name].budget_day.tokens, own)
        || over(policy.scheduler.budget_day.tokens, sum)
}

fn is_overdrawn(task: &Task) -> bool {
    task.history.account.as_ref().is_some_and(|account| {
        let cost: u64 = account.spent.iter().map(|spent| spent.usage.cost).sum();
        account.budget.cost.is_some_and(|limit| cost >= limit)
    })
}

pub(crate) fn plan(world: &World, facts: &TickFacts, now: Time) -> Vec<ScheduleAction> {
    let mut room = UsedSlots::from_world(world);
    let mut actions = Vec::new();
    for task in world.tasks() {
        let Some(action) = facts.runs.get(&task.id).and_then(|seen| over(world, task, seen, now))
        else {
            continue;
        };
        let ours = task.history.open.is_some();
        match action {
            ScheduleAction::RunLost { .. } | ScheduleAction::RunOver { .. } => room.count(task, -1),
            ScheduleAction::StaleHeartbeat { .. } | ScheduleAction::ExpireLease { .. } if !ours => {
                room.count(task, -1);
            }
            _ => {}
        }
        actions.push(action);
    }
    actions.extend(world.tasks().filter_map(|task| block(world, task)));
    let unblocked = world.with_status(Status::Blocked).filter(|task| {
        let held = task.history.blocked_by.is_some() && task.history.open.is_none();
        held && task.depends_on.iter().all(|id| is(world, id, &[Status::Done]))
    });
    actions.extend(unblocked.map(|task| ScheduleAction::Unblock { task: task.id.clone() }));
    actions.extend(assign(world, room, now));
    actions
}

fn is(world: &World, id: &adjutant_model::TaskId, any: &[Status]) -> bool {
    world.task(id).is_some_and(|task| any.contains(&task.status()))
}

fn over(world: &World, task: &Task, seen: &RunFacts, now: Time) -> Option<ScheduleAction> {
    let id = task.id.clone();
    let policy = world.policy().scheduler;
    let stale = seen.heartbeat.map(|beat| beat.expires_at <= now);
    if task.status() != Status::InProgress {
        let fence = task.history.open.as_ref()?.fence;
        let gone = seen.life == RunLiveness::Gone
            || seen.life == RunLiveness::NotOurs && stale != Some(false);
        return gone.then_some(ScheduleAction::RunOver { task: id, fence });
    }
    let recovery = match &seen.found {
        Some(FoundResult::Result(result)) => TaskRecovery::Result(result.completion.outcome),
        _ if task.history.failures.len() + 1 >= policy.attempts_max as usize => {
            TaskRecovery::Deadletter
        }
        _ => TaskRecovery::Reclaim,
    };
    let left = task.lease().map(|lease| lease.expires_at.as_millis() - now.as_millis());
    let renew = |expires_at| {
        let fence = task.lease().map_or(0, |lease| lease.fence);
        ScheduleAction::RenewLease { task: task.id.clone(), fence, expires_at }
    };
    let ttl = policy.heartbeat_ttl_ms;
    match (seen.life, stale, left) {
        (RunLiveness::Gone, _, _) => Some(ScheduleAction::RunLost { task: id, recovery }),
        (RunLiveness::Alive, _, Some(left)) if left <= ttl / 2 || left > ttl => {
            Some(renew(Time::from_millis(now.as_millis() + ttl)))
        }
        (RunLiveness::NotOurs, Some(true), _) => {
            Some(ScheduleAction::StaleHeartbeat { task: id, recovery })
        }
        (RunLiveness::NotOurs, Some(false), Some(..=0)) => {
            seen.heartbeat.map(|beat| renew(beat.expires_at))
        }
        (RunLiveness::NotOurs, None, Some(..=0)) => {
            Some(ScheduleAction::ExpireLease { task: id, recovery })
        }
        _ => None,
    }
}

fn block(world: &World, task: &Task) -> Option<ScheduleAction> {
    let given_up = |id: &&_| is(world, id, &[Status::Cancelled, Status::Deadletter]);
    let dependency = task.depends_on.iter().find(given_up)?.clone();
    let waits = task.status() == Status::Ready && task.history.open.is_none();
    waits.then(|| ScheduleAction::Block { task: task.id.clone(), dependency })
}

fn waits(task: &Task, now: Time) -> bool {
    let by_this_clock = task.history.expired.as_ref().is_none_or(|expired| expired.at <= now);
    by_this_clock && task.history.not_before.is_some_and(|until| until > now)
}

fn assign(world: &World, mut room: UsedSlots, now: Time) -> Vec<ScheduleAction> {
    let mut waiting: Vec<&Task> = world
        .with_status(Status::Ready)
        .filter(|task| task.history.open.is_none())
        .filter(|task| !waits(task, now))
        .filter(|task| !is_overdrawn(task))
        .filter(|task| task.depends_on.iter().all(|id| is(world, id, &[Status::Done])))
        .collect();
    waiting.sort_by_key(|task| {
        let due = task.due_by.map_or(i64::MAX, Time::as_millis);
        (task.priority, due, task.created_at, task.id.clone())
    });
    let mut actions = Vec::new();
    for task in waiting {
        if room.runs >= i64::from(world.policy().scheduler.concurrency) {
            break;
        }
        let used = |resource: &str| room.used.get(resource).is_some_and(|users| *users > 0);
        let Some(agent) = room.agent_for(world, task, now) else { continue };
        if task.resource.as_deref().is_some_and(used) {
            continue;
        }
        room.runs += 1;
        *room.busy.entry(agent.clone()).or_default() += 1;
        if let Some(resource) = &task.resource {
            *room.used.entry(resource.to_string()).or_default() += 1;
        }
        let (attempt, fence) = (task.next_attempt(), task.next_fence());
        actions.push(ScheduleAction::Assign {
            node: None,
            task: task.id.clone(),
            agent,
            attempt,
            fence,
        });
    }
    actions
}
