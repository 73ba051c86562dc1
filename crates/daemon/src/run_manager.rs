//! The runs of this machine: starts and stops them and handles their events, as
//! pending effects require.
//!
//! This module owns the order of operations and makes no decisions. [`RunBackend`] knows agents and
//! processes; the engine behind [`EngineAccess`] knows what an event means. A simulation can
//! replace both and leave this code unchanged.

mod engine_access;
mod run_backend;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use adjutant_core::World;
use adjutant_core::schedule::{is_awaiting_check, remaining_run_budget, tasks_to_inspect};
use adjutant_model::effect::StopReason;
use adjutant_model::request::MessageOrigin;
use adjutant_model::run::{RunExit, RunLiveness};
use adjutant_model::usage::{AgentTelemetry, AgentTrouble};
use adjutant_model::work::MergeResult;
use adjutant_model::{Effect, Task, TaskId};
use adjutant_store::{EffectId, PendingEffect, StoreError};

pub use engine_access::EngineAccess;
pub use run_backend::{CheckedWork, RunBackend, RunStartFailure, RunStartInput};

use adjutant_engine::engine::{EngineRequest, Request};
use adjutant_engine::fleet::GrantedRuns;
use adjutant_engine::service::EngineError;
use adjutant_engine::tick::TickOutcome;
use adjutant_git::worktree::SavedWork;
use adjutant_run_files::attempt_files::is_disk_full;
use adjutant_runs::supervisor::{self, RunEvent, RunEventKind, RunMessage, RunRef, StopMode};

pub struct RunManager<D, H> {
    engine: D,
    backend: H,
    /// The runs that were started or adopted here and whose exit was not committed yet.
    active: BTreeMap<(TaskId, u64), RunRef>,
    /// The runs that wait for their workspace.
    preparing: BTreeSet<(TaskId, u64)>,
    /// When each run was first seen here.
    since: BTreeMap<(TaskId, u64), Instant>,
    /// The runs whose exit was committed since the last [`RunManager::take_ended`].
    ended: Vec<RunRef>,
}

/// Whether to assign work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignMode {
    /// Assign as much as there are free slots.
    Assign,
    /// Assign nothing; supervise the current runs until they have ended.
    Drain,
}

impl<D: EngineAccess, H: RunBackend> RunManager<D, H> {
    /// Starts without runs. Call [`RunManager::adopt_all`] before anything else.
    pub fn new(engine: D, backend: H) -> Self {
        let (active, preparing, since) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Self { engine, backend, active, preparing, since, ended: vec![] }
    }

    pub fn backend_mut(&mut self) -> &mut H {
        &mut self.backend
    }

    pub fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// Returns whether a merge waits for a person and is retried periodically.
    pub fn is_waiting(&self) -> bool {
        self.backend.has_waiting_merge()
    }

    /// Returns whether a job is running or a run waits for its workspace.
    pub fn is_busy(&self) -> bool {
        self.backend.is_busy() || !self.preparing.is_empty()
    }

    /// Adopts every run that an earlier daemon left, alive or not. The events of a run that ended
    /// in the meantime arrive now.
    pub fn adopt_all(&mut self) -> Result<(), EngineError> {
        self.confirm_committed_messages()?;
        self.end_strays()?;
        let known = self.engine.view(known_runs)?;
        for run in known.into_iter().chain(self.backend.find_runs()) {
            self.adopt(run);
        }
        Ok(())
    }

    /// Kills leftover processes of runs that still have to start. An earlier daemon may have
    /// started such a run before it could record the start; if its folder is gone, only its
    /// processes show it.
    fn end_strays(&self) -> Result<(), EngineError> {
        for pending in self.engine.pending_effects()? {
            if let Effect::StartRun { task, agent, attempt, fence, nonce } = pending.effect {
                let run = RunRef { task, attempt, fence, nonce, agent };
                if matches!(self.backend.local_state(&run), Ok(supervisor::LocalRunState::Unknown))
                {
                    self.backend.end_strays(&run.task);
                }
            }
        }
        Ok(())
    }

