//! One scheduler run (tick): collects facts about every run; the plan is carried out in one commit.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};

use adjutant_core::World;
use adjutant_core::input::{RunFacts, TickFacts};
use adjutant_core::schedule::{self, ScheduleAction};
use adjutant_model::request::EngineAnswer;
use adjutant_model::run::RunLiveness;
use adjutant_model::{NodeId, Task, TaskId, Time};
use adjutant_store::{Store, StoreError};

/// Knows which runs are alive.
pub trait LivenessSource {
    /// Returns whether the process of a task's run is alive.
    fn life(&self, task: &Task) -> RunLiveness;

    /// Returns the nodes of a fleet that are not heard from.
    fn silent_nodes(&self) -> BTreeSet<NodeId> {
        BTreeSet::new()
    }
}

/// Knows of no process, so that only heartbeats count.
#[derive(Debug, Clone, Copy, Default)]
pub struct HeartbeatsOnly;

impl LivenessSource for HeartbeatsOnly {
    fn life(&self, _: &Task) -> RunLiveness {
        RunLiveness::NotOurs
    }
}

impl LivenessSource for BTreeMap<TaskId, RunLiveness> {
    fn life(&self, task: &Task) -> RunLiveness {
        self.get(&task.id).copied().unwrap_or_default()
    }
}

/// What a tick did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickOutcome {
    pub now: Time,
    /// The planned actions, in order.
    pub actions: Vec<ScheduleAction>,
    /// The events of the tick, and its pending effects.
    pub answered: EngineAnswer,
}

impl TickOutcome {
    /// Returns how many actions count as executed: cleaning up after a stale heartbeat does not.
    pub fn executed(&self) -> usize {
        self.actions.iter().filter(|action| action.is_counted()).count()
    }
}

/// Collects the facts about all runs that a tick needs; its random numbers are not among them.
pub fn gather_tick_facts(
    store: &mut impl Store,
    world: &World,
    lives: &dyn LivenessSource,
    now: Time,
) -> Result<TickFacts, StoreError> {
    let mut facts = TickFacts { unreachable_nodes: lives.silent_nodes(), ..TickFacts::default() };
    for id in schedule::tasks_to_inspect(world) {
        let Some(task) = world.task(&id) else { continue };
        let (life, heartbeat) = (lives.life(task), store.last_heartbeat(&id)?);
        let mut seen = RunFacts { heartbeat, found: None, life };
        if is_over(task, &seen, now) {
            seen.found = store.result(&id)?;
        }
        facts.runs.insert(id, seen);
    }
    Ok(facts)
}

/// Returns whether the run may be over, so that a result it left matters.
fn is_over(task: &Task, seen: &RunFacts, now: Time) -> bool {
    match (seen.life, seen.heartbeat) {
        (RunLiveness::Alive, _) => false,
        (RunLiveness::Gone, _) => true,
        (RunLiveness::NotOurs, Some(beat)) => beat.is_stale(now),
        (RunLiveness::NotOurs, None) => task.lease().is_some_and(|lease| lease.expires_at <= now),
    }
}

/// Returns an unpredictable number: for the nonces of runs, and so that runs that failed together do
/// not retry together.
pub fn jitter() -> u64 {
    RandomState::new().hash_one(0)
}
