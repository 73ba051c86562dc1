//! The tasks that can be assigned, sorted into lists by the agents that may take them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use adjutant_model::node_id::NodeId;
use adjutant_model::priority::Priority;
use adjutant_model::task::{Task, TaskRouting};
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;
use adjutant_model::usage::{TaskUsage, UsageBudget};

/// The tasks that can be assigned. Tasks for the same agents share a list, so the planner can skip
/// a long list at once when those agents are busy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TaskLanes {
    /// Tasks that need no resource.
    without_resource: BTreeMap<Arc<TaskLane>, BTreeSet<TaskRank>>,
    /// Tasks that need a resource: at most one task of each lane can run.
    with_resource: BTreeMap<Arc<TaskLane>, BTreeSet<TaskRank>>,
    /// The first task of each lane in `bound`, by routing and node.
    resource_heads: BTreeMap<(TaskRouting, Option<NodeId>), BTreeSet<TaskRank>>,
}

/// What tasks in one list have in common: routing, the node that has their files, and the resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TaskLane {
    routing: TaskRouting,
    node: Option<NodeId>,
    resource: Option<Box<str>>,
    /// Set if the task may be over budget. It then has a lane of its own, so that it does not hold
    /// back other tasks that need the same resource.
    only_task: Option<TaskId>,
}

/// The sort key of a task in its lane: priority, then due date, then age, then id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TaskRank {
    priority: Priority,
    due_by: Time,
    created_at: Time,
    pub(crate) id: TaskId,
}

impl TaskLanes {
    /// Returns the lane of a task. Tasks in the same lane share one allocation.
    pub(crate) fn lane_for(&self, task: &Task) -> Arc<TaskLane> {
        let (routing, resource) = (task.routing.clone(), task.resource.clone());
        let alone = resource.is_some() && task.history.account().is_some_and(may_be_overdrawn);
        let (node, alone) = (task.home().cloned(), alone.then(|| task.id.clone()));
        let lane = TaskLane { routing, node, resource, only_task: alone };
        let lanes =
            if lane.resource.is_some() { &self.with_resource } else { &self.without_resource };
        match lanes.get_key_value(&lane) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::new(lane),
        }
    }

    pub(crate) fn insert(&mut self, lane: &Arc<TaskLane>, rank: &TaskRank) {
        self.update_lane(lane, |ranks| {
            ranks.insert(rank.clone());
        });
    }

    pub(crate) fn remove(&mut self, lane: &Arc<TaskLane>, rank: &TaskRank) {
        self.update_lane(lane, |ranks| {
            ranks.remove(rank);
        });
    }

    /// Changes the tasks of a lane, and updates its entry in `heads`.
    fn update_lane(&mut self, lane: &Arc<TaskLane>, change: impl FnOnce(&mut BTreeSet<TaskRank>)) {
        let lanes = if lane.resource.is_some() {
            &mut self.with_resource
        } else {
            &mut self.without_resource
        };
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

    fn replace_head(
        &mut self,
        lane: &TaskLane,
        before: Option<&TaskRank>,
        after: Option<TaskRank>,
    ) {
        let whose = (lane.routing.clone(), lane.node.clone());
        let heads = self.resource_heads.entry(whose.clone()).or_default();
        if let Some(before) = before {
            heads.remove(before);
        }
        heads.extend(after);
        if heads.is_empty() {
            self.resource_heads.remove(&whose);
        }
    }

    /// Returns the sorted lists. All tasks of one list may go to the same agents.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &BTreeSet<TaskRank>> {
        self.without_resource.values().chain(self.resource_heads.values())
    }
}

fn may_be_overdrawn(account: &TaskUsage) -> bool {
    !account.spent.is_empty() || account.budget != UsageBudget::default()
}

impl TaskRank {
    /// A task without a due date ranks after all tasks with one.
    pub(crate) fn from_task(task: &Task) -> Self {
        Self {
            priority: task.priority,
            due_by: task.due_by.unwrap_or(Time::from_millis(i64::MAX)),
            created_at: task.created_at,
            id: task.id.clone(),
        }
    }
}
