//! The tasks the scheduler has to do with, each in its place. Follows the tasks as they change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::dependency::{Dependencies, Lookup, Standing};
use super::lanes::{Lane, Lanes, Rank};
use crate::account::{Parked, Spent, Usage};
use crate::id::TaskId;
use crate::name::AgentId;
use crate::node::NodeId;
use crate::status::Status;
use crate::task::Task;
use crate::time::Time;

/// What the scheduler has in view. Equal for equal tasks, whatever order they came in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Queue {
    /// Tasks that could be given out.
    lanes: Lanes,
    /// Tasks that wait out a back-off, by when it is over.
    delayed: BTreeSet<(Time, TaskId)>,
    /// The same tasks, by when the attempt ended that they wait after.
    failed: BTreeSet<(Time, TaskId)>,
    /// Ready tasks of which a dependency was given up.
    doomed: BTreeSet<TaskId>,
    /// Tasks the scheduler blocked and can unblock.
    freed: BTreeSet<TaskId>,
    /// Tasks that are no longer in progress, and whose run nobody has seen end.
    lingering: BTreeSet<TaskId>,
    /// How many runs each agent has.
    busy: BTreeMap<AgentId, u32>,
    /// How many of them on each node of a fleet.
    busy_on: BTreeMap<(NodeId, AgentId), u32>,
    /// How many runs each node has.
    runs_on: BTreeMap<NodeId, u32>,
    /// What is in use, and by how many tasks.
    used: BTreeMap<Box<str>, u32>,
    /// All runs there are.
    runs: u32,
    /// The agents that cannot work, as was found out with which task.
    parked: BTreeMap<AgentId, BTreeMap<TaskId, Vec<Parked>>>,
    /// What each agent used on each day.
    spent: BTreeMap<(Box<str>, AgentId), Usage>,
    dependencies: Dependencies,
    places: BTreeMap<TaskId, Place>,
}

/// Where a task is entered, so that it can be taken out again when it has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    spot: Spot,
    /// Whose slot it takes.
    agent: Option<AgentId>,
    /// On which node.
    node: Option<NodeId>,
    /// What it uses.
    resource: Option<Box<str>>,
    lingers: bool,
    /// Who cannot work, as was found out with it.
    parked: Vec<Parked>,
    /// What was used for it.
    spent: Vec<Spent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Spot {
    Nowhere,
    Lane(Arc<Lane>, Rank),
    Delayed(Delay),
    Doomed,
    Freed,
}

/// Until when a task waits, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Delay {
    until: Time,
    since: Option<Time>,
}

impl Delay {
    fn of(task: &Task) -> Option<Self> {
        let since = task.trials.expired.as_ref().map(|expired| expired.at);
        task.trials.not_before.map(|until| Self { until, since })
    }

    /// An attempt that ended in the future ended by another clock, of this machine before it was
    /// set back or of another node: how long there is to wait by this one is not known.
    fn is_over(self, now: Time) -> bool {
        self.until <= now || self.since.is_some_and(|since| since > now)
    }
}

/// Says until when a task waits before it is tried again, if it still does.
pub(super) fn waits_until(task: &Task, now: Time) -> Option<Time> {
    Delay::of(task).filter(|delay| !delay.is_over(now)).map(|delay| delay.until)
}

