//! Trying again until there is an answer, or until nobody waits any longer.

use std::time::{Duration, Instant};

/// A number of tries that end at some time.
pub(crate) struct Patience {
    until: Instant,
    pause: Duration,
}

/// The longest pause between two tries: a stream has a new leader within seconds.
const PAUSE_MAX: Duration = Duration::from_millis(500);

impl Patience {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { until: Instant::now() + patience, pause: Duration::from_millis(10) }
    }

    /// Waits a little, longer each time. Says whether there is time for another try.
    pub(crate) async fn again(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        true
    }
}
