//! The lease file of a run in a fleet: until when the run may continue if its node is cut off
//! from the others.
//!
//! The leader reassigns the task some time after that, so that two agents never work on one task.
//! The file lies beside the log, and its time is that of a clock that cannot be set.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use adjutant_run_files::attempt_files::{SyncLevel, replace_file};
use adjutant_store::monotonic_now;

/// The name of the file in the folder of an attempt.
pub const FILE: &str = "lease";

/// Extends the lease of a run, by the clock of [`monotonic_now`].
pub fn extend_lease(attempt: &Path, until: Duration) -> io::Result<()> {
    let text = format!("{}\n", until.as_millis());
    replace_file(&attempt.join(FILE), text.as_bytes(), SyncLevel::Later)
}

pub(crate) struct LeaseDeadline {
    path: PathBuf,
}

impl LeaseDeadline {
    /// The stop reason of a run whose lease was not extended.
    pub(crate) const EXPIRED: &str = "its lease expired";

    /// Returns the deadline of a run; `None` if the run has no lease file.
    pub(crate) fn open(attempt: &Path) -> Option<Self> {
        let path = attempt.join(FILE);
        path.exists().then_some(Self { path })
    }

    /// Returns when the run must be asked to end: one grace period before its lease expires. A file
    /// that cannot be read counts as an expired lease.
    pub(crate) fn stop_time(&self, grace: Duration) -> Instant {
        let left = self.expires_at().unwrap_or_default().saturating_sub(monotonic_now());
        Instant::now() + left.saturating_sub(grace)
    }

    fn expires_at(&self) -> Option<Duration> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        text.trim().parse().ok().map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_deadline_is_one_grace_period_before_expiry() {
        let home = tempfile::tempdir().expect("a temporary folder");
        assert!(LeaseDeadline::open(home.path()).is_none(), "on one machine there is none");
        let (hour, minute) = (Duration::from_hours(1), Duration::from_mins(1));
        extend_lease(home.path(), monotonic_now() + hour).expect("it is written");
        let deadline = LeaseDeadline::open(home.path()).expect("there is one now");
        let left = deadline.stop_time(minute).saturating_duration_since(Instant::now());
        assert!(left <= Duration::from_mins(59) && left > Duration::from_mins(58), "{left:?}");
        extend_lease(home.path(), Duration::ZERO).expect("it is written");
        assert!(deadline.stop_time(minute) <= Instant::now());
        std::fs::write(home.path().join(FILE), "soon").expect("it is written");
        assert!(deadline.stop_time(minute) <= Instant::now());
    }
}
