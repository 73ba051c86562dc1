//! The engine of a simulated program, which may be killed before and after every request.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use adjutant_core::World;
use adjutant_daemon::run_manager;
use adjutant_engine::{Engine, EngineAnswer, EngineError, EngineRequest, Request, TickOutcome};
use adjutant_model::TaskId;
use adjutant_model::request::MessageOrigin;
use adjutant_model::run::RunLiveness;
use adjutant_store::{EffectId, PendingEffect, Store, StoreError};

use super::faulty_disk::FaultyDisk;
use super::machine::SimMachine;
use super::power::{PowerLost, PowerSwitch};

/// More ticks than this in one turn mean an endless loop.
const TICKS_MAX: u32 = 500;

/// The engine of one program. Clones share it.
#[derive(Clone)]
pub(super) struct SimEngine(Rc<SimEngineState>);

struct SimEngineState {
    engine: RefCell<Engine<FaultyDisk>>,
    power: PowerSwitch,
    machine: Rc<RefCell<SimMachine>>,
    /// Answers since they were last taken.
    new_answers: RefCell<Vec<(Option<EngineRequest>, EngineAnswer)>>,
    ticks: Cell<u32>,
}

impl From<PowerLost> for EngineError {
    fn from(_: PowerLost) -> Self {
        Self::Stopped
    }
}

impl SimEngine {
    pub(super) fn new(
        engine: Engine<FaultyDisk>,
        power: PowerSwitch,
        machine: Rc<RefCell<SimMachine>>,
    ) -> Self {
        let (engine, answered, ticks) = (RefCell::new(engine), RefCell::default(), Cell::new(0));
        Self(Rc::new(SimEngineState { engine, power, machine, new_answers: answered, ticks }))
    }

    pub(super) fn take_answered(&self) -> Vec<(Option<EngineRequest>, EngineAnswer)> {
        self.0.ticks.set(0);
        std::mem::take(&mut *self.0.new_answers.borrow_mut())
    }

    /// Shows its world, unless that may be ahead of the committed events.
    pub(super) fn with_committed_world(&self, look: impl FnOnce(&World)) {
        let mut engine = self.0.engine.borrow_mut();
        let ahead = self.0.power.is_off() || engine.store().is_ahead();
        if !ahead {
            look(engine.world());
        }
    }

    pub(super) fn is_dead(&self) -> bool {
        self.0.power.is_off()
    }

    fn run_on_engine<T>(
        &self,
        work: impl FnOnce(&mut Engine<FaultyDisk>) -> Result<T, StoreError>,
    ) -> Result<T, EngineError> {
        self.0.power.pass_kill_point()?;
        let done = work(&mut self.0.engine.borrow_mut());
        let done = done.map_err(|error| EngineError::Store(Arc::new(error)))?;
        self.0.power.pass_kill_point()?;
        Ok(done)
    }

    /// Records which lines of runs the engine has answered.
    fn mark_lines_answered(&self, requests: &[EngineRequest]) {
        let mut machine = self.0.machine.borrow_mut();
        for request in requests {
            let Request::Message { origin, text } = &request.request else { continue };
            let MessageOrigin::RunOutput { task, fence, .. } = origin else { continue };
            if let Some(process) = machine.processes.get_mut(&(task.clone(), *fence)) {
                let place = process.outbox.iter().position(|line| line.as_bytes() == text);
                process.answered = process.answered.max(place.map_or(0, |place| place + 1));
            }
        }
    }

    fn record_answer(&self, request: Option<EngineRequest>, answered: &EngineAnswer) {
        self.0.new_answers.borrow_mut().push((request, answered.clone()));
    }
}

impl run_manager::EngineAccess for SimEngine {
    fn view<T: Send + 'static>(
        &self,
        look: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        self.run_on_engine(|engine| engine.committed().map(look))
    }

    fn ask(&self, requests: Vec<EngineRequest>) -> Result<Vec<EngineAnswer>, EngineError> {
        self.0.engine.borrow_mut().store().take_has_committed();
        let answered = self.run_on_engine(|engine| engine.submit(&requests));
        // A committed line was heard, even if its answer was lost.
        if self.0.engine.borrow_mut().store().take_has_committed() || answered.is_ok() {
            self.mark_lines_answered(&requests);
        }
        let answered = answered?;
        for (request, answered) in requests.into_iter().zip(&answered) {
            self.record_answer(Some(request), answered);
        }
        Ok(answered)
    }

    fn tick(&self, lives: BTreeMap<TaskId, RunLiveness>) -> Result<TickOutcome, EngineError> {
        self.0.ticks.set(self.0.ticks.get() + 1);
        if self.0.ticks.get() > TICKS_MAX {
            let wrong = "the daemon ticks in a circle".to_owned();
            self.0.machine.borrow_mut().violations.push(wrong);
            self.0.power.switch_off();
        }
        let ticked = self.run_on_engine(|engine| engine.tick(&lives))?;
        self.record_answer(None, &ticked.answered);
        Ok(ticked)
    }

    fn pending_effects(&self) -> Result<Vec<PendingEffect>, EngineError> {
        self.run_on_engine(|engine| {
            engine.committed()?;
            Ok(engine.store().pending_effects())
        })
    }

    fn settle(&self, done: Vec<EffectId>) -> Result<(), EngineError> {
        // As in the service: a failure is not reported.
        self.run_on_engine(|engine| {
            let _ = engine.settle(&done);
            Ok(())
        })
    }
}
