//! One tick: what is known of every run is gathered, and the plan is carried out in one commit.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};

use adjutant_core::input::TickFacts;
use adjutant_core::run::{Life, RunFacts};
use adjutant_core::schedule::{self, Action};
use adjutant_core::{NodeId, Task, TaskId, Time, World};
use adjutant_store::{Store, StoreError};

use crate::engine::Answered;

/// Knows which runs live.
pub trait Lives {
    /// Says whether the process of a task's run is there.
    fn life(&self, task: &Task) -> Life;

    /// Returns the nodes of a fleet of which nothing is heard.
    fn away(&self) -> BTreeSet<NodeId> {
        BTreeSet::new()
    }
}

/// Knows of no run: the heartbeat alone counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct NobodyKnows;

impl Lives for NobodyKnows {
    fn life(&self, _: &Task) -> Life {
        Life::NotOurs
    }
}

impl Lives for BTreeMap<TaskId, Life> {
    fn life(&self, task: &Task) -> Life {
        self.get(&task.id).copied().unwrap_or_default()
    }
}

/// What a tick did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticked {
    /// When it was.
    pub now: Time,
    /// What was to be done, in order.
    pub actions: Vec<Action>,
    /// What came of it: the events, and what is owed to the outside.
    pub answered: Answered,
}

impl Ticked {
    /// Returns how many actions count as executed: clearing up after a stale heartbeat does not.
    pub fn executed(&self) -> usize {
        self.actions.iter().filter(|action| action.is_counted()).count()
    }
}

/// Gathers what a tick needs to know about the runs there are.
pub(crate) fn gather(
    store: &mut impl Store,
    world: &World,
    lives: &dyn Lives,
    jitter: u64,
    now: Time,
) -> Result<TickFacts, StoreError> {
    let mut facts = TickFacts { runs: BTreeMap::new(), away: lives.away(), jitter };
    for id in schedule::to_look_at(world) {
        let Some(task) = world.task(&id) else { continue };
        let (life, heartbeat) = (lives.life(task), store.heartbeat(&id)?);
        let mut seen = RunFacts { heartbeat, found: None, life };
        if is_over(task, &seen, now) {
            seen.found = store.result(&id)?;
        }
        facts.runs.insert(id, seen);
    }
    Ok(facts)
}

/// Says whether it matters if the run left a result.
fn is_over(task: &Task, seen: &RunFacts, now: Time) -> bool {
    match (seen.life, seen.heartbeat) {
        (Life::Alive, _) => false,
        (Life::Gone, _) => true,
        (Life::NotOurs, Some(beat)) => beat.is_stale(now),
        (Life::NotOurs, None) => task.lease().is_some_and(|lease| lease.expires_at <= now),
    }
}

/// Returns a number that nobody can foresee, so that what failed together does not come back
/// together.
pub fn jitter() -> u64 {
    RandomState::new().hash_one(0)
}
