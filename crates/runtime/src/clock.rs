//! The only place that asks what time it is.

use std::time::{SystemTime, UNIX_EPOCH};

use adjutant_core::Time;

/// Tells the time.
pub trait Clock: Send {
    /// Returns the time now.
    fn now(&self) -> Time;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that stands still, for asking what would be at another time.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub Time);

impl Clock for FixedClock {
    fn now(&self) -> Time {
        self.0
    }
}
