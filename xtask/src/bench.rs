//! `cargo xtask bench`: builds and runs the benchmarks of the crate `adjutant-bench`.

use crate::step::{StepFailure, StepLog, cargo};
use crate::tools;

pub(crate) fn run(args: &[String]) -> Result<(), StepFailure> {
    let steps = StepLog::new();
    let lane = steps.foreground();
    tools::ensure_test_tools(&lane)?;
    // The program is measured as released, in the same profile.
    lane.call(&mut cargo(&["build", "--quiet", "--release", "--package", "adjutant"]))?;
    let bench = ["run", "--quiet", "--release", "--package", "adjutant-bench", "--"];
    // The benchmarks write their own configurations.
    lane.call(cargo(&bench).args(args).env("ADJUTANT_TRUST", "accept"))
}
