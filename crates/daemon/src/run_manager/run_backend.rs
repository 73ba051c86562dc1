//! What the run manager can do to runs, independent of how they are executed.

use std::io;
use std::time::Duration;

use adjutant_git::worktree::SavedWork;
use adjutant_model::evidence::WorkEvidence;
use adjutant_model::usage::UsageBudget;
use adjutant_model::work::MergeResult;
use adjutant_model::{Task, TaskId};
use adjutant_runs::supervisor::{LocalRunState, RunRef, StopMode};

/// The input for the start of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunStartInput {
    pub run: RunRef,
    pub task: Task,
    pub parent: Option<Task>,
    /// How much the run may use.
    pub budget: UsageBudget,
}

/// Starts, stops and follows runs. The [`RunEvent`](adjutant_runs::supervisor::RunEvent)s of runs arrive
/// separately, and the caller passes
/// them to [`RunManager::commit_events`](super::RunManager::commit_events).
pub trait RunBackend {
    /// Finds every run that was started and has not ended, no matter which process started it.
    fn find_runs(&self) -> Vec<RunRef>;

    /// Finds every run of a task that was started and has not ended.
    fn find_runs_of_task(&self, task: &TaskId) -> Vec<RunRef> {
        self.find_runs().into_iter().filter(|run| run.task == *task).collect()
    }

    fn local_state(&self, run: &RunRef) -> io::Result<LocalRunState>;

    /// Starts a run, unless it was started before.
    fn start(&self, wanted: &RunStartInput) -> Result<(), RunStartFailure>;

    /// Starts runs, in parallel if possible. Returns one result per run, in the same order.
    fn start_all(&self, runs: &[RunStartInput]) -> Vec<Result<(), RunStartFailure>> {
        runs.iter().map(|wanted| self.start(wanted)).collect()
    }

    /// Stops a run. A run that was not started yet can never start after this.
    fn stop(&self, run: &RunRef, reason: &str, leave: StopMode) -> io::Result<()>;

    /// Stops runs, in parallel if possible. Returns one result per run, in the same order.
    fn stop_all(&self, runs: &[&RunRef], reason: &str) -> Vec<io::Result<()>> {
        runs.iter().map(|run| self.stop(run, reason, StopMode::Immediately)).collect()
    }

    /// Ends processes that work on a task and belong to no known run, because the folder of their
    /// run was removed.
    fn end_strays(&self, task: &TaskId);

    /// Follows a run from now on: unconfirmed messages first, then its exit. Returns whether the
    /// run exists here.
    fn adopt(&self, run: &RunRef) -> io::Result<bool>;

    /// Confirms every message of a run up to `seq`, so that they are not delivered again.
    fn confirm_messages(&self, task: &TaskId, attempt: u32, seq: u64) -> io::Result<()>;

    /// Tells a run the answer to its question: the choice, or `None` for a refusal. Idempotent.
    fn answer_question(
        &self,
        task: &TaskId,
        attempt: u32,
        number: u32,
        choice: Option<&str>,
    ) -> io::Result<()>;

    /// Extends the lease of a run in a fleet.
    fn extend_lease(&self, _run: &RunRef, _until: Duration) {}

    /// Checks the work of a run that has ended; `None` while the check is running. A later call
    /// fetches the result, or starts the check again.
    fn check_work(&self, _task: &Task) -> Option<CheckedWork> {
        let flaw = Some("this backend cannot check work".to_owned());
        let evidence = WorkEvidence { flaw, ..WorkEvidence::default() };
        Some(CheckedWork { evidence, saved: None })
    }

    /// Merges the work on a task; `None` while the merge is running. Idempotent.
    fn merge(&self, _task: &Task) -> Option<MergeResult> {
        Some(MergeResult::Waits { reason: "this backend cannot merge work".to_owned() })
    }

    /// Returns the tasks that have a worktree, which can be removed when they are closed.
    fn worktree_tasks(&self) -> Vec<TaskId> {
        vec![]
    }

    /// Removes the worktree of a closed task. Returns the uncommitted work that was saved
    /// by this call.
    fn remove_worktree(&self, _task: &Task) -> Option<SavedWork> {
        None
    }

    /// Drops results of jobs that nothing asks for any more.
    fn drop_unclaimed_results(&self) {}

    /// Returns whether a merge waits for a person and is retried periodically.
    fn has_waiting_merge(&self) -> bool {
        false
    }

    /// Returns whether a job is running, such as a check or a merge.
    fn is_busy(&self) -> bool {
        false
    }
}

/// The result of checking a run's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedWork {
    pub evidence: WorkEvidence,
    /// Uncommitted work that could not be committed to the branch and was saved.
    pub saved: Option<SavedWork>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunStartFailure {
    /// The disk is full. Nothing was started; a later start may succeed.
    NoRoom,
    /// The workspace is being prepared, or the fleet has not granted the run yet. Start it later.
    NotYet,
    NoWorkspace(String),
    /// The agent cannot be used, which is no fault of the task.
    AgentUnusable(String),
    /// The run itself cannot be started.
    Failed(String),
}

impl From<String> for RunStartFailure {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}
