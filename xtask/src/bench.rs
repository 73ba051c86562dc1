//! `cargo xtask bench`: what is measured, and against what, is in the crate `adjutant-bench`.

use crate::step::{Failure, cargo, run as run_command};

/// Runs the benchmarks.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let bench = ["run", "--quiet", "--release", "--package", "adjutant-bench", "--"];
    run_command(cargo(&bench).args(args))
}
