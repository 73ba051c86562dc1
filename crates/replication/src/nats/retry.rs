//! Retries with backoff until a deadline.

use std::time::{Duration, Instant};

/// Retries that end at a deadline.
pub(crate) struct RetryDeadline {
    until: Instant,
    pause: Duration,
}

/// The longest pause between two tries: a stream elects a new leader within seconds.
const PAUSE_MAX: Duration = Duration::from_millis(500);

impl RetryDeadline {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { until: Instant::now() + patience, pause: Duration::from_millis(10) }
    }

    /// Waits, longer each time. Returns false without waiting once the deadline has passed.
    pub(crate) async fn wait_for_retry(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        true
    }
}
