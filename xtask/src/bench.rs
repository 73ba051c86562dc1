//! `cargo xtask bench`: what is measured, and against what, is in the crate `adjutant-bench`.

use crate::step::{Failure, cargo, run as run_command};
use crate::tools;

/// Runs the benchmarks.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    tools::provide_for_tests()?;
    let bench = ["run", "--quiet", "--release", "--package", "adjutant-bench", "--"];
    run_command(cargo(&bench).args(args))
}
