//! `cargo xtask soak`: the long versions of what `cargo xtask test` does in minutes.

use crate::step::{Failure, Steps};
use crate::{clients, fuzz, test, tools};

/// Runs the long tests, with so many times as many random cases and made-up inputs and with every
/// crash point; then every fuzz target for its share of the minutes.
pub(crate) fn run(times: u64, minutes: u64) -> Result<(), Failure> {
    let steps = Steps::new();
    let lane = steps.foreground();
    lane.step("tools", "what the tests need from the machine", || tools::provide_for_tests(&lane))?;
    let times = times.to_string();
    test::soak(&lane, &[("ADJUTANT_SOAK", &times), ("NEXTEST_PROFILE", "soak")])?;
    clients::all(&lane, clients::FUZZ_LONG)?;
    fuzz::all(&lane, vec![], minutes)?;
    steps.finish();
    Ok(())
}
