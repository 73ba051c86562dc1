//! The engine of a simulated program, which may be killed before and after everything it is asked.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use adjutant_core::run::Life;
use adjutant_core::{TaskId, World};
use adjutant_runtime::crew;
use adjutant_runtime::{Answered, Engine, Request, Ticked, Unanswered};
use adjutant_store::{EffectId, Owed, Store, StoreError};

use super::disk::Disk;
use super::machine::Machine;
use super::plug::{Out, Plug};

/// More ticks than this in one go can only be a circle.
const TICKS_MAX: u32 = 500;

/// The engine of one program. Clones are the same.
#[derive(Clone)]
pub(super) struct Desk(Rc<Inner>);

struct Inner {
    engine: RefCell<Engine<Disk>>,
    plug: Plug,
    machine: Rc<RefCell<Machine>>,
    /// What was answered since somebody last asked for it.
    answered: RefCell<Vec<(Option<Request>, Answered)>>,
    ticks: Cell<u32>,
}

impl From<Out> for Unanswered {
    fn from(_: Out) -> Self {
        Self::Stopped
    }
}

impl Desk {
    pub(super) fn new(engine: Engine<Disk>, plug: Plug, machine: Rc<RefCell<Machine>>) -> Self {
        let (engine, answered, ticks) = (RefCell::new(engine), RefCell::default(), Cell::new(0));
        Self(Rc::new(Inner { engine, plug, machine, answered, ticks }))
    }

    /// Returns what was answered since the last time.
    pub(super) fn take_answered(&self) -> Vec<(Option<Request>, Answered)> {
        self.0.ticks.set(0);
        std::mem::take(&mut *self.0.answered.borrow_mut())
    }

    /// Shows the world it has, unless that may be ahead of what is committed.
    pub(super) fn show(&self, look: impl FnOnce(&World)) {
        let mut engine = self.0.engine.borrow_mut();
        let ahead = self.0.plug.is_out() || engine.store().is_ahead();
        if !ahead {
            look(engine.world());
        }
    }

    /// Says whether its program is dead.
    pub(super) fn is_out(&self) -> bool {
        self.0.plug.is_out()
    }

    fn work<T>(
        &self,
        work: impl FnOnce(&mut Engine<Disk>) -> Result<T, StoreError>,
    ) -> Result<T, Unanswered> {
        self.0.plug.point()?;
        let done = work(&mut self.0.engine.borrow_mut());
        let done = done.map_err(|error| Unanswered::Store(Arc::new(error)))?;
        self.0.plug.point()?;
        Ok(done)
    }

    /// Takes note that what runs said was heard.
    fn heard(&self, requests: &[Request]) {
        let mut machine = self.0.machine.borrow_mut();
        for request in requests {
            let Request::Line { task, fence, text, .. } = request else { continue };
            if let Some(process) = machine.processes.get_mut(&(task.clone(), *fence)) {
                let place = process.outbox.iter().position(|line| line == text);
                process.answered = process.answered.max(place.map_or(0, |place| place + 1));
            }
        }
    }

    fn note(&self, request: Option<Request>, answered: &Answered) {
        self.0.answered.borrow_mut().push((request, answered.clone()));
    }
}

impl crew::Desk for Desk {
    fn view<T: Send + 'static>(
        &self,
        look: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        self.work(|engine| engine.committed().map(look))
    }

    fn ask(&self, requests: Vec<Request>) -> Result<Vec<Answered>, Unanswered> {
        self.0.engine.borrow_mut().store().has_kept();
        let answered = self.work(|engine| engine.submit(&requests));
        // What was committed was heard, also where nobody was told.
        if self.0.engine.borrow_mut().store().has_kept() || answered.is_ok() {
            self.heard(&requests);
        }
        let answered = answered?;
        for (request, answered) in requests.into_iter().zip(&answered) {
            self.note(Some(request), answered);
        }
        Ok(answered)
    }

    fn tick(&self, lives: BTreeMap<TaskId, Life>) -> Result<Ticked, Unanswered> {
        self.0.ticks.set(self.0.ticks.get() + 1);
        if self.0.ticks.get() > TICKS_MAX {
            let wrong = "the daemon ticks in a circle".to_owned();
            self.0.machine.borrow_mut().wrong.push(wrong);
            self.0.plug.pull();
        }
        let ticked = self.work(|engine| engine.tick(&lives))?;
        self.note(None, &ticked.answered);
        Ok(ticked)
    }

    fn owed(&self) -> Result<Vec<Owed>, Unanswered> {
        self.work(|engine| {
            engine.committed()?;
            Ok(engine.store().owed())
        })
    }

    fn settle(&self, done: Vec<EffectId>) -> Result<(), Unanswered> {
        // As the service does it: nobody is told if it fails.
        self.work(|engine| {
            let _ = engine.settle(&done);
            Ok(())
        })
    }
}
