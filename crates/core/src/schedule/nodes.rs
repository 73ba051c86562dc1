//! The nodes of a fleet: which runs each node has, and when a silent node counts as gone.
//!
//! All times are durations measured by one machine, so clocks that differ between nodes do not
//! matter.

use std::collections::BTreeSet;
use std::time::Duration;

use adjutant_model::effect::Effect;
use adjutant_model::node_id::NodeId;
use adjutant_model::request::{MessageOrigin, Request};
use adjutant_model::run::RunLiveness;
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;

use super::plan::tasks_to_inspect;
use crate::world::World;

/// A run, identified by its task and fence.
pub type RunKey = (TaskId, u64);

/// What the leader has heard from another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeContact<'h> {
    /// Nothing since the leader took office.
    Never {
        /// How long the leader has been listening.
        listening: Duration,
    },
    Last {
        ago: Duration,
        /// The runs that the node reported.
        runs: &'h BTreeSet<RunKey>,
    },
}

impl NodeContact<'_> {
    /// Returns whether to assign nothing to a node until it is heard again. A node that was never
    /// heard may be gone.
    pub fn is_silent(self, ttl: Duration) -> bool {
        match self {
            Self::Never { .. } => true,
            Self::Last { ago, .. } => ago > ttl / 2,
        }
    }

    /// Returns whether a node must have stopped its runs by now. A node stops them once it could
    /// not report for `ttl`; a quarter of `ttl` is added as a margin.
    fn must_have_stopped_runs(self, ttl: Duration) -> bool {
        let silence = match self {
            Self::Never { listening } => listening,
            Self::Last { ago, .. } => ago,
        };
        silence > ttl + ttl / 4
    }

    /// Returns whether a run that was assigned to a node is alive. The node need not know a run
    /// that it has yet to start; any other run it does not know is judged by its heartbeat.
    pub fn run_life(self, run: &RunKey, start: RunStartState, ttl: Duration) -> RunLiveness {
        match self {
            _ if self.must_have_stopped_runs(ttl) => RunLiveness::Gone,
            Self::Last { runs, .. } if start == RunStartState::Done && !runs.contains(run) => {
                RunLiveness::NotOurs
            }
            Self::Last { .. } | Self::Never { .. } => RunLiveness::Alive,
        }
    }
}

/// Whether the node has started a run, as far as the leader knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStartState {
    /// The start is still a pending effect of the node.
    Pending,
    Done,
}

/// Returns the runs that were assigned to a node.
pub fn runs_on(world: &World, node: &NodeId) -> BTreeSet<RunKey> {
    runs_where(world, |on| on == Some(node))
}

/// Returns the runs that only this node can have: those assigned to it, and those from before the
/// project was a fleet.
pub fn own_runs(world: &World, node: &NodeId) -> BTreeSet<RunKey> {
    runs_where(world, |on| on.is_none_or(|on| on == node))
}

fn runs_where(world: &World, whose: impl Fn(Option<&NodeId>) -> bool) -> BTreeSet<RunKey> {
    let looked = tasks_to_inspect(world).into_iter().filter_map(|id| world.task(&id));
    looked.filter(|task| whose(task.history.node.as_ref())).filter_map(current_run).collect()
}

/// Returns whether a node was assigned runs that may still be going.
pub fn has_runs(world: &World, node: &NodeId) -> bool {
    let looked = tasks_to_inspect(world).into_iter().filter_map(|id| world.task(&id));
    let mut own = looked.filter(|task| task.history.node.as_ref() == Some(node));
    own.any(|task| current_run(task).is_some() && !is_awaiting_check(task))
}

/// Returns whether the run of a task has ended and its report is being checked.
pub fn is_awaiting_check(task: &Task) -> bool {
    task.history.claim().is_some() && task.history.open.is_none()
}

/// Returns the run of a task that may still be going.
pub fn current_run(task: &Task) -> Option<RunKey> {
    let fence = task.lease().map(|lease| lease.fence);
    let open = task.history.open.as_ref().map(|run| run.fence);
    Some((task.id.clone(), fence.or(open)?))
}

/// Returns the node that has to perform an effect: the one that had the last run of the task.
/// `None` means the leader.
pub fn node_for_effect<'w>(effect: &Effect, world: &'w World) -> Option<&'w NodeId> {
    let task = match effect {
        Effect::StartRun { task, .. }
        | Effect::StopRun { task, .. }
        | Effect::NoteTaken { task, .. }
        | Effect::TellRun { task, .. }
        | Effect::CheckWork { task, .. }
        | Effect::MergeWork { task, .. } => task,
        Effect::Notify { .. } => return None,
    };
    world.task(task)?.history.node.as_ref()
}

