//! Rate limits (token buckets) and limits on open streams.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How many clients may follow the event log or a run's output at once.
const STREAMS_MAX: usize = 512;
/// How many streams a single run may have open.
const RUN_STREAMS_MAX: usize = 4;
/// How many runs have a bucket; when there are more, all buckets are dropped.
const RUNS_MAX: usize = 1024;

/// Failed authentications of all callers together.
const FAILURE_RATE: CallRate = CallRate { burst: 30.0, per_second: 3.0 };
/// Calls of a single run.
const RUN_CALL_RATE: CallRate = CallRate { burst: 300.0, per_second: 30.0 };

#[derive(Clone, Copy)]
struct CallRate {
    burst: f64,
    per_second: f64,
}

/// A token bucket.
struct TokenBucket {
    left: f64,
    at: Instant,
}

pub(super) struct CallLimits {
    failures: Mutex<TokenBucket>,
    runs: Mutex<HashMap<String, TokenBucket>>,
    streams: Arc<Semaphore>,
    streams_of_runs: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// The permission to keep a stream open, until it is dropped.
pub(super) struct StreamPermit {
    _all: OwnedSemaphorePermit,
    _own: Option<OwnedSemaphorePermit>,
}

impl TokenBucket {
    fn full(rate: CallRate) -> Self {
        Self { left: rate.burst, at: Instant::now() }
    }

    fn take(&mut self, rate: CallRate) -> bool {
        let now = Instant::now();
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * rate.per_second;
        (self.left, self.at) = ((self.left + gained).min(rate.burst), now);
        let there = self.left >= 1.0;
        if there {
            self.left -= 1.0;
        }
        there
    }
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            failures: Mutex::new(TokenBucket::full(FAILURE_RATE)),
            runs: Mutex::default(),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            streams_of_runs: Mutex::default(),
        }
    }
}

impl CallLimits {
    /// Counts a failed authentication. Returns false if there were too many.
    pub(super) fn allow_failure(&self) -> bool {
        self.failures.lock().take(FAILURE_RATE)
    }

    /// Counts a call of a run. Returns false if there were too many.
    pub(super) fn allow_run_call(&self, run: &str) -> bool {
        let mut runs = self.runs.lock();
        if runs.len() >= RUNS_MAX && !runs.contains_key(run) {
            runs.clear();
        }
        let bucket = runs.entry(run.to_owned()).or_insert_with(|| TokenBucket::full(RUN_CALL_RATE));
        bucket.take(RUN_CALL_RATE)
    }

    /// Reserves a stream, or returns `None` if the limit is reached.
    pub(super) fn reserve_stream(&self, run: Option<&str>) -> Option<StreamPermit> {
        let all = Arc::clone(&self.streams).try_acquire_owned().ok()?;
        let own = match run {
            Some(run) => Some(self.reserve_run_stream(run)?),
            None => None,
        };
        Some(StreamPermit { _all: all, _own: own })
    }

    fn reserve_run_stream(&self, run: &str) -> Option<OwnedSemaphorePermit> {
        let mut runs = self.streams_of_runs.lock();
        // Forget runs without open streams.
        runs.retain(|_, seats| seats.available_permits() < RUN_STREAMS_MAX);
        let new = || Arc::new(Semaphore::new(RUN_STREAMS_MAX));
        let seats = Arc::clone(runs.entry(run.to_owned()).or_insert_with(new));
        seats.try_acquire_owned().ok()
    }

    /// Returns the number of open streams.
    pub(super) fn open_streams(&self) -> usize {
        STREAMS_MAX.saturating_sub(self.streams.available_permits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_limit_of_one_run_does_not_affect_others() {
        let limits = CallLimits::default();
        let taken = (0..1000).filter(|_| limits.allow_run_call("one")).count();
        assert!((300..600).contains(&taken), "{taken}");
        assert!(limits.allow_run_call("another"));
    }

    #[test]
    fn streams_are_limited_per_run_and_in_total() {
        let limits = CallLimits::default();
        let own: Vec<_> = (0..6).filter_map(|_| limits.reserve_stream(Some("run"))).collect();
        assert_eq!(own.len(), RUN_STREAMS_MAX);
        let rest: Vec<_> = (0..STREAMS_MAX).filter_map(|_| limits.reserve_stream(None)).collect();
        assert_eq!(rest.len(), STREAMS_MAX - own.len());
        assert_eq!(limits.open_streams(), STREAMS_MAX);
        drop(own);
        assert!(limits.reserve_stream(Some("run")).is_some());
    }
}
