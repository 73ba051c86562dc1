//! Whether a simulated program still runs. Once the plug is pulled, nothing it calls does anything.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::dice::Dice;

/// The plug of one program. Clones are the same plug.
#[derive(Clone)]
pub(super) struct Plug(Rc<Inner>);

struct Inner {
    out: Cell<bool>,
    dice: RefCell<Dice>,
    /// Once in how many calls it is pulled; 0 for never.
    odds: Cell<usize>,
}

/// The program is dead.
pub(super) struct Out;

impl Plug {
    pub(super) fn new(dice: Dice, odds: usize) -> Self {
        let (out, dice, odds) = (Cell::new(false), RefCell::new(dice), Cell::new(odds));
        Self(Rc::new(Inner { out, dice, odds }))
    }

    /// Kills the program where it stands.
    pub(super) fn pull(&self) {
        self.0.out.set(true);
    }

    /// Lets nothing more happen by chance.
    pub(super) fn calm(&self) {
        self.0.odds.set(0);
    }

    /// Says whether the program is dead.
    pub(super) fn is_out(&self) -> bool {
        self.0.out.get()
    }

    /// A place between two calls, where a program may be killed.
    pub(super) fn point(&self) -> Result<(), Out> {
        if !self.is_out() && self.0.dice.borrow_mut().once_in(self.0.odds.get()) {
            self.pull();
        }
        if self.is_out() { Err(Out) } else { Ok(()) }
    }
}
