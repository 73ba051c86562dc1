//! The scheduler's index of tasks, updated as tasks change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_model::actor::AgentId;
use adjutant_model::node_id::NodeId;
use adjutant_model::status::Status;
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;
use adjutant_model::usage::{DailyUsage, ParkedAgent, TokenUsage};

use super::dependency::{DependencyGraph, DependencyState, TaskLookup};
use super::task_lanes::{TaskLane, TaskLanes, TaskRank};

/// The tasks and counts that the scheduler needs. Equal tasks give an equal queue, in any
/// order of updates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TaskQueue {
    lanes: TaskLanes,
    /// Tasks in backoff, by the time it ends.
    delayed: BTreeSet<(Time, TaskId)>,
    /// The same tasks, by the time at which their last attempt failed.
    failed_at: BTreeSet<(Time, TaskId)>,
    /// Ready tasks with a cancelled or dead-lettered dependency.
    to_block: BTreeSet<TaskId>,
    /// Tasks that the scheduler blocked and can unblock.
    to_unblock: BTreeSet<TaskId>,
    /// Tasks that are no longer in progress, but whose run was not seen to end.
    unended_runs: BTreeSet<TaskId>,
    /// The number of runs of each agent.
    agent_runs: BTreeMap<AgentId, u32>,
    agent_runs_on_node: BTreeMap<(NodeId, AgentId), u32>,
    node_runs: BTreeMap<NodeId, u32>,
    /// The number of tasks that use each resource.
    resource_users: BTreeMap<Box<str>, u32>,
    runs: u32,
    /// The parked agents, with the tasks whose runs found that out.
    parked: BTreeMap<AgentId, BTreeMap<TaskId, Vec<ParkedAgent>>>,
    /// The usage of each agent on each day.
    daily_usage: BTreeMap<(Box<str>, AgentId), TokenUsage>,
    dependencies: DependencyGraph,
    /// Tasks that must not start, because their files cannot be changed.
    on_hold: BTreeSet<TaskId>,
    entries: BTreeMap<TaskId, QueueEntry>,
}

