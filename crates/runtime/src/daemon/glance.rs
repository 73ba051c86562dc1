//! What a person sees of a daemon at a glance.

use std::time::Duration;

use adjutant_core::schedule::waiting;
use adjutant_core::{Status, TaskId, World};

use super::{Crew, DaemonError, Leaving};
use crate::clock::{Clock, SystemClock};
use crate::service::Client;

/// The most tasks that are named as waiting.
const NEXT_MAX: usize = 5;

/// What runs, what is next, and how much there is of everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// The runs there are.
    pub running: Vec<Running>,
    /// What would be given out next, in order.
    pub next: Vec<Waiting>,
    /// How many tasks stand at each status.
    pub counts: Vec<(Status, usize)>,
    /// How many runs there may be at once.
    pub slots: u32,
    /// Whether the daemon is on its way out.
    pub leaving: Leaving,
}

/// A run there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Its task.
    pub task: TaskId,
    /// What is to be done.
    pub title: String,
    /// Who works on it.
    pub agent: String,
    /// Which attempt it is.
    pub attempt: u32,
    /// For how long.
    pub since: Duration,
}

/// A task that waits for room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The task.
    pub task: TaskId,
    /// What is to be done.
    pub title: String,
}

impl Glance {
    pub(super) fn take(
        client: &Client,
        crew: &Crew,
        slots: u32,
        leaving: Leaving,
    ) -> Result<Self, DaemonError> {
        let runs: Vec<_> = crew.here().map(|(run, since)| (run.clone(), since.elapsed())).collect();
        Ok(client.view(move |world| {
            let running = runs
                .into_iter()
                .map(|(run, since)| Running {
                    title: title(world, &run.task),
                    agent: run.agent.to_string(),
                    attempt: run.attempt,
                    task: run.task,
                    since,
                })
                .collect();
            let next = waiting(world, SystemClock.now()).take(NEXT_MAX);
            let next =
                next.map(|task| Waiting { task: task.id.clone(), title: task.title.to_string() });
            let counts = Status::ALL.map(|status| (status, world.count(status)));
            Self { running, next: next.collect(), counts: counts.to_vec(), slots, leaving }
        })?)
    }
}

fn title(world: &World, id: &TaskId) -> String {
    world.task(id).map_or_else(String::new, |task| task.title.to_string())
}
