//! Tests that cannot run on every machine report that instead of passing silently.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::{env, thread};

/// The environment variable that turns a skip into a failure, if it is `deny`.
const SKIP: &str = "ADJUTANT_SKIP";

/// The environment variable that names the file skips are written to. A file, because test runners
/// hide the output of tests that pass.
const SKIP_LOG: &str = "ADJUTANT_SKIP_LOG";

/// Records why the current test does not run here and what makes it run.
///
/// # Panics
///
/// Panics if skipping is forbidden, as in `.ci/run`.
pub fn skip(reason: &str, remedy: &str) {
    let current = thread::current();
    let line = format!("{}: {reason}; {remedy}\n", current.name().unwrap_or("a test"));
    let denied = env::var(SKIP).is_ok_and(|value| value == "deny");
    assert!(!denied, "skipped: {line}");
    if let Some(path) = env::var_os(SKIP_LOG) {
        let log = OpenOptions::new().create(true).append(true).open(path);
        // One write, so that the lines of two tests do not mix.
        log.and_then(|mut log| log.write_all(line.as_bytes())).expect("the skip log is writable");
    }
}
