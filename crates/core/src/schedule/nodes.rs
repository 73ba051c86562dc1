//! The nodes of a fleet: which runs are whose, and what is to be thought of one that is silent.
//!
//! Times are how long ago something was, measured by one machine alone: clocks that differ between
//! nodes do not matter.

use std::collections::BTreeSet;
use std::time::Duration;

use super::plan::to_look_at;
use crate::effect::Effect;
use crate::id::TaskId;
use crate::node::NodeId;
use crate::run::Life;
use crate::task::Task;
use crate::world::World;

/// A run: its task and its fence.
pub type RunKey = (TaskId, u64);

/// What whoever decides has heard of another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard<'h> {
    /// Nothing, since it decides.
    Never {
        /// How long that is.
        listening: Duration,
    },
    /// That it is there.
    Last {
        /// How long ago.
        ago: Duration,
        /// The runs it said it has.
        runs: &'h BTreeSet<RunKey>,
    },
}

impl Heard<'_> {
    /// Says whether a node is given nothing until more is heard of it. One of which nothing was
    /// heard yet may be gone.
    pub fn is_silent(self, ttl: Duration) -> bool {
        match self {
            Self::Never { .. } => true,
            Self::Last { ago, .. } => ago > ttl / 2,
        }
    }

    /// Says whether a node has ended its runs by now, wherever it is. It lets them go on for `ttl`
    /// from before it last said that it is there, and is given a quarter more.
    fn is_over(self, ttl: Duration) -> bool {
        let silence = match self {
            Self::Never { listening } => listening,
            Self::Last { ago, .. } => ago,
        };
        silence > ttl + ttl / 4
    }

    /// Says what is to be thought of a run that a node was given. What it has yet to start it need
    /// not have; what else it does not know of is judged by its heartbeat.
    pub fn life(self, run: &RunKey, start: Start, ttl: Duration) -> Life {
        match self {
            _ if self.is_over(ttl) => Life::Gone,
            Self::Last { runs, .. } if start == Start::Done && !runs.contains(run) => Life::NotOurs,
            Self::Last { .. } | Self::Never { .. } => Life::Alive,
        }
    }
}

/// Whether a run was started, as far as whoever decides knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Its node owes it.
    Owed,
    /// Its node has seen to it.
    Done,
}

/// Returns the runs a node was given.
pub fn runs_on(world: &World, node: &NodeId) -> BTreeSet<RunKey> {
    runs(world, |on| on == Some(node))
}

/// Returns the runs that nobody else than this node has: those it was given, and those from before
/// there were others.
pub fn own_runs(world: &World, node: &NodeId) -> BTreeSet<RunKey> {
    runs(world, |on| on.is_none_or(|on| on == node))
}

fn runs(world: &World, whose: impl Fn(Option<&NodeId>) -> bool) -> BTreeSet<RunKey> {
    let looked = to_look_at(world).into_iter().filter_map(|id| world.task(&id));
    looked.filter(|task| whose(task.trials.node.as_ref())).filter_map(run_of).collect()
}

/// Says whether a node was given runs that may still go on.
pub fn has_runs(world: &World, node: &NodeId) -> bool {
    let looked = to_look_at(world).into_iter().filter_map(|id| world.task(&id));
    let mut own = looked.filter(|task| task.trials.node.as_ref() == Some(node));
    own.any(|task| run_of(task).is_some() && !is_seen_to_end(task))
}

/// Says whether the run of a task is over, and what it said is being looked into.
pub fn is_seen_to_end(task: &Task) -> bool {
    task.trials.claim().is_some() && task.trials.open.is_none()
}

/// Returns the run of a task that may still be there.
pub fn run_of(task: &Task) -> Option<RunKey> {
    let fence = task.lease().map(|lease| lease.fence);
    let open = task.trials.open.as_ref().map(|run| run.fence);
    Some((task.id.clone(), fence.or(open)?))
}

/// Returns the node that has to see to an effect: the one that had the last run of its task. None if
/// that is for whoever decides.
pub fn doer<'w>(effect: &Effect, world: &'w World) -> Option<&'w NodeId> {
    let task = match effect {
        Effect::StartRun { task, .. }
        | Effect::StopRun { task, .. }
        | Effect::NoteTaken { task, .. }
        | Effect::TellRun { task, .. }
        | Effect::CheckWork { task, .. }
        | Effect::MergeWork { task, .. } => task,
        Effect::Notify { .. } => return None,
    };
    world.task(task)?.trials.node.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: Duration = Duration::from_mins(1);

    fn run(number: u64) -> RunKey {
        (TaskId::parse("TASK-2026-02-09-001").expect("a good id"), number)
    }

    #[test]
    fn a_node_that_is_silent_for_half_its_time_is_given_nothing() {
        let runs = BTreeSet::new();
        let last = |secs| Heard::Last { ago: Duration::from_secs(secs), runs: &runs };
        let never = |secs| Heard::Never { listening: Duration::from_secs(secs) };
        let table = [(last(0), false), (last(30), false), (last(31), true), (never(0), true)];
        for (heard, silent) in table {
            assert_eq!(heard.is_silent(TTL), silent, "{heard:?}");
        }
    }

    #[test]
    fn a_run_counts_as_gone_only_when_its_node_must_have_ended_it() {
        let runs = BTreeSet::from([run(1)]);
        let last = |secs| Heard::Last { ago: Duration::from_secs(secs), runs: &runs };
        let never = |secs| Heard::Never { listening: Duration::from_secs(secs) };
        let table = [
            // It has the run, until nothing was heard for a quarter more than its time.
            (last(0), run(1), Start::Done, Life::Alive),
            (last(60), run(1), Start::Done, Life::Alive),
            (last(75), run(1), Start::Done, Life::Alive),
            (last(76), run(1), Start::Done, Life::Gone),
            // It does not know of the run: perhaps it died with an earlier process of the node.
            (last(0), run(2), Start::Done, Life::NotOurs),
            (last(76), run(2), Start::Done, Life::Gone),
            // It is yet to start it, and still is when it is gone.
            (last(0), run(2), Start::Owed, Life::Alive),
            (last(76), run(2), Start::Owed, Life::Gone),
            // Whoever begins to decide gives every node its time anew.
            (never(0), run(1), Start::Done, Life::Alive),
            (never(75), run(1), Start::Owed, Life::Alive),
            (never(76), run(1), Start::Done, Life::Gone),
        ];
        for (heard, run, start, life) in table {
            assert_eq!(heard.life(&run, start, TTL), life, "{heard:?} {run:?} {start:?}");
        }
    }
}
