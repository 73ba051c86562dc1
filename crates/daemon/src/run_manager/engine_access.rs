//! The engine, as the run manager uses it.

use std::collections::BTreeMap;

use adjutant_core::World;
use adjutant_engine::engine::{EngineAnswer, EngineRequest};
use adjutant_engine::service::{EngineError, EngineHandle};
use adjutant_engine::tick::TickOutcome;
use adjutant_model::TaskId;
use adjutant_model::run::RunLiveness;
use adjutant_store::{EffectId, PendingEffect};

/// The engine, as the run manager uses it. Every answer is durable when it is returned.
pub trait EngineAccess {
    /// Calls `look` with the current world.
    fn view<T: Send + 'static>(
        &self,
        look: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Result<T, EngineError>;

    /// Sends requests that may change the world. All of them are committed or none.
    fn ask(&self, requests: Vec<EngineRequest>) -> Result<Vec<EngineAnswer>, EngineError>;

    /// Does one tick. A run that is not in `lives` is judged by its heartbeat alone.
    fn tick(&self, lives: BTreeMap<TaskId, RunLiveness>) -> Result<TickOutcome, EngineError>;

    /// Returns the pending effects.
    fn pending_effects(&self) -> Result<Vec<PendingEffect>, EngineError>;

    /// Records that effects were performed. If this is lost, performing them again has no effect.
    fn settle(&self, done: Vec<EffectId>) -> Result<(), EngineError>;
}

impl EngineAccess for EngineHandle {
    fn view<T: Send + 'static>(
        &self,
        look: impl FnOnce(&World) -> T + Send + 'static,
    ) -> Result<T, EngineError> {
        self.view(look)
    }

    fn ask(&self, requests: Vec<EngineRequest>) -> Result<Vec<EngineAnswer>, EngineError> {
        self.ask_all(requests)
    }

    fn tick(&self, lives: BTreeMap<TaskId, RunLiveness>) -> Result<TickOutcome, EngineError> {
        self.tick(lives)
    }

    fn pending_effects(&self) -> Result<Vec<PendingEffect>, EngineError> {
        self.pending_effects()
    }

    fn settle(&self, done: Vec<EffectId>) -> Result<(), EngineError> {
        self.settle(done)
    }
}
