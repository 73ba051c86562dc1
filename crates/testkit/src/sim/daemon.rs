//! A simulated daemon: the real run manager, driven in turns.

use adjutant_daemon::run_manager::{AssignMode, RunManager};
use adjutant_engine::{EngineAnswer, EngineError, EngineRequest};
use adjutant_runs::supervisor::RunEvent;
use adjutant_store::StoreError;

use super::machine::SimRunBackend;
use super::power::PowerSwitch;
use super::sim_engine::SimEngine;
use crate::seeded_rng::SeededRng;

pub(super) struct SimDaemon {
    run_manager: RunManager<SimEngine, SimRunBackend>,
    pub(super) engine: SimEngine,
    backend: SimRunBackend,
    pub(super) power: PowerSwitch,
    /// Run events that could not be committed and are tried again.
    pending: Vec<RunEvent>,
    pub(super) assign_mode: AssignMode,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnResult {
    Done,
    /// A commit failed and is to be tried again soon.
    RetrySoon,
    /// The daemon has exited, or was killed.
    Exited,
}

impl SimDaemon {
    /// Starts, and adopts the runs it finds.
    pub(super) fn start(
        engine: SimEngine,
        reach: SimRunBackend,
        power: PowerSwitch,
    ) -> Option<Self> {
        let mut run_manager = RunManager::new(engine.clone(), reach.clone());
        run_manager.adopt_all().ok()?;
        Some(Self {
            run_manager,
            engine,
            backend: reach,
            power,
            pending: vec![],
            assign_mode: AssignMode::Assign,
        })
    }

    /// Handles at most `hears_max` run events, then does all pending work.
    pub(super) fn turn(&mut self, rng: &mut SeededRng, hears_max: usize) -> TurnResult {
        let more = hears_max.saturating_sub(self.pending.len());
        self.pending.extend(std::iter::from_fn(|| self.backend.next_event(rng)).take(more));
        if let Err(error) = self.run_manager.commit_events(&self.pending) {
            return turn_after_error(&error);
        }
        self.pending.clear();
        match self.run_manager.do_due_work(self.assign_mode) {
            Ok(()) if self.assign_mode == AssignMode::Drain && self.run_manager.is_empty() => {
                TurnResult::Exited
            }
            Ok(()) => TurnResult::Done,
            Err(error) => turn_after_error(&error),
        }
    }

    /// Handles a request over its IPC socket.
    pub(super) fn ask(&self, request: EngineRequest) -> Result<EngineAnswer, EngineError> {
        let mut answers =
            adjutant_daemon::run_manager::EngineAccess::ask(&self.engine, vec![request])?;
        answers.pop().ok_or(EngineError::Stopped)
    }

    /// Tells the daemon to exit: at random after stopping its runs, or once they have ended.
    pub(super) fn start_exit(&mut self, rng: &mut SeededRng) {
        self.assign_mode = AssignMode::Drain;
        if rng.one_in(2) {
            let _ = self.run_manager.stop_all();
        }
    }

    /// Performs one tick, as the command does without a daemon.
    pub(super) fn run_single_tick(engine: SimEngine, reach: &SimRunBackend, rng: &mut SeededRng) {
        let mut run_manager = RunManager::new(engine, reach.clone());
        // A failure is left for the next daemon or command to find.
        let _ = run_manager.run_single_tick(|| reach.next_event(rng), || {});
    }
}

fn turn_after_error(error: &EngineError) -> TurnResult {
    match error {
        EngineError::Store(error) if !matches!(**error, StoreError::Stopped) => {
            TurnResult::RetrySoon
        }
        EngineError::Store(_) | EngineError::Stopped => TurnResult::Exited,
    }
}
