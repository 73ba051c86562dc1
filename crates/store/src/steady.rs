//! A clock that nobody can set, and that goes on while the machine sleeps.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;

/// Elsewhere this one does not stand still while the machine sleeps.
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Returns the time since some moment that is the same for all processes of a machine until it is
/// started again.
pub fn steady() -> Duration {
    let now = clock_gettime(CLOCK);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on() {
        let before = steady();
        std::thread::sleep(Duration::from_millis(2));
        assert!(steady() >= before + Duration::from_millis(2));
    }
}