    /// Confirms messages that an earlier daemon committed and did not confirm, before any outbox
    /// is read again.
    fn confirm_committed_messages(&self) -> Result<(), EngineError> {
        for pending in self.engine.pending_effects()? {
            if let Effect::NoteTaken { task, attempt, seq } = pending.effect {
                // The effect stays pending until it is settled with the others.
                let _ = self.backend.confirm_messages(&task, attempt, seq);
            }
        }
        Ok(())
    }

    /// Follows a run if it was started here. Does nothing for a run that is already
    /// followed: it may have ended with events still in the queue, and following it again
    /// would deliver those twice.
    fn adopt(&mut self, run: RunRef) {
        let key = (run.task.clone(), run.fence);
        if self.active.contains_key(&key) {
            return;
        }
        if matches!(self.backend.adopt(&run), Ok(true)) {
            self.since.entry(key.clone()).or_insert_with(Instant::now);
            self.active.insert(key, run);
        }
    }

    /// Returns how many of the runs here have ended with their exit event still to come.
    fn count_ended(&self) -> usize {
        let over = |run: &&RunRef| {
            !matches!(self.backend.local_state(run), Ok(supervisor::LocalRunState::Alive))
        };
        self.active.values().filter(over).count()
    }

    /// Does everything that can be done now.
    pub fn do_due_work(&mut self, give: AssignMode) -> Result<(), EngineError> {
        self.perform_pending_effects()?;
        match give {
            // A tick adds pending effects. A start that fails at once frees its slot,
            // so tick again.
            AssignMode::Assign => {
                while !self.tick()?.actions.is_empty() {
                    self.perform_pending_effects()?;
                }
                Ok(())
            }
            AssignMode::Drain => self.renew_leases(),
        }
    }

    /// Does one scheduler run: handles ended runs, assigns work and starts it. `next` waits for the
    /// next run event and returns `None` if there will be no more. `between` is called after the
    /// ended runs were handled.
    pub fn run_single_tick(
        &mut self,
        next: impl FnMut() -> Option<RunEvent>,
        between: impl FnOnce(),
    ) -> Result<TickOutcome, EngineError> {
        self.adopt_all()?;
        self.commit_ended_runs(next)?;
        between();
        self.perform_pending_effects()?;
        let ticked = self.tick()?;
        self.perform_pending_effects()?;
        Ok(ticked)
    }

    /// Handles all events of the runs that have ended. Leaves living runs to the daemon.
    fn commit_ended_runs(
        &mut self,
        mut next: impl FnMut() -> Option<RunEvent>,
    ) -> Result<(), EngineError> {
        let mut ended = self.count_ended();
        while ended > 0 {
            let Some(event) = next() else { return Ok(()) };
            ended -= usize::from(matches!(event.kind, RunEventKind::Exited { .. }));
            self.commit_events(&[event])?;
        }
        Ok(())
    }

    /// Performs the pending effects. Those that the disk has no room for stay pending.
    fn perform_pending_effects(&mut self) -> Result<(), EngineError> {
        let (mut done, mut stuck) = (Vec::new(), Ok(()));
        self.preparing.clear();
        // Consecutive starts run in parallel. Effects before and after them keep their order, so
        // that a run is never stopped before it was started.
        let both_start = |one: &PendingEffect, next: &PendingEffect| {
            run_to_start(one).is_some() && run_to_start(next).is_some()
        };
        for some in self.engine.pending_effects()?.chunk_by(both_start) {
            stuck = self.perform_effects(some, &mut done);
            if stuck.is_err() {
                break;
            }
        }
        if !done.is_empty() {
            self.engine.settle(done)?;
        }
        stuck?;
        self.remove_closed_worktrees()?;
        self.backend.drop_unclaimed_results();
        Ok(())
    }

    /// Performs the pending checks and merges only.
    pub fn perform_checks_and_merges(&mut self) -> Result<(), EngineError> {
        let mut done = Vec::new();
        for pending in self.engine.pending_effects()? {
            let is_work =
                matches!(pending.effect, Effect::CheckWork { .. } | Effect::MergeWork { .. });
            if is_work && self.perform_effect(&pending.effect)? {
                done.push(pending.id);
            }
        }
        if done.is_empty() { Ok(()) } else { self.engine.settle(done) }
    }

