//! A clock that stands where it is set.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use adjutant_core::Time;
use adjutant_runtime::Clock;

/// A clock that a test sets. Clones show the same time.
#[derive(Debug, Clone)]
pub struct SetClock(Arc<AtomicI64>);

impl SetClock {
    /// Starts at a time.
    pub fn at(text: &str) -> Self {
        let clock = Self(Arc::default());
        clock.set(text);
        clock
    }

    /// Sets the time, forwards or backwards.
    pub fn set(&self, text: &str) {
        let time = Time::parse(text).expect("a test gives a good time");
        self.0.store(time.as_millis(), Ordering::SeqCst);
    }

    /// Moves the time.
    pub fn advance_ms(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Time {
        Time::from_millis(self.0.load(Ordering::SeqCst))
    }
}
