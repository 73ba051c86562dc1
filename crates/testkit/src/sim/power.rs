//! The power switch of a simulated program: once it is off, no call has any effect.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::seeded_rng::SeededRng;

/// The power switch of one program. Clones share it.
#[derive(Clone)]
pub(super) struct PowerSwitch(Rc<PowerState>);

struct PowerState {
    is_off: Cell<bool>,
    rng: RefCell<SeededRng>,
    /// One in this many calls switches it off; 0 for never.
    odds: Cell<usize>,
}

/// The program is dead.
pub(super) struct PowerLost;

impl PowerSwitch {
    pub(super) fn new(rng: SeededRng, odds: usize) -> Self {
        let (out, rng, odds) = (Cell::new(false), RefCell::new(rng), Cell::new(odds));
        Self(Rc::new(PowerState { is_off: out, rng, odds }))
    }

    /// Kills the program at once.
    pub(super) fn switch_off(&self) {
        self.0.is_off.set(true);
    }

    /// Ends random kills.
    pub(super) fn stop_faults(&self) {
        self.0.odds.set(0);
    }

    pub(super) fn is_off(&self) -> bool {
        self.0.is_off.get()
    }

    /// A point between two calls, at which the program may be killed.
    pub(super) fn pass_kill_point(&self) -> Result<(), PowerLost> {
        if !self.is_off() && self.0.rng.borrow_mut().one_in(self.0.odds.get()) {
            self.switch_off();
        }
        if self.is_off() { Err(PowerLost) } else { Ok(()) }
    }
}