impl Queue {
    /// Makes the queue anew, as it must be for these tasks.
    pub(crate) fn of<'w>(tasks: impl Iterator<Item = &'w Task>) -> Self {
        let tasks: BTreeMap<&TaskId, &Task> = tasks.map(|task| (&task.id, task)).collect();
        let mut queue = Self::default();
        for id in tasks.keys() {
            queue.follow(id, &|id| tasks.get(id).copied());
        }
        queue
    }

    /// Brings the queue in line with a task that is new, changed or gone, and with those that wait
    /// for it.
    pub(crate) fn follow(&mut self, id: &TaskId, task: Lookup<'_, '_>) {
        let changed = self.dependencies.follow(id, task);
        self.place(id, task(id));
        for dependent in changed {
            self.place(&dependent, task(&dependent));
        }
    }

    fn place(&mut self, id: &TaskId, task: Option<&Task>) {
        self.take_out(id);
        if let Some(place) = task.and_then(|task| self.find_place(task)) {
            self.enter(id, place);
        }
    }

    fn find_place(&self, task: &Task) -> Option<Place> {
        let open = task.trials.open.as_ref();
        let working = task.status() == Status::InProgress;
        let place = Place {
            spot: if open.is_some() { Spot::Nowhere } else { self.find_spot(task) },
            agent: task.lease().map(|lease| &lease.agent).or(open.map(|run| &run.agent)).cloned(),
            node: task.trials.node.clone(),
            resource: task.resource.clone().filter(|_| working || open.is_some()),
            lingers: open.is_some() && !working,
            parked: if task.status().is_closed() { vec![] } else { task.trials.parked().to_vec() },
            spent: task.trials.account().map(|account| account.spent.clone()).unwrap_or_default(),
        };
        let empty = place.spot == Spot::Nowhere
            && place.agent.is_none()
            && place.resource.is_none()
            && place.parked.is_empty()
            && place.spent.is_empty();
        (!empty).then_some(place)
    }

    fn find_spot(&self, task: &Task) -> Spot {
        match task.status() {
            Status::Ready if task.story().is_some_and(|story| !story.is_runnable()) => {
                Spot::Nowhere
            }
            Status::Ready => match (self.dependencies.standing(task), Delay::of(task)) {
                (Standing::Dead, _) => Spot::Doomed,
                (Standing::Open, _) => Spot::Nowhere,
                (Standing::Done, Some(delay)) => Spot::Delayed(delay),
                (Standing::Done, None) => Spot::Lane(self.lanes.lane(task), Rank::of(task)),
            },
            Status::Blocked if task.trials.blocked_by.is_some() => {
                match self.dependencies.standing(task) {
                    Standing::Done => Spot::Freed,
                    Standing::Dead | Standing::Open => Spot::Nowhere,
                }
            }
            _ => Spot::Nowhere,
        }
    }

    fn enter(&mut self, id: &TaskId, place: Place) {
        match &place.spot {
            Spot::Nowhere => {}
            Spot::Lane(lane, rank) => {
                self.lanes.insert(lane, rank);
            }
            Spot::Delayed(Delay { until, since }) => {
                self.delayed.insert((*until, id.clone()));
                self.failed.extend(since.map(|since| (since, id.clone())));
            }
            Spot::Doomed => {
                self.doomed.insert(id.clone());
            }
            Spot::Freed => {
                self.freed.insert(id.clone());
            }
        }
        if place.lingers {
            self.lingering.insert(id.clone());
        }
        if let Some(agent) = &place.agent {
            *self.busy.entry(agent.clone()).or_default() += 1;
            self.runs += 1;
            if let Some(node) = &place.node {
                *self.runs_on.entry(node.clone()).or_default() += 1;
                *self.busy_on.entry((node.clone(), agent.clone())).or_default() += 1;
            }
        }
        if let Some(resource) = &place.resource {
            *self.used.entry(resource.clone()).or_default() += 1;
        }
        for parked in &place.parked {
            let tasks = self.parked.entry(parked.agent.clone()).or_default();
            tasks.entry(id.clone()).or_default().push(parked.clone());
        }
        for spent in &place.spent {
            let sum = self.spent.entry((spent.day.clone(), spent.agent.clone())).or_default();
            *sum = sum.plus(spent.usage);
        }
        self.places.insert(id.clone(), place);
    }

    fn take_out(&mut self, id: &TaskId) {
        let Some(place) = self.places.remove(id) else { return };
        match &place.spot {
            Spot::Nowhere => {}
            Spot::Lane(lane, rank) => {
                self.lanes.remove(lane, rank);
            }
            Spot::Delayed(Delay { until, since }) => {
                self.delayed.remove(&(*until, id.clone()));
                since.map(|since| self.failed.remove(&(since, id.clone())));
            }
            Spot::Doomed => {
                self.doomed.remove(id);
            }
            Spot::Freed => {
                self.freed.remove(id);
            }
        }
        self.lingering.remove(id);
        if let Some(agent) = &place.agent {
            count_down(&mut self.busy, agent);
            self.runs -= 1;
            if let Some(node) = &place.node {
                count_down(&mut self.runs_on, node);
                count_down(&mut self.busy_on, &(node.clone(), agent.clone()));
            }
        }
        if let Some(resource) = &place.resource {
            count_down(&mut self.used, resource);
        }
        for parked in &place.parked {
            if let Some(tasks) = self.parked.get_mut(&parked.agent) {
                tasks.remove(id);
                if tasks.is_empty() {
                    self.parked.remove(&parked.agent);
                }
            }
        }
        place.spent.iter().for_each(|spent| self.give_back(spent));
    }

    /// Takes out what was used for a task.
    fn give_back(&mut self, spent: &Spent) {
        let key = (spent.day.clone(), spent.agent.clone());
        if let Some(sum) = self.spent.get_mut(&key) {
            *sum = sum.minus(spent.usage);
            if sum.is_nothing() {
                self.spent.remove(&key);
            }
        }
    }

    /// Returns the tasks that could be given out, in lists of which the first comes first. Within
    /// a list, every task is for the same agents.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &BTreeSet<Rank>> {
        self.lanes.lists()
    }

    /// Says whether a task could be given out.
    pub(crate) fn is_waiting(&self, id: &TaskId, now: Time) -> bool {
        match self.places.get(id).map(|place| &place.spot) {
            Some(Spot::Lane(..)) => true,
            Some(Spot::Delayed(delay)) => delay.is_over(now),
            Some(Spot::Nowhere | Spot::Doomed | Spot::Freed) | None => false,
        }
    }

    /// Returns the tasks whose back-off is over.
    pub(crate) fn rested(&self, now: Time) -> impl Iterator<Item = &TaskId> {
        let over = self.delayed.iter().take_while(move |(until, _)| *until <= now);
        let ahead = self.failed.iter().rev().take_while(move |(since, _)| *since > now);
        // Whose time is up by any clock is not told twice.
        let ahead = ahead.filter(move |(_, id)| self.delay(id).is_some_and(|d| d.until > now));
        over.chain(ahead).map(|(_, id)| id)
    }

    fn delay(&self, id: &TaskId) -> Option<Delay> {
        match self.places.get(id)?.spot {
            Spot::Delayed(delay) => Some(delay),
            Spot::Nowhere | Spot::Lane(..) | Spot::Doomed | Spot::Freed => None,
        }
    }

    /// Returns when the next back-off is over. One that is over already and waits for a slot, or
    /// for an agent that nobody has, is no reason to wake.
    pub(crate) fn next_rested(&self, now: Time) -> Option<Time> {
        self.delayed.iter().map(|(until, _)| *until).find(|until| *until > now)
    }

    /// Returns the ready tasks of which a dependency was given up.
    pub(crate) fn doomed(&self) -> &BTreeSet<TaskId> {
        &self.doomed
    }

    /// Returns the tasks the scheduler can unblock.
    pub(crate) fn freed(&self) -> &BTreeSet<TaskId> {
        &self.freed
    }

    /// Returns the tasks that are no longer in progress and whose run nobody has seen end.
    pub(crate) fn lingering(&self) -> &BTreeSet<TaskId> {
        &self.lingering
    }

    /// Returns how many runs an agent has.
    pub(crate) fn busy(&self, agent: &AgentId) -> u32 {
        self.busy.get(agent).copied().unwrap_or(0)
    }

    /// Returns how many runs an agent has on a node.
    pub(crate) fn busy_on(&self, node: &NodeId, agent: &AgentId) -> u32 {
        self.busy_on.get(&(node.clone(), agent.clone())).copied().unwrap_or(0)
    }

    /// Returns how many runs a node has.
    pub(crate) fn runs_on(&self, node: &NodeId) -> u32 {
        self.runs_on.get(node).copied().unwrap_or(0)
    }

    /// Returns how many tasks use a resource: one, unless people put more to work on it.
    pub(crate) fn users(&self, resource: &str) -> u32 {
        self.used.get(resource).copied().unwrap_or(0)
    }

    /// Returns what is known of an agent that cannot work, with the task it was found out with.
    pub(crate) fn parked(&self, agent: &AgentId) -> impl Iterator<Item = (&TaskId, &Parked)> {
        let tasks = self.parked.get(agent).into_iter().flatten();
        tasks.flat_map(|(task, all)| all.iter().map(move |parked| (task, parked)))
    }

    /// Returns the agents that cannot work.
    pub(crate) fn agents_parked(&self) -> impl Iterator<Item = &AgentId> {
        self.parked.keys()
    }

    /// Returns what each agent used on a day.
    pub(crate) fn spent_on(&self, day: &str) -> Vec<(&AgentId, Usage)> {
        // A few agents a day: the last days come last.
        let back = self.spent.iter().rev().skip_while(|((of, _), _)| **of > *day);
        let same = back.take_while(|((of, _), _)| **of == *day);
        same.map(|((_, agent), usage)| (agent, *usage)).collect()
    }

    /// Returns how many runs there are.
    pub(crate) fn runs(&self) -> u32 {
        self.runs
    }
}

fn count_down<K: Ord + Clone>(counts: &mut BTreeMap<K, u32>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}