/// Everything a task contributes to the queue, so that it can be removed when the task changes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct QueueEntry {
    spot: QueueSpot,
    /// The agent whose slot the task takes.
    agent: Option<AgentId>,
    node: Option<NodeId>,
    resource: Option<Box<str>>,
    has_unended_run: bool,
    parked: Vec<ParkedAgent>,
    spent: Vec<DailyUsage>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum QueueSpot {
    Unqueued,
    Lane(Arc<TaskLane>, TaskRank),
    Delayed(BackoffDelay),
    ToBlock,
    ToUnblock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BackoffDelay {
    until: Time,
    since: Option<Time>,
}

impl BackoffDelay {
    fn from_task(task: &Task) -> Option<Self> {
        let since = task.history.expired.as_ref().map(|expired| expired.at);
        task.history.not_before.map(|until| Self { until, since })
    }

    /// If the attempt failed in the future, another clock wrote that time: this machine's before
    /// it was set back, or another node's. The remaining wait is unknown then, so the backoff
    /// counts as over.
    fn is_over(self, now: Time) -> bool {
        self.until <= now || self.since.is_some_and(|since| since > now)
    }
}

/// Returns the end of a task's backoff, if it is not over.
pub(crate) fn backoff_end(task: &Task, now: Time) -> Option<Time> {
    BackoffDelay::from_task(task).filter(|delay| !delay.is_over(now)).map(|delay| delay.until)
}

impl TaskQueue {
    /// Builds the queue of these tasks from scratch.
    pub(crate) fn from_tasks<'w>(tasks: impl Iterator<Item = &'w Task>) -> Self {
        let tasks: BTreeMap<&TaskId, &Task> = tasks.map(|task| (&task.id, task)).collect();
        let mut queue = Self::default();
        for id in tasks.keys() {
            queue.update(id, &|id| tasks.get(id).copied());
        }
        queue
    }

    /// Sets the tasks that must not start. The caller updates every task that was or is on hold.
    pub(crate) fn set_on_hold(&mut self, tasks: BTreeSet<TaskId>) {
        self.on_hold = tasks;
    }

    /// Updates the queue for a task that is new, changed or gone, and for its dependents.
    pub(crate) fn update(&mut self, id: &TaskId, task: TaskLookup<'_, '_>) {
        let changed = self.dependencies.update(id, task);
        self.update_entry(id, task(id));
        for dependent in changed {
            self.update_entry(&dependent, task(&dependent));
        }
    }

    fn update_entry(&mut self, id: &TaskId, task: Option<&Task>) {
        self.remove_entry(id);
        if let Some(place) = task.and_then(|task| self.build_entry(task)) {
            self.insert_entry(id, place);
        }
    }

    fn build_entry(&self, task: &Task) -> Option<QueueEntry> {
        let open = task.history.open.as_ref();
        let working = task.status() == Status::InProgress;
        let place = QueueEntry {
            spot: if open.is_some() { QueueSpot::Unqueued } else { self.find_spot(task) },
            agent: task.lease().map(|lease| &lease.agent).or(open.map(|run| &run.agent)).cloned(),
            node: task.history.node.clone(),
            resource: task.resource.clone().filter(|_| working || open.is_some()),
            has_unended_run: open.is_some() && !working,
            parked: if task.status().is_closed() { vec![] } else { task.history.parked().to_vec() },
            spent: task.history.account().map(|account| account.spent.clone()).unwrap_or_default(),
        };
        let empty = place.spot == QueueSpot::Unqueued
            && place.agent.is_none()
            && place.resource.is_none()
            && place.parked.is_empty()
            && place.spent.is_empty();
        (!empty).then_some(place)
    }

    fn find_spot(&self, task: &Task) -> QueueSpot {
        match task.status() {
            _ if self.on_hold.contains(&task.id) => QueueSpot::Unqueued,
            Status::Ready if task.story().is_some_and(|story| !story.is_runnable()) => {
                QueueSpot::Unqueued
            }
            Status::Ready if task.history.has_unaccepted_checks() => QueueSpot::Unqueued,
            Status::Ready => {
                match (self.dependencies.combined_state(task), BackoffDelay::from_task(task)) {
                    (DependencyState::Dead, _) => QueueSpot::ToBlock,
                    (DependencyState::Open, _) => QueueSpot::Unqueued,
                    (DependencyState::Done, Some(delay)) => QueueSpot::Delayed(delay),
                    (DependencyState::Done, None) => {
                        QueueSpot::Lane(self.lanes.lane_for(task), TaskRank::from_task(task))
                    }
                }
            }
            Status::Blocked if task.history.blocked_by.is_some() => {
                match self.dependencies.combined_state(task) {
                    DependencyState::Done => QueueSpot::ToUnblock,
                    DependencyState::Dead | DependencyState::Open => QueueSpot::Unqueued,
                }
            }
            _ => QueueSpot::Unqueued,
        }
    }

    fn insert_entry(&mut self, id: &TaskId, place: QueueEntry) {
        match &place.spot {
            QueueSpot::Unqueued => {}
            QueueSpot::Lane(lane, rank) => {
                self.lanes.insert(lane, rank);
            }
            QueueSpot::Delayed(BackoffDelay { until, since }) => {
                self.delayed.insert((*until, id.clone()));
                self.failed_at.extend(since.map(|since| (since, id.clone())));
            }
            QueueSpot::ToBlock => {
                self.to_block.insert(id.clone());
            }
            QueueSpot::ToUnblock => {
                self.to_unblock.insert(id.clone());
            }
        }
        if place.has_unended_run {
            self.unended_runs.insert(id.clone());
        }
        if let Some(agent) = &place.agent {
            *self.agent_runs.entry(agent.clone()).or_default() += 1;
            self.runs += 1;
            if let Some(node) = &place.node {
                *self.node_runs.entry(node.clone()).or_default() += 1;
                *self.agent_runs_on_node.entry((node.clone(), agent.clone())).or_default() += 1;
            }
        }
        if let Some(resource) = &place.resource {
            *self.resource_users.entry(resource.clone()).or_default() += 1;
        }
        for parked in &place.parked {
            let tasks = self.parked.entry(parked.agent.clone()).or_default();
            tasks.entry(id.clone()).or_default().push(parked.clone());
        }
        for spent in &place.spent {
            let sum = self.daily_usage.entry((spent.day.clone(), spent.agent.clone())).or_default();
            *sum = sum.plus(spent.usage);
        }
        self.entries.insert(id.clone(), place);
    }

    fn remove_entry(&mut self, id: &TaskId) {
        let Some(place) = self.entries.remove(id) else { return };
        match &place.spot {
            QueueSpot::Unqueued => {}
            QueueSpot::Lane(lane, rank) => {
                self.lanes.remove(lane, rank);
            }
            QueueSpot::Delayed(BackoffDelay { until, since }) => {
                self.delayed.remove(&(*until, id.clone()));
                since.map(|since| self.failed_at.remove(&(since, id.clone())));
            }
            QueueSpot::ToBlock => {
                self.to_block.remove(id);
            }
            QueueSpot::ToUnblock => {
                self.to_unblock.remove(id);
            }
        }
        self.unended_runs.remove(id);
        if let Some(agent) = &place.agent {
            decrement_count(&mut self.agent_runs, agent);
            self.runs -= 1;
            if let Some(node) = &place.node {
                decrement_count(&mut self.node_runs, node);
                decrement_count(&mut self.agent_runs_on_node, &(node.clone(), agent.clone()));
            }
        }
        if let Some(resource) = &place.resource {
            decrement_count(&mut self.resource_users, resource);
        }
        for parked in &place.parked {
            if let Some(tasks) = self.parked.get_mut(&parked.agent) {
                tasks.remove(id);
                if tasks.is_empty() {
                    self.parked.remove(&parked.agent);
                }
            }
        }
        place.spent.iter().for_each(|spent| self.subtract_usage(spent));
    }

    fn subtract_usage(&mut self, spent: &DailyUsage) {
        let key = (spent.day.clone(), spent.agent.clone());
        if let Some(sum) = self.daily_usage.get_mut(&key) {
            *sum = sum.minus(spent.usage);
            if sum.is_nothing() {
                self.daily_usage.remove(&key);
            }
        }
    }

    /// Returns the sorted lists of tasks that can be assigned. All tasks of one list may go to
    /// the same agents.
    pub(crate) fn assignable_lists(&self) -> impl Iterator<Item = &BTreeSet<TaskRank>> {
        self.lanes.lists()
    }

    /// Returns whether a task could be assigned now.
    pub(crate) fn is_assignable(&self, id: &TaskId, now: Time) -> bool {
        match self.entries.get(id).map(|place| &place.spot) {
            Some(QueueSpot::Lane(..)) => true,
            Some(QueueSpot::Delayed(delay)) => delay.is_over(now),
            Some(QueueSpot::Unqueued | QueueSpot::ToBlock | QueueSpot::ToUnblock) | None => false,
        }
    }

    /// Returns the tasks whose backoff is over.
    pub(crate) fn tasks_past_backoff(&self, now: Time) -> impl Iterator<Item = &TaskId> {
        let over = self.delayed.iter().take_while(move |(until, _)| *until <= now);
        let ahead = self.failed_at.iter().rev().take_while(move |(since, _)| *since > now);
        // A task whose backoff has also run out is in `over` already.
        let ahead = ahead.filter(move |(_, id)| self.delay(id).is_some_and(|d| d.until > now));
        over.chain(ahead).map(|(_, id)| id)
    }

    fn delay(&self, id: &TaskId) -> Option<BackoffDelay> {
        match self.entries.get(id)?.spot {
            QueueSpot::Delayed(delay) => Some(delay),
            QueueSpot::Unqueued
            | QueueSpot::Lane(..)
            | QueueSpot::ToBlock
            | QueueSpot::ToUnblock => None,
        }
    }

    /// Returns when the next backoff ends. One that has ended already is left out: its task waits
    /// for a slot or an agent, which is no reason to wake the scheduler.
    pub(crate) fn next_backoff_end(&self, now: Time) -> Option<Time> {
        self.delayed.iter().map(|(until, _)| *until).find(|until| *until > now)
    }

    /// Returns the tasks whose backoff has not ended.
    pub(crate) fn tasks_in_backoff(&self, now: Time) -> impl Iterator<Item = &TaskId> {
        self.delayed.iter().filter(move |(until, _)| *until > now).map(|(_, id)| id)
    }

    pub(crate) fn tasks_to_block(&self) -> &BTreeSet<TaskId> {
        &self.to_block
    }

    pub(crate) fn tasks_to_unblock(&self) -> &BTreeSet<TaskId> {
        &self.to_unblock
    }

    /// Returns the tasks that are no longer in progress, but whose run was not seen to end.
    pub(crate) fn tasks_with_unended_run(&self) -> &BTreeSet<TaskId> {
        &self.unended_runs
    }

    pub(crate) fn run_count(&self, agent: &AgentId) -> u32 {
        self.agent_runs.get(agent).copied().unwrap_or(0)
    }

    pub(crate) fn run_count_on(&self, node: &NodeId, agent: &AgentId) -> u32 {
        self.agent_runs_on_node.get(&(node.clone(), agent.clone())).copied().unwrap_or(0)
    }

    pub(crate) fn runs_on(&self, node: &NodeId) -> u32 {
        self.node_runs.get(node).copied().unwrap_or(0)
    }

    /// Returns how many tasks use a resource. More than one is possible only if a
    /// person started them.
    pub(crate) fn resource_user_count(&self, resource: &str) -> u32 {
        self.resource_users.get(resource).copied().unwrap_or(0)
    }

    /// Returns why an agent is parked, with the task whose run found it out.
    pub(crate) fn parkings_of(
        &self,
        agent: &AgentId,
    ) -> impl Iterator<Item = (&TaskId, &ParkedAgent)> {
        let tasks = self.parked.get(agent).into_iter().flatten();
        tasks.flat_map(|(task, all)| all.iter().map(move |parked| (task, parked)))
    }

    pub(crate) fn parked_agents(&self) -> impl Iterator<Item = &AgentId> {
        self.parked.keys()
    }

    pub(crate) fn usage_on_day(&self, day: &str) -> Vec<(&AgentId, TokenUsage)> {
        // Days are sorted and callers ask for recent ones, so search from the end.
        let back = self.daily_usage.iter().rev().skip_while(|((of, _), _)| **of > *day);
        let same = back.take_while(|((of, _), _)| **of == *day);
        same.map(|((_, agent), usage)| (agent, *usage)).collect()
    }

    pub(crate) fn runs(&self) -> u32 {
        self.runs
    }
}

fn decrement_count<K: Ord + Clone>(counts: &mut BTreeMap<K, u32>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}
