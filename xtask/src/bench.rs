//! `cargo xtask bench`: what is measured, and against what, is in the crate `adjutant-bench`.

use crate::step::{Failure, Steps, cargo};
use crate::tools;

/// Runs the benchmarks.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let steps = Steps::new();
    let lane = steps.foreground();
    tools::provide_for_tests(&lane)?;
    // The program is measured as it is, in the same profile.
    lane.call(&mut cargo(&["build", "--quiet", "--release", "--package", "adjutant"]))?;
    let bench = ["run", "--quiet", "--release", "--package", "adjutant-bench", "--"];
    lane.call(cargo(&bench).args(args))
}
