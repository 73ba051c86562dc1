//! Slow work in background threads: preparing worktrees, checking work, merging and removing
//! worktrees. One job at a time per task.
//!
//! Jobs keep no state that matters. An effect stays pending until the result of its job was
//! committed, so the next daemon starts the job again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use adjutant_git::worktree::{PreparedWorktree, SavedWork, WorktreeError};
use adjutant_model::TaskId;
use adjutant_model::work::MergeResult;
use parking_lot::{Mutex, MutexGuard};

use super::MERGE_RETRY_PAUSE as PAUSE;
use crate::run_manager::CheckedWork;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobKind {
    /// Prepares the worktree for this attempt.
    Prepare(u32),
    /// Checks the work of the run with this fence.
    CheckWork(u64),
    Merge,
    /// Removes the worktree.
    RemoveWorktree,
}

pub(super) enum JobResult {
    Ready(Result<PreparedWorktree, WorktreeError>),
    Checked(CheckedWork),
    Merged(MergeResult),
    WorktreeRemoved(Result<Option<SavedWork>, WorktreeError>),
}

/// The jobs that run, and the results that were not fetched yet.
pub(super) struct JobRunner {
    table: Arc<Mutex<BTreeMap<TaskId, JobSlot>>>,
    /// Jobs that must not start before this time.
    delayed: Mutex<BTreeMap<TaskId, (JobKind, Instant)>>,
    /// Set when the daemon leaves: running commands are ended.
    halt: Arc<AtomicBool>,
    /// Called when a job has finished; `None` if the caller waits for each job instead.
    on_finished: Option<Arc<Mutex<JobCallback>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

type JobCallback = Box<dyn Fn() + Send>;

struct JobSlot {
    kind: JobKind,
    result: Option<JobResult>,
    /// Whether the job was asked for since the last sweep.
    asked: bool,
}

impl JobRunner {
    /// Runs each job in the calling thread.
    pub(super) fn inline() -> Self {
        Self {
            table: Arc::default(),
            delayed: Mutex::default(),
            halt: Arc::default(),
            on_finished: None,
            threads: Mutex::default(),
        }
    }

    /// Runs jobs in threads, and calls `bell` whenever one has finished.
    pub(super) fn with_threads(bell: impl Fn() + Send + 'static) -> Self {
        let bell: JobCallback = Box::new(bell);
        let mut jobs = Self::inline();
        jobs.on_finished = Some(Arc::new(Mutex::new(bell)));
        jobs
    }

    /// Returns the flag that is set when running commands must end.
    pub(super) fn halt_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.halt)
    }

    /// Returns the result of a job; `None` while it, or another job of the same task, is running.
    /// Starts the job if it was not started.
    pub(super) fn fetch_or_start(
        &self,
        task: &TaskId,
        what: JobKind,
        work: impl FnOnce() -> JobResult + Send + 'static,
    ) -> Option<JobResult> {
        let Some(bell) = &self.on_finished else { return Some(work()) };
        if self.is_delayed(task, what) {
            return None;
        }
        let mut table = lock(&self.table);
        if let Some(slot) = table.get_mut(task) {
            slot.asked = slot.kind == what;
            slot.result.as_ref()?;
            let slot = table.remove(task)?;
            if slot.kind == what {
                return slot.result;
            }
        }
        table.insert(task.clone(), JobSlot { kind: what, result: None, asked: true });
        drop(table);
        self.spawn(task.clone(), Arc::clone(bell), work);
        None
    }

    fn spawn(
        &self,
        task: TaskId,
        bell: Arc<Mutex<JobCallback>>,
        work: impl FnOnce() -> JobResult + Send + 'static,
    ) {
        let table = Arc::clone(&self.table);
        let of = task.clone();
        let run = move || {
            let product = work();
            if let Some(slot) = lock(&table).get_mut(&task) {
                slot.result = Some(product);
            }
            lock(&bell)();
        };
        let started = std::thread::Builder::new().name("work".to_owned()).spawn(run);
        match started {
            Ok(thread) => {
                let mut threads = lock(&self.threads);
                threads.retain(|thread| !thread.is_finished());
                threads.push(thread);
            }
            // No thread could be started. The next request starts the job again.
            Err(_) => drop(lock(&self.table).remove(&of)),
        }
    }

    /// Delays the next try of a job for a while.
    pub(super) fn delay(&self, task: &TaskId, what: JobKind) {
        lock(&self.delayed).insert(task.clone(), (what, Instant::now() + PAUSE));
    }

    /// Delays the next try of a job for 24 hours.
    pub(super) fn delay_for_a_day(&self, task: &TaskId, what: JobKind) {
        let far = Instant::now() + Duration::from_hours(24);
        lock(&self.delayed).insert(task.clone(), (what, far));
    }

    fn is_delayed(&self, task: &TaskId, what: JobKind) -> bool {
        let later = lock(&self.delayed);
        later.get(task).is_some_and(|(of, until)| *of == what && Instant::now() < *until)
    }

    /// Returns whether a merge is delayed.
    pub(super) fn has_delayed_merge(&self) -> bool {
        let mut later = lock(&self.delayed);
        later.retain(|_, (_, until)| Instant::now() < *until + PAUSE);
        later.values().any(|(what, _)| *what == JobKind::Merge)
    }

    /// Drops results that nothing has asked for since the last sweep.
    pub(super) fn drop_unclaimed_results(&self) {
        let mut table = lock(&self.table);
        table.retain(|_, slot| slot.asked || slot.result.is_none());
        table.values_mut().for_each(|slot| slot.asked = false);
    }

    /// Returns whether any job is running or has an unfetched result.
    pub(super) fn is_busy(&self) -> bool {
        !lock(&self.table).is_empty()
    }
}

impl Drop for JobRunner {
    /// Ends running jobs first, so that no command outlives this process.
    fn drop(&mut self) {
        self.halt.store(true, Ordering::SeqCst);
        for thread in lock(&self.threads).drain(..) {
            // A job that panicked has no result.
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
