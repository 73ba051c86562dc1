//! `cargo xtask soak`: the long versions of what `cargo xtask test` does in minutes.

use crate::step::{Failure, Steps};
use crate::{fuzz, test, tools};

/// What makes tests long: every crash point, more random cases, more made-up inputs.
const LONG: [(&str, &str); 3] =
    [("ADJUTANT_SOAK", "1"), ("NEXTEST_PROFILE", "soak"), ("PROPTEST_CASES", "10000")];

/// Runs the long tests, then every fuzz target for its share of the minutes.
pub(crate) fn run(minutes: u64) -> Result<(), Failure> {
    let mut steps = Steps::new();
    steps.step("tools", "what the tests need from the machine", || {
        tools::provide(&tools::FOR_TESTS)
    })?;
    test::test(&mut steps, &LONG)?;
    fuzz::all(&mut steps, vec![], minutes)?;
    steps.finish();
    Ok(())
}
