//! The status that a daemon shows: current runs, waiting tasks and counts.

use std::time::Duration;

use adjutant_core::World;
use adjutant_core::schedule::waiting_tasks;
use adjutant_engine::service::EngineHandle;
use adjutant_model::{Status, Task, TaskId};
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_runs::supervisor::RunRef;

use super::{DaemonError, DaemonRunManager, ShutdownPhase};

/// The most waiting tasks that are listed.
const NEXT_MAX: usize = 5;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusSnapshot {
    pub running: Vec<ActiveRun>,
    /// The runs of the snapshot before that have ended since.
    pub ended: Vec<EndedRun>,
    /// The tasks that would be assigned next, in order.
    pub next: Vec<WaitingTask>,
    pub counts: Vec<(Status, usize)>,
    /// How many runs there may be at once.
    pub slots: u32,
    pub phase: ShutdownPhase,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveRun {
    pub task: TaskId,
    pub title: String,
    pub agent: String,
    pub attempt: u32,
    pub elapsed: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedRun {
    pub task: TaskId,
    /// The status of the task now; `None` if the task no longer exists.
    pub status: Option<Status>,
    /// Why the task has this status; `None` if it is done, cancelled or awaiting review.
    pub reason: Option<String>,
}

/// A task that waits for a free slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingTask {
    pub task: TaskId,
    pub title: String,
}

impl StatusSnapshot {
    pub(super) fn capture(
        client: &EngineHandle,
        crew: &DaemonRunManager,
        before: &[ActiveRun],
        slots: u32,
        leaving: ShutdownPhase,
    ) -> Result<Self, DaemonError> {
        let mut runs: Vec<_> =
            crew.active_runs().map(|(run, since)| (run.clone(), since.elapsed())).collect();
        for claimed in client.view(runs_being_checked)? {
            if !runs.iter().any(|(run, _)| run.task == claimed.0.task) {
                runs.push(claimed);
            }
        }
        let is_over = |was: &&ActiveRun| {
            !runs.iter().any(|(run, _)| run.task == was.task && run.attempt == was.attempt)
        };
        let over: Vec<ActiveRun> = before.iter().filter(is_over).cloned().collect();
        Ok(client.view(move |world| {
            let ended = over.into_iter().map(|run| to_ended_run(world, run)).collect();
            let running = runs
                .into_iter()
                .map(|(run, since)| ActiveRun {
                    title: display_title(world, &run.task),
                    agent: run.agent.to_string(),
                    attempt: run.attempt,
                    task: run.task,
                    elapsed: since,
                })
                .collect();
            let next = waiting_tasks(world, SystemClock.now()).take(NEXT_MAX);
            let next = next
                .map(|task| WaitingTask { task: task.id.clone(), title: task.title.to_string() });
            let counts = Status::ALL.map(|status| (status, world.count(status)));
            Self {
                running,
                ended,
                next: next.collect(),
                counts: counts.to_vec(),
                slots,
                phase: leaving,
            }
        })?)
    }
}

/// Returns the runs that have ended and whose work is being checked.
fn runs_being_checked(world: &World) -> Vec<(RunRef, Duration)> {
    let now = SystemClock.now().as_millis();
    let run = |task: &Task| {
        task.history.claim()?;
        let lease = task.lease()?;
        let (task, agent) = (task.id.clone(), lease.agent.clone());
        let since = u64::try_from(now.saturating_sub(lease.acquired_at.as_millis())).unwrap_or(0);
        let run =
            RunRef { task, attempt: lease.attempt, fence: lease.fence, nonce: lease.nonce, agent };
        Some((run, Duration::from_millis(since)))
    };
    world.with_status(Status::InProgress).filter_map(run).collect()
}

fn display_title(world: &World, id: &TaskId) -> String {
    world.task(id).map_or_else(String::new, |task| match task.history.claim() {
        Some(_) => format!("{} (being checked)", task.title),
        None => task.title.to_string(),
    })
}

fn to_ended_run(world: &World, run: ActiveRun) -> EndedRun {
    let task = world.task(&run.task);
    let status = task.map(Task::status);
    let why = task.and_then(|task| match task.status() {
        Status::Blocked | Status::Deadletter => task.history.reason.as_deref().map(str::to_owned),
        Status::Ready => {
            let failed = task.history.failures.iter().find(|one| one.attempt == run.attempt);
            failed.map(|failure| failure.reason.to_string())
        }
        Status::Backlog
        | Status::InProgress
        | Status::Review
        | Status::Done
        | Status::Cancelled => None,
    });
    EndedRun { task: run.task, status, reason: why }
}