/// Returns the task of a request by which a node reports on a run that another node supervises. A
/// report on an earlier run is left to the rules for late reports, which keep it.
pub fn foreign_report<'r>(
    world: &World,
    node: &NodeId,
    request: &'r Request,
) -> Option<&'r TaskId> {
    let (task, fence) = match request {
        Request::Message { origin: MessageOrigin::RunOutput { task, fence, .. }, .. }
        | Request::RunExited { task, fence, .. }
        | Request::Beat { task, fence }
        | Request::WorkChecked { task, fence, .. } => (task, Some(*fence)),
        Request::WorkMerged { task, .. } => (task, None),
        Request::Message { .. }
        | Request::SessionEnd(_)
        | Request::LifeSign { .. }
        | Request::PermissionAsked { .. }
        | Request::Tick { .. }
        | Request::Refused(_)
        | Request::Notified { .. }
        | Request::Stories { .. }
        | Request::WorkSaved { .. }
        | Request::Command { .. } => return None,
    };
    let known = world.task(task)?;
    let is_latest = fence.is_none_or(|fence| fence.saturating_add(1) >= known.next_fence());
    (is_latest && is_supervised_elsewhere(known, node)).then_some(task)
}

/// Returns whether another node than this one had the last run of a task.
pub fn is_supervised_elsewhere(task: &Task, node: &NodeId) -> bool {
    task.history.node.as_ref().is_some_and(|on| on != node)
}

/// Returns whether a node may say that an effect was performed: the node that had to perform it, or
/// one that may have been the leader.
pub fn may_settle(effect: &Effect, node: &NodeId, world: &World) -> bool {
    match effect {
        // The task may belong to another node by now; the messages are on the node of their run.
        Effect::NoteTaken { .. } => true,
        _ => node_for_effect(effect, world).is_none_or(|responsible| responsible == node),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_mins(1);

    fn run(number: u64) -> RunKey {
        (TaskId::parse("TASK-2026-02-09-001").expect("a good id"), number)
    }

    #[test]
    fn node_silent_for_half_its_ttl_is_assigned_nothing() {
        let runs = BTreeSet::new();
        let last = |secs| NodeContact::Last { ago: Duration::from_secs(secs), runs: &runs };
        let never = |secs| NodeContact::Never { listening: Duration::from_secs(secs) };
        let table = [(last(0), false), (last(30), false), (last(31), true), (never(0), true)];
        for (heard, silent) in table {
            assert_eq!(heard.is_silent(TTL), silent, "{heard:?}");
        }
    }

    #[test]
    fn run_counts_as_gone_only_when_its_node_must_have_ended_it() {
        let runs = BTreeSet::from([run(1)]);
        let last = |secs| NodeContact::Last { ago: Duration::from_secs(secs), runs: &runs };
        let never = |secs| NodeContact::Never { listening: Duration::from_secs(secs) };
        let table = [
            // The node has the run, until it was silent for a quarter longer than its TTL.
            (last(0), run(1), RunStartState::Done, RunLiveness::Alive),
            (last(60), run(1), RunStartState::Done, RunLiveness::Alive),
            (last(75), run(1), RunStartState::Done, RunLiveness::Alive),
            (last(76), run(1), RunStartState::Done, RunLiveness::Gone),
            // The node does not know the run, which may have died with an earlier process
            // of the node.
            (last(0), run(2), RunStartState::Done, RunLiveness::NotOurs),
            (last(76), run(2), RunStartState::Done, RunLiveness::Gone),
            // The node has yet to start the run; once the node is gone, so is the run.
            (last(0), run(2), RunStartState::Pending, RunLiveness::Alive),
            (last(76), run(2), RunStartState::Pending, RunLiveness::Gone),
            // A new leader gives every node a full TTL again.
            (never(0), run(1), RunStartState::Done, RunLiveness::Alive),
            (never(75), run(1), RunStartState::Pending, RunLiveness::Alive),
            (never(76), run(1), RunStartState::Done, RunLiveness::Gone),
        ];
        for (heard, run, start, life) in table {
            assert_eq!(heard.run_life(&run, start, TTL), life, "{heard:?} {run:?} {start:?}");
        }
    }
}
