//! Runs the tests of what one process may do to another once more as an ordinary user: root may do
//! what others may not, so a test that passes as root alone proves little.

use std::process::Command;

use crate::step::{StepFailure, StepLane, print_line, succeeds};

/// The tests whose result could differ between root and others, as nextest selects them. Those of
/// `folder_owner` need root to make folders of both.
pub(super) const TESTS: &str = "package(adjutant) and test(/^(up::(authority|impostors|\
                                checks_as_agent|agent_environment|late_reports|sandbox|suspended|\
                                unsettled_work)|trust|http::(sessions|secrets))::/) \
                                and not test(/::folder_owner::/)";

/// Starts a program as the user that owns nothing.
const AS_NOBODY: [&str; 6] = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];

/// The variables in which nextest looks for a program that starts tests.
const RUNNER_VARIABLES: [&str; 2] = [
    "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
    "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER",
];

/// Makes nextest start every test as an ordinary user. Returns false if that is not needed, because
/// all tests run as one, or not possible.
pub(super) fn use_ordinary_user(
    lane: &StepLane<'_>,
    command: &mut Command,
) -> Result<bool, StepFailure> {
    let is_root = succeeds(Command::new("sh").args(["-c", "test $(id -u) = 0"]));
    if !is_root {
        return Ok(false);
    }
    let can = |args: &[&str]| succeeds(Command::new(AS_NOBODY[0]).args(&AS_NOBODY[1..]).args(args));
    if !can(&["true"]) {
        let remedy = "`apt-get install util-linux`";
        return lane.skip("user tests", "setpriv is not installed", remedy).map(|()| false);
    }
    if !can(&["test", "-r", "Cargo.toml"]) {
        print_line("== the tests as an ordinary user: not run, this folder is closed to others");
        return Ok(false);
    }
    for variable in RUNNER_VARIABLES {
        command.env(variable, AS_NOBODY.join(" "));
    }
    command.env("HOME", "/nonexistent");
    Ok(true)
}
