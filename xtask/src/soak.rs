//! `cargo xtask soak`: the long versions of what `cargo xtask test` does in minutes.

use crate::step::{Failure, Steps};
use crate::{clients, fuzz, test, tools};

/// Runs the long tests, with so many times as many random cases and made-up inputs and with every
/// crash point; then every fuzz target for its share of the minutes.
pub(crate) fn run(times: u64, minutes: u64) -> Result<(), Failure> {
    let mut steps = Steps::new();
    steps.step("tools", "what the tests need from the machine", tools::provide_for_tests)?;
    let times = times.to_string();
    test::test(&mut steps, &[("ADJUTANT_SOAK", &times), ("NEXTEST_PROFILE", "soak")])?;
    clients::all(&mut steps, clients::FUZZ_LONG)?;
    fuzz::all(&mut steps, vec![], minutes)?;
    steps.finish();
    Ok(())
}
