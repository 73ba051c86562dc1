//! The tasks that could be given out, in lists of which the first comes first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::account::{Account, Budget};
use crate::id::TaskId;
use crate::node::NodeId;
use crate::priority::Priority;
use crate::task::{Routing, Task};
use crate::time::Time;

/// The tasks that could be given out. What is for the same agents is in the same lists, so that a
/// long list before a busy agent is left as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Lanes {
    /// Tasks that use nothing.
    free: BTreeMap<Arc<Lane>, BTreeSet<Rank>>,
    /// Tasks that use something: of each lane, only one can go.
    bound: BTreeMap<Arc<Lane>, BTreeSet<Rank>>,
    /// The first task of each lane that uses something.
    heads: BTreeMap<(Routing, Option<NodeId>), BTreeSet<Rank>>,
}

/// Whom tasks are for, where they have to be done, and what they use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lane {
    routing: Routing,
    node: Option<NodeId>,
    resource: Option<Box<str>>,
    /// The one task it is for, where that may have used up its budget and must not be in the way
    /// of others that wait for the same.
    alone: Option<TaskId>,
}

/// Where a task stands in its lane: priority, then due date, then age, then id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    priority: Priority,
    due_by: Time,
    created_at: Time,
    pub(crate) id: TaskId,
}

impl Lanes {
    /// Returns the lane of a task; the same for all that share it.
    pub(super) fn lane(&self, task: &Task) -> Arc<Lane> {
        let (routing, resource) = (task.routing.clone(), task.resource.clone());
        let alone = resource.is_some() && task.trials.account().is_some_and(may_be_overdrawn);
        let (node, alone) = (task.home().cloned(), alone.then(|| task.id.clone()));
        let lane = Lane { routing, node, resource, alone };
        let lanes = if lane.resource.is_some() { &self.bound } else { &self.free };
        match lanes.get_key_value(&lane) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::new(lane),
        }
    }

    pub(super) fn insert(&mut self, lane: &Arc<Lane>, rank: &Rank) {
        self.change(lane, |ranks| {
            ranks.insert(rank.clone());
        });
    }

    pub(super) fn remove(&mut self, lane: &Arc<Lane>, rank: &Rank) {
        self.change(lane, |ranks| {
            ranks.remove(rank);
        });
    }

    /// Changes a lane, and brings its head in line.
    fn change(&mut self, lane: &Arc<Lane>, change: impl FnOnce(&mut BTreeSet<Rank>)) {
        let lanes = if lane.resource.is_some() { &mut self.bound } else { &mut self.free };
        let ranks = lanes.entry(Arc::clone(lane)).or_default();
        let before = ranks.first().cloned();
        change(ranks);
        let after = ranks.first().cloned();
        if after.is_none() {
            lanes.remove(lane);
        }
        if lane.resource.is_some() && before != after {
            self.replace_head(lane, before.as_ref(), after);
        }
    }

    fn replace_head(&mut self, lane: &Lane, before: Option<&Rank>, after: Option<Rank>) {
        let whose = (lane.routing.clone(), lane.node.clone());
        let heads = self.heads.entry(whose.clone()).or_default();
        if let Some(before) = before {
            heads.remove(before);
        }
        heads.extend(after);
        if heads.is_empty() {
            self.heads.remove(&whose);
        }
    }

    /// Returns the lists: within each, every task is for the same agents.
    pub(super) fn lists(&self) -> impl Iterator<Item = &BTreeSet<Rank>> {
        self.free.values().chain(self.heads.values())
    }
}

fn may_be_overdrawn(account: &Account) -> bool {
    !account.spent.is_empty() || account.budget != Budget::default()
}

impl Rank {
    /// Returns the rank of a task. One that is due at no time comes after all that are.
    pub(crate) fn of(task: &Task) -> Self {
        Self {
            priority: task.priority,
            due_by: task.due_by.unwrap_or(Time::from_millis(i64::MAX)),
            created_at: task.created_at,
            id: task.id.clone(),
        }
    }
}