    /// Removes the worktrees of closed tasks.
    fn remove_closed_worktrees(&self) -> Result<(), EngineError> {
        let trees = self.backend.worktree_tasks();
        if trees.is_empty() {
            return Ok(());
        }
        let over = self.engine.view(move |world| {
            let tasks = trees.iter().filter_map(|id| world.task(id));
            let over =
                tasks.filter(|task| task.status().is_closed() && task.history.open.is_none());
            over.cloned().collect::<Vec<Task>>()
        })?;
        for task in over {
            if let Some(saved) = self.backend.remove_worktree(&task) {
                self.engine.ask(vec![work_saved_request(&task.id, saved)])?;
            }
        }
        Ok(())
    }

    /// Checks the work of a run and reports the evidence. Returns whether the effect is done.
    fn check_work(&self, id: &TaskId, fence: u64) -> Result<bool, EngineError> {
        let claimed = |task: &Task| task.history.claim().is_some_and(|claim| claim.fence == fence);
        let Some(task) = self.task(id)?.filter(claimed) else { return Ok(true) };
        let Some(CheckedWork { evidence, saved }) = self.backend.check_work(&task) else {
            return Ok(false);
        };
        let mut requests: Vec<EngineRequest> =
            saved.map(|saved| work_saved_request(id, saved)).into_iter().collect();
        let (task, evidence) = (id.clone(), Box::new(evidence));
        requests.push(Request::WorkChecked { task, fence, evidence }.into());
        self.engine.ask(requests).map(|_| true)
    }

    /// Merges approved work and reports the result. Returns whether the effect is done.
    fn merge(&self, id: &TaskId) -> Result<bool, EngineError> {
        let wanted = |task: &Task| task.history.merging().is_some();
        let Some(task) = self.task(id)?.filter(wanted) else { return Ok(true) };
        let Some(merged) = self.backend.merge(&task) else { return Ok(false) };
        let waits = matches!(merged, MergeResult::Waits { .. });
        let merged = Box::new(merged);
        self.engine.ask(vec![Request::WorkMerged { task: id.clone(), merged }.into()])?;
        Ok(!waits)
    }

    fn task(&self, id: &TaskId) -> Result<Option<Task>, EngineError> {
        let id = id.clone();
        self.engine.view(move |world| world.task(&id).cloned())
    }

    /// Performs some pending effects, and adds those that are done to `done`.
    fn perform_effects(
        &mut self,
        some: &[PendingEffect],
        done: &mut Vec<EffectId>,
    ) -> Result<(), EngineError> {
        let (left, waiting) = self.start_all(some.iter().filter_map(run_to_start).collect())?;
        for one in some {
            let is_done = match run_to_start(one) {
                Some(run) => !left.contains(&run) && !waiting.contains(&run),
                None => self.perform_effect(&one.effect)?,
            };
            if is_done {
                done.push(one.id);
            }
        }
        left.first().map_or(Ok(()), |run| Err(disk_full_error(&run.task)))
    }

    /// Performs one effect other than a start, which was performed before. Returns whether
    /// it is done.
    fn perform_effect(&mut self, effect: &Effect) -> Result<bool, EngineError> {
        match effect {
            Effect::StartRun { .. } => Ok(true),
            // The notifier performs it.
            Effect::Notify { .. } => Ok(false),
            Effect::CheckWork { task, fence, .. } => self.check_work(task, *fence),
            Effect::MergeWork { task, .. } => self.merge(task),
            Effect::StopRun { task, fence, reason } => self.stop(task, *fence, *reason),
            Effect::TellRun { task, attempt, number, choice } => {
                let written =
                    self.backend.answer_question(task, *attempt, *number, choice.as_deref());
                // A run whose folder is gone has ended and waits for no answer.
                Ok(!written.is_err_and(|error| error.kind() != io::ErrorKind::NotFound))
            }
            Effect::NoteTaken { task, attempt, seq } => {
                let noted = self.backend.confirm_messages(task, *attempt, *seq);
                // A failed confirmation stays pending, unless the folder of the run was removed.
                Ok(!noted.is_err_and(|error| error.kind() != io::ErrorKind::NotFound))
            }
        }
    }

