//! A clock that a test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use adjutant_model::Time;
use adjutant_process::clock::Clock;

/// A clock that a test sets. Clones share the same time.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
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

    pub fn advance_ms(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time::from_millis(self.0.load(Ordering::SeqCst))
    }
}
