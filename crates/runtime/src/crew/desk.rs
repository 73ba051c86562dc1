//! The engine, as a crew asks it.

use std::collections::BTreeMap;

use adjutant_core::run::Life;
use adjutant_core::{TaskId, World};
use adjutant_store::{EffectId, Owed};

use crate::engine::{Answered, Request};
use crate::service::{Client, Unanswered};
use crate::tick::Ticked;

/// The engine, as a crew asks it: every answer is durable when it is given.
pub trait Desk {
    /// Looks at the world as it is now.
    fn view<T: Send + 'static>(
        &self,
        look: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Result<T, Unanswered>;

    /// Asks for what may change the world: all of it is kept or nothing.
    fn ask(&self, requests: Vec<Request>) -> Result<Vec<Answered>, Unanswered>;

    /// Does one tick. Of a run that is not listed, its heartbeat alone counts.
    fn tick(&self, lives: BTreeMap<TaskId, Life>) -> Result<Ticked, Unanswered>;

    /// Returns the effects that are owed.
    fn owed(&self) -> Result<Vec<Owed>, Unanswered>;

    /// Says that effects have been done. Should this be lost, they are found done the next time.
    fn settle(&self, done: Vec<EffectId>) -> Result<(), Unanswered>;
}

impl Desk for Client {
    fn view<T: Send + 'static>(
        &self,
        look: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        self.view(look)
    }

    fn ask(&self, requests: Vec<Request>) -> Result<Vec<Answered>, Unanswered> {
        self.ask_all(requests)
    }

    fn tick(&self, lives: BTreeMap<TaskId, Life>) -> Result<Ticked, Unanswered> {
        self.tick(lives)
    }

    fn owed(&self) -> Result<Vec<Owed>, Unanswered> {
        self.owed()
    }

    fn settle(&self, done: Vec<EffectId>) -> Result<(), Unanswered> {
        self.settle(done)
    }
}