    /// Starts the assigned runs that still hold their lease, in parallel. Returns those that the
    /// disk has no room for, and those that wait for their workspace.
    ///
    /// Every start was tried when this returns; only then may the effects be settled. If this
    /// process dies earlier, the next daemon finds the runs or starts them.
    fn start_all(&mut self, runs: Vec<RunRef>) -> Result<(Vec<RunRef>, Vec<RunRef>), EngineError> {
        let wanted = self.start_inputs(runs)?;
        let tried = self.backend.start_all(&wanted);
        let (mut failed, mut left, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
        let sound = AgentTelemetry::default;
        for (RunStartInput { run, .. }, started) in wanted.into_iter().zip(tried) {
            match started {
                Ok(()) => {
                    self.preparing.remove(&(run.task.clone(), run.fence));
                    self.adopt(run);
                }
                Err(RunStartFailure::NoRoom) => left.push(run),
                Err(RunStartFailure::NotYet) => waiting.push(run),
                Err(RunStartFailure::Failed(why)) => {
                    failed.push((run, RunExit::NotStarted(why), sound()));
                }
                Err(RunStartFailure::AgentUnusable(why)) => {
                    let trouble = Some(AgentTrouble::Unusable { reason: why.clone() });
                    let telemetry = AgentTelemetry { trouble, ..sound() };
                    failed.push((run, RunExit::NotStarted(why), telemetry));
                }
                Err(RunStartFailure::NoWorkspace(why)) => {
                    failed.push((run, RunExit::NoWorkspace(why), sound()));
                }
            }
        }
        self.preparing.extend(waiting.iter().map(|run| (run.task.clone(), run.fence)));
        let mut failed = failed.into_iter();
        failed.try_for_each(|(run, exit, telemetry)| {
            self.report_not_started(&run, exit, telemetry)
        })?;
        Ok((left, waiting))
    }

    /// Returns the runs that still hold their lease, each with the input for its start.
    fn start_inputs(&self, runs: Vec<RunRef>) -> Result<Vec<RunStartInput>, EngineError> {
        if runs.is_empty() {
            return Ok(vec![]);
        }
        self.engine.view(move |world| {
            let wanted = |run: RunRef| {
                let task = world.task(&run.task)?;
                let lease = task.lease().filter(|lease| lease.fence == run.fence)?;
                let parent = task.parent.as_ref().and_then(|parent| world.task(parent)).cloned();
                let budget = remaining_run_budget(world, task, &run.agent, lease.acquired_at);
                Some(RunStartInput { run, task: task.clone(), parent, budget })
            };
            runs.into_iter().filter_map(wanted).collect()
        })
    }

    fn report_not_started(
        &mut self,
        run: &RunRef,
        exit: RunExit,
        telemetry: AgentTelemetry,
    ) -> Result<(), EngineError> {
        // If part of the run has started nevertheless, it ends before the exit is reported.
        retry_if_disk_full(run, self.backend.stop(run, &exit.in_words(), StopMode::Immediately))?;
        self.report_exit(run, exit, telemetry)
    }

    /// Stops a run. Returns whether it knows; a shim that does not answer is replaced meanwhile.
    fn stop(&mut self, task: &TaskId, fence: u64, reason: StopReason) -> Result<bool, EngineError> {
        let leave = if reason == StopReason::Reported {
            StopMode::AfterGrace
        } else {
            StopMode::Immediately
        };
        let Some(run) = self.find(task, fence) else { return Ok(true) };
        // The thread that follows the run ends it if its shim does not answer.
        self.adopt(run.clone());
        let stopped = self.backend.stop(&run, reason.as_str(), leave);
        let is_silent =
            stopped.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut);
        retry_if_disk_full(&run, stopped)?;
        self.adopt(run);
        Ok(!is_silent)
    }

