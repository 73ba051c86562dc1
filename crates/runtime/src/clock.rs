//! The only place that asks what time it is.

use std::path::PathBuf;
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
        let now = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        Time::from_millis(now.saturating_add(jump_ms(std::env::var_os(JUMP).map(PathBuf::from))))
    }
}

/// Names a file that says by how many milliseconds the clock has jumped, for tests with real
/// processes: nobody can set the clock of the machine they run on. Only a program that was built
/// for debugging reads it.
const JUMP: &str = "ADJUTANT_TEST_CLOCK";

fn jump_ms(named: Option<PathBuf>) -> i64 {
    let named = named.filter(|_| cfg!(debug_assertions));
    let text = named.and_then(|path| std::fs::read_to_string(path).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// A clock that stands still, for asking what would be at another time.
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub Time);

impl Clock for FixedClock {
    fn now(&self) -> Time {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_program_built_for_debugging_has_a_clock_that_tests_can_set() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("clock");
        std::fs::write(&file, "-3600000\n").expect("written");
        let expected = if cfg!(debug_assertions) { -3_600_000 } else { 0 };
        assert_eq!(jump_ms(Some(file)), expected);
        assert_eq!((jump_ms(Some(folder.path().join("none"))), jump_ms(None)), (0, 0));
    }
}
