//! How often who may call: a bucket that fills up again with time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most connections at once.
pub(super) const CONNECTIONS_MAX: usize = 1024;
/// The most who follow the record or a log at once.
const STREAMS_MAX: usize = 512;
/// The most a run may follow at once.
const STREAMS_OF_A_RUN_MAX: usize = 4;
/// The most runs whose calls are counted; beyond that the fullest buckets are forgotten.
const RUNS_MAX: usize = 1024;

/// How many calls that were not let in are looked at in a row, and then a second.
const FAILURES: Rate = Rate { burst: 30.0, a_second: 3.0 };
/// How many calls a run may make in a row, and then a second.
const CALLS_OF_A_RUN: Rate = Rate { burst: 300.0, a_second: 30.0 };

#[derive(Clone, Copy)]
struct Rate {
    burst: f64,
    a_second: f64,
}

/// What is left of what somebody may do.
struct Bucket {
    left: f64,
    at: Instant,
}

/// How often who may call.
pub(super) struct Limits {
    failures: Mutex<Bucket>,
    runs: Mutex<HashMap<String, Bucket>>,
    streams: Arc<Semaphore>,
    streams_of_runs: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// The right to follow something.
pub(super) struct Seat {
    _all: OwnedSemaphorePermit,
    _own: Option<OwnedSemaphorePermit>,
}

impl Bucket {
    fn full(rate: Rate) -> Self {
        Self { left: rate.burst, at: Instant::now() }
    }

    fn take(&mut self, rate: Rate) -> bool {
        let now = Instant::now();
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * rate.a_second;
        (self.left, self.at) = ((self.left + gained).min(rate.burst), now);
        let there = self.left >= 1.0;
        if there {
            self.left -= 1.0;
        }
        there
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            failures: Mutex::new(Bucket::full(FAILURES)),
            runs: Mutex::default(),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            streams_of_runs: Mutex::default(),
        }
    }
}

impl Limits {
    /// Counts a call that was not let in; says whether there were not too many.
    pub(super) fn failed(&self) -> bool {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).take(FAILURES)
    }

    /// Counts a call of a run; says whether there were not too many.
    pub(super) fn called(&self, run: &str) -> bool {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.len() >= RUNS_MAX && !runs.contains_key(run) {
            runs.clear();
        }
        let bucket = runs.entry(run.to_owned()).or_insert_with(|| Bucket::full(CALLS_OF_A_RUN));
        bucket.take(CALLS_OF_A_RUN)
    }

    /// Takes a seat among those who follow; none if all are taken.
    pub(super) fn seat(&self, run: Option<&str>) -> Option<Seat> {
        let all = Arc::clone(&self.streams).try_acquire_owned().ok()?;
        let own = match run {
            Some(run) => Some(self.seat_of(run)?),
            None => None,
        };
        Some(Seat { _all: all, _own: own })
    }

    fn seat_of(&self, run: &str) -> Option<OwnedSemaphorePermit> {
        let mut runs = self.streams_of_runs.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever follows nothing needs no place here.
        runs.retain(|_, seats| seats.available_permits() < STREAMS_OF_A_RUN_MAX);
        let new = || Arc::new(Semaphore::new(STREAMS_OF_A_RUN_MAX));
        let seats = Arc::clone(runs.entry(run.to_owned()).or_insert_with(new));
        seats.try_acquire_owned().ok()
    }

    /// Returns how many follow now.
    pub(super) fn seated(&self) -> usize {
        STREAMS_MAX.saturating_sub(self.streams.available_permits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_floods_is_held_up_and_no_other() {
        let limits = Limits::default();
        let taken = (0..1000).filter(|_| limits.called("one")).count();
        assert!((300..600).contains(&taken), "{taken}");
        assert!(limits.called("another"));
    }

    #[test]
    fn seats_are_bounded_for_a_run_and_for_all() {
        let limits = Limits::default();
        let own: Vec<_> = (0..6).filter_map(|_| limits.seat(Some("run"))).collect();
        assert_eq!(own.len(), STREAMS_OF_A_RUN_MAX);
        let rest: Vec<_> = (0..STREAMS_MAX).filter_map(|_| limits.seat(None)).collect();
        assert_eq!(rest.len(), STREAMS_MAX - own.len());
        assert_eq!(limits.seated(), STREAMS_MAX);
        drop(own);
        assert!(limits.seat(Some("run")).is_some());
    }
}
