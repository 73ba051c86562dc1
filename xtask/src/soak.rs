//! `cargo xtask soak`: the long versions of the tests in `cargo xtask test`.

use crate::step::{StepFailure, StepLog};
use crate::{clients, fuzz, test, tools};

/// Runs the long tests, with `times` as many random cases and with every crash point; then every
/// fuzz target for its share of the minutes.
pub(crate) fn run(times: u64, minutes: u64) -> Result<(), StepFailure> {
    let steps = StepLog::new();
    let lane = steps.foreground();
    lane.step("tools", "what the tests need from the machine", || tools::ensure_test_tools(&lane))?;
    let times = times.to_string();
    test::soak(&lane, &[("ADJUTANT_SOAK", &times), ("NEXTEST_PROFILE", "soak")])?;
    clients::all(&lane, clients::FUZZ_LONG)?;
    fuzz::all(&lane, vec![], minutes)?;
    steps.finish();
    Ok(())
}
