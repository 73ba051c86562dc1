//! Tests of the `adjutant` binary, started as a user starts it.
//!
//! There is one test binary, because linking is most of the build. `cargo xtask test PART` runs one
//! of its modules.

mod adapters;
mod commands;
mod docs;
mod fleet;
mod formats;
mod golden;
mod http;
mod plain_words;
mod schema;
mod story;
mod trust;
mod up;

use std::process::Command;

/// The state folder of every command that the tests start, so that none writes to the real one.
pub(crate) const STATE_HOME: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/state");

/// Returns the settings of an agent with `sandbox = "none"`, unless they name a sandbox. Most tests are
/// about other things, and their agents write files for the test to read.
pub(crate) fn unconfined(settings: &str) -> String {
    if settings.lines().any(|line| line.starts_with("sandbox = ")) {
        return settings.to_owned();
    }
    format!("sandbox = \"none\"\n{settings}")
}

/// Lets a command accept every configuration, as most tests write their own.
pub(crate) fn with_trust(command: &mut Command) -> &mut Command {
    command.env("ADJUTANT_TRUST", "accept").env("XDG_STATE_HOME", STATE_HOME)
}
