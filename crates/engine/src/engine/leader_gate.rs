//! Whether the engine of a fleet node may decide.

use std::sync::Arc;
use std::time::Duration;

use adjutant_store::monotonic_now;
use parking_lot::Mutex;

/// How long a node with a full disk leaves leadership to other nodes.
const WRITE_FAILURE_PAUSE: Duration = Duration::from_secs(15);

/// Whether this node may decide, measured by the monotonic clock.
#[derive(Debug, Clone, Default)]
pub struct LeaderGate(Arc<Mutex<GateTimes>>);

#[derive(Debug, Default)]
struct GateTimes {
    open_until: Option<Duration>,
    blocked_until: Option<Duration>,
}

impl LeaderGate {
    /// Allows decisions until this time.
    pub fn open_until(&self, until: Duration) {
        self.0.lock().open_until = Some(until);
    }

    /// Forbids decisions until it is opened again.
    pub fn close(&self) {
        self.0.lock().open_until = None;
    }

    /// Returns whether decisions are allowed.
    pub fn is_open(&self) -> bool {
        self.0.lock().open_until.is_some_and(|until| monotonic_now() < until)
    }

    /// Forbids decisions for a while: this node cannot write, and other nodes may be able to.
    pub fn block_for_write_failure(&self) {
        *self.0.lock() = GateTimes {
            open_until: None,
            blocked_until: Some(monotonic_now() + WRITE_FAILURE_PAUSE),
        };
    }

    /// Returns whether leadership should be left to nodes that can write.
    pub fn is_blocked(&self) -> bool {
        self.0.lock().blocked_until.is_some_and(|until| monotonic_now() < until)
    }
}
