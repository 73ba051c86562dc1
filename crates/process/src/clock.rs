//! The clock: the only module that reads the current time.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use adjutant_model::Time;

pub trait Clock: Send {
    fn now(&self) -> Time;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        Time::from_millis(now.saturating_add(clock_offset_ms(
            std::env::var_os(CLOCK_OFFSET_FILE).map(PathBuf::from),
        )))
    }
}

/// Names a file with the offset in milliseconds that is added to the clock, for tests with real
/// processes that cannot set the machine's clock. Only debug builds read it.
const CLOCK_OFFSET_FILE: &str = "ADJUTANT_TEST_CLOCK";

fn clock_offset_ms(named: Option<PathBuf>) -> i64 {
    let named = named.filter(|_| cfg!(debug_assertions));
    let text = named.and_then(|path| std::fs::read_to_string(path).ok());
    text.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// A clock that stands still, to decide as of another time.
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
    fn clock_offset_is_read_only_in_debug_builds() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("clock");
        std::fs::write(&file, "-3600000\n").expect("written");
        let expected = if cfg!(debug_assertions) { -3_600_000 } else { 0 };
        assert_eq!(clock_offset_ms(Some(file)), expected);
        assert_eq!(
            (clock_offset_ms(Some(folder.path().join("none"))), clock_offset_ms(None)),
            (0, 0)
        );
    }
}
