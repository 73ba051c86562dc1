//! What the daemon's socket refuses goes into the event log, but a flood is summed up.

use std::time::Instant;

use adjutant_core::refusal_tally::RefusalTally;
use adjutant_model::request::RefusedAccess;
use parking_lot::Mutex;

use crate::engine::Request;
use crate::service::{EngineHandle, PendingAnswer};

pub(super) struct RefusalLog {
    engine: EngineHandle,
    began: Instant,
    tally: Mutex<RefusalTally>,
}

impl RefusalLog {
    pub(super) fn new(engine: EngineHandle) -> Self {
        Self { engine, began: Instant::now(), tally: Mutex::default() }
    }

    /// Returns the request to submit for a request that the engine refuses: the request itself, or
    /// the sum of those before it. `None` if it is only counted.
    pub(super) fn bound(&self, refused: RefusedAccess, request: Request) -> Option<Request> {
        let logged = self.record(refused)?;
        Some(if logged.count > 1 { Request::Refused(logged) } else { request })
    }

    /// Logs a request that does not reach the engine.
    pub(super) fn log(&self, refused: RefusedAccess) {
        if let Some(refused) = self.record(refused) {
            // The request is refused even if that cannot be logged.
            let _ = self.engine.submit(Request::Refused(refused));
        }
    }

    /// Logs the sums that were not logged yet.
    pub(super) fn flush(&self) {
        for refused in self.tally.lock().take_all() {
            let _ = self.engine.submit(Request::Refused(refused)).map(PendingAnswer::wait);
        }
    }

    fn record(&self, refused: RefusedAccess) -> Option<RefusedAccess> {
        self.tally.lock().record(refused, self.began.elapsed())
    }
}