    /// Finds a run by its fence: among the runs here, then among all unfinished runs of the task.
    fn find(&self, task: &TaskId, fence: u64) -> Option<RunRef> {
        let here = self.active.get(&(task.clone(), fence)).cloned();
        here.or_else(|| {
            self.backend.find_runs_of_task(task).into_iter().find(|run| run.fence == fence)
        })
    }

    /// Stops every run. A run that cannot be stopped now does not prevent the others from stopping.
    pub fn stop_all(&mut self) -> Result<(), EngineError> {
        let runs: Vec<&RunRef> = self.active.values().collect();
        let stopped = self.backend.stop_all(&runs, "the daemon was stopped");
        let each = runs.iter().zip(stopped).map(|(run, stopped)| retry_if_disk_full(run, stopped));
        each.fold(Ok(()), Result::and)
    }

    fn tick(&mut self) -> Result<TickOutcome, EngineError> {
        let runs = self.engine.view(known_runs)?;
        for run in &runs {
            // A run that another process started or ended meanwhile, such as `adjutant tick`.
            if !self.active.contains_key(&(run.task.clone(), run.fence)) {
                self.adopt(run.clone());
            }
        }
        let is_here = |run: &RunRef| {
            let key = (run.task.clone(), run.fence);
            self.active.contains_key(&key) || self.preparing.contains(&key)
        };
        // A run here counts as alive until its exit is committed: its messages must come first.
        let life =
            |run: &RunRef| if is_here(run) { RunLiveness::Alive } else { RunLiveness::NotOurs };
        let lives = runs.iter().map(|run| (run.task.clone(), life(run))).collect();
        self.engine.tick(lives)
    }

    /// Renews the leases of the runs here.
    fn renew_leases(&self) -> Result<(), EngineError> {
        let beat = |run: &RunRef| Request::Beat { task: run.task.clone(), fence: run.fence };
        let beats: Vec<EngineRequest> = self.active.values().map(beat).map(Into::into).collect();
        if beats.is_empty() { Ok(()) } else { self.engine.ask(beats).map(drop) }
    }

    /// Commits run events, all of them or none.
    pub fn commit_events(&mut self, events: &[RunEvent]) -> Result<(), EngineError> {
        if events.is_empty() {
            return Ok(());
        }
        self.engine.ask(events.iter().map(event_request).collect())?;
        // Confirming a message is also a pending effect, but of the node that has the task now.
        for event in events {
            if let RunEventKind::Message { seq, .. } = event.kind {
                let _ = self.backend.confirm_messages(&event.run.task, event.run.attempt, seq);
            }
        }
        let is_over = |event: &&RunEvent| matches!(event.kind, RunEventKind::Exited { .. });
        for event in events.iter().filter(is_over) {
            self.forget(&event.run);
        }
        Ok(())
    }

    fn report_exit(
        &mut self,
        run: &RunRef,
        exit: RunExit,
        telemetry: AgentTelemetry,
    ) -> Result<(), EngineError> {
        let (task, fence, tail) = (run.task.clone(), run.fence, String::new());
        let exited = Request::RunExited { task, fence, exit, tail, telemetry: Box::new(telemetry) };
        self.engine.ask(vec![exited.into()])?;
        self.forget(run);
        Ok(())
    }

    /// Forgets a run whose exit was committed.
    fn forget(&mut self, run: &RunRef) {
        let key = (run.task.clone(), run.fence);
        self.ended.extend(self.active.remove(&key));
        self.preparing.remove(&key);
        self.since.remove(&key);
    }

    /// Returns the runs whose exit was committed since the last call.
    pub fn take_ended(&mut self) -> Vec<RunRef> {
        std::mem::take(&mut self.ended)
    }

