//! Until when a run may go on if nobody says that it may for longer: a run of a fleet, whose node
//! may be cut off from the others.
//!
//! Whoever decides gives its task to somebody else after that time and a bit more, so that two
//! never work on one task. It is told by a file beside the log, in time that nobody can set.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use adjutant_store::steady;

use super::files::{Sync, replace};

/// The name of the file in the folder of an attempt.
pub(crate) const FILE: &str = "lease";

/// Lets a run go on until then, by the clock of [`steady`].
pub(crate) fn extend(attempt: &Path, until: Duration) -> io::Result<()> {
    let text = format!("{}\n", until.as_millis());
    replace(&attempt.join(FILE), text.as_bytes(), Sync::Later)
}

/// When a run must be over.
pub(super) struct Deadline {
    path: PathBuf,
}

impl Deadline {
    /// Returns the deadline of a run, if it has one.
    pub(super) fn of(attempt: &Path) -> Option<Self> {
        let path = attempt.join(FILE);
        path.exists().then_some(Self { path })
    }

    /// Returns when the run is to be asked to end, so that it is over in time: one grace before
    /// its time is up. A file that cannot be read gives no more time.
    pub(super) fn at(&self, grace: Duration) -> Instant {
        let left = self.until().unwrap_or_default().saturating_sub(steady());
        Instant::now() + left.saturating_sub(grace)
    }

    fn until(&self) -> Option<Duration> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        text.trim().parse().ok().map(Duration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_asked_to_end_one_grace_before_its_time_is_up() {
        let home = tempfile::tempdir().expect("a temporary folder");
        assert!(Deadline::of(home.path()).is_none(), "on one machine there is none");
        let (hour, minute) = (Duration::from_hours(1), Duration::from_mins(1));
        extend(home.path(), steady() + hour).expect("it is written");
        let deadline = Deadline::of(home.path()).expect("there is one now");
        let left = deadline.at(minute).saturating_duration_since(Instant::now());
        assert!(left <= Duration::from_mins(59) && left > Duration::from_mins(58), "{left:?}");
        extend(home.path(), Duration::ZERO).expect("it is written");
        assert!(deadline.at(minute) <= Instant::now());
        std::fs::write(home.path().join(FILE), "soon").expect("it is written");
        assert!(deadline.at(minute) <= Instant::now());
    }
}
