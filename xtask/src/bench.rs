//! `cargo xtask bench`: what is measured, and against what, is in the crate `adjutant-bench`.

use crate::step::{Failure, cargo, run as run_command};
use crate::tools;

/// Runs the benchmarks.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    tools::provide_for_tests()?;
    // The program is measured as it is, in the same profile.
    run_command(&mut cargo(&["build", "--quiet", "--release", "--package", "adjutant"]))?;
    let bench = ["run", "--quiet", "--release", "--package", "adjutant-bench", "--"];
    run_command(cargo(&bench).args(args))
}