    /// Extends the leases of this node's granted runs, and stops runs that are no longer its own:
    /// their tasks went to other nodes while this node was cut off.
    pub fn apply_fleet_grant(&mut self, own: &BTreeSet<(TaskId, u64)>, granted: &GrantedRuns) {
        for (key, run) in &self.active {
            if !own.contains(key) {
                // If the shim cannot be reached, it ends the run itself when the lease expires.
                let _ =
                    self.backend.stop(run, StopReason::LeaseLost.as_str(), StopMode::Immediately);
            } else if granted.runs.contains(key) {
                self.backend.extend_lease(run, granted.until);
            }
        }
    }

    /// Returns the runs here, each with the time it was first seen.
    pub fn active_runs(&self) -> impl Iterator<Item = (&RunRef, Instant)> {
        self.active
            .iter()
            .map(|(key, run)| (run, self.since.get(key).copied()))
            .map(|(run, since)| (run, since.unwrap_or_else(Instant::now)))
    }
}

/// Returns the request that reports saved uncommitted work.
pub(crate) fn work_saved_request(task: &TaskId, saved: SavedWork) -> EngineRequest {
    let SavedWork { reference, commit, .. } = saved;
    Request::WorkSaved { task: task.clone(), reference, commit }.into()
}

/// Returns an error only for a full disk, so that the stop is retried. A shim that cannot be
/// reached is gone; the follower of the run notices that and ends what the shim left.
fn retry_if_disk_full(run: &RunRef, stopped: io::Result<()>) -> Result<(), EngineError> {
    match stopped {
        Err(error) if is_disk_full(&error) => Err(disk_full_error(&run.task)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns the error for a full disk in the folder of a task's runs.
fn disk_full_error(task: &TaskId) -> EngineError {
    let (path, source) = (Path::new("runs").join(task.as_str()), io::ErrorKind::StorageFull.into());
    EngineError::Store(Arc::new(StoreError::Full { path, source }))
}

/// Returns the engine request for a run event.
fn event_request(event: &RunEvent) -> EngineRequest {
    let RunRef { task, attempt, fence, nonce, .. } = event.run.clone();
    let request = match &event.kind {
        RunEventKind::Message { seq, message } => {
            let RunMessage { text, kind, flaw, needs_token, from_socket, refused } = message;
            let origin = MessageOrigin::RunOutput {
                task,
                attempt,
                fence,
                nonce,
                seq: *seq,
                kind: *kind,
                flaw: flaw.clone(),
                needs_token: *needs_token,
                from_socket: *from_socket,
                refused: refused.clone(),
            };
            Request::Message { origin, text: text.clone().into_bytes() }
        }
        RunEventKind::Exited { exit, tail, telemetry } => {
            let (exit, tail, telemetry) = (exit.into(), tail.clone(), telemetry.clone());
            Request::RunExited { task, fence, exit, tail, telemetry }
        }
    };
    request.into()
}

/// Returns the run that an effect starts, if it starts one.
fn run_to_start(pending: &PendingEffect) -> Option<RunRef> {
    match &pending.effect {
        Effect::StartRun { task, agent, attempt, fence, nonce } => {
            let (task, agent) = (task.clone(), agent.clone());
            Some(RunRef { task, attempt: *attempt, fence: *fence, nonce: *nonce, agent })
        }
        Effect::StopRun { .. }
        | Effect::NoteTaken { .. }
        | Effect::TellRun { .. }
        | Effect::CheckWork { .. }
        | Effect::MergeWork { .. }
        | Effect::Notify { .. } => None,
    }
}

/// Returns the runs that the world knows: those with a lease, and those whose exit was not seen.
pub(crate) fn known_runs(world: &World) -> Vec<RunRef> {
    let run = |id: TaskId| {
        let task = world.task(&id)?;
        if is_awaiting_check(task) {
            return None;
        }
        let leased = task.lease().map(adjutant_model::run::RunRef::from);
        let run = leased.or_else(|| task.history.open.clone())?;
        let adjutant_model::run::RunRef { agent, attempt, fence, nonce } = run;
        Some(RunRef { task: id, attempt, fence, nonce, agent })
    };
    tasks_to_inspect(world).into_iter().filter_map(run).collect()
}
