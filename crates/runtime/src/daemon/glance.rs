//! What a person sees of a daemon at a glance.

use std::time::Duration;

use adjutant_core::schedule::waiting;
use adjutant_core::{Status, Task, TaskId, World};

use super::{Crew, DaemonError, Leaving};
use crate::clock::{Clock, SystemClock};
use crate::service::Client;
use crate::supervisor::Run;

/// The most tasks that are named as waiting.
const NEXT_MAX: usize = 5;

/// What runs, what is next, and how much there is of everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// The runs there are.
    pub running: Vec<Running>,
    /// The runs that were there at the glance before, and are over.
    pub ended: Vec<Ended>,
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

/// A run that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Its task.
    pub task: TaskId,
    /// Where the task stands now; none if it is not there any more.
    pub status: Option<Status>,
    /// Why it stands there, if it is neither done nor waits for somebody to look at it.
    pub why: Option<String>,
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
        before: &[Running],
        slots: u32,
        leaving: Leaving,
    ) -> Result<Self, DaemonError> {
        let mut runs: Vec<_> =
            crew.here().map(|(run, since)| (run.clone(), since.elapsed())).collect();
        for claimed in client.view(claimed)? {
            if !runs.iter().any(|(run, _)| run.task == claimed.0.task) {
                runs.push(claimed);
            }
        }
        let is_over = |was: &&Running| {
            !runs.iter().any(|(run, _)| run.task == was.task && run.attempt == was.attempt)
        };
        let over: Vec<Running> = before.iter().filter(is_over).cloned().collect();
        Ok(client.view(move |world| {
            let ended = over.into_iter().map(|run| ended(world, run)).collect();
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
            Self { running, ended, next: next.collect(), counts: counts.to_vec(), slots, leaving }
        })?)
    }
}

/// Returns the runs that are over and whose word is being looked into.
fn claimed(world: &World) -> Vec<(Run, Duration)> {
    let now = SystemClock.now().as_millis();
    let run = |task: &Task| {
        task.trials.claim()?;
        let lease = task.lease()?;
        let (task, agent) = (task.id.clone(), lease.agent.clone());
        let since = u64::try_from(now.saturating_sub(lease.acquired_at.as_millis())).unwrap_or(0);
        let run = Run { task, attempt: lease.attempt, fence: lease.fence, agent };
        Some((run, Duration::from_millis(since)))
    };
    world.with_status(Status::InProgress).filter_map(run).collect()
}

fn title(world: &World, id: &TaskId) -> String {
    world.task(id).map_or_else(String::new, |task| match task.trials.claim() {
        Some(_) => format!("{} (being checked)", task.title),
        None => task.title.to_string(),
    })
}

fn ended(world: &World, run: Running) -> Ended {
    let task = world.task(&run.task);
    let status = task.map(Task::status);
    let why = task.and_then(|task| match task.status() {
        Status::Blocked | Status::Deadletter => task.trials.reason.as_deref().map(str::to_owned),
        Status::Ready => {
            let failed = task.trials.failures.iter().find(|one| one.attempt == run.attempt);
            failed.map(|failure| failure.reason.to_string())
        }
        Status::Backlog
        | Status::InProgress
        | Status::Review
        | Status::Done
        | Status::Cancelled => None,
    });
    Ended { task: run.task, status, why }
}
