//! The output of the run, in the format of libtest.

#![expect(clippy::print_stdout, reason = "a test binary says what it found")]

use std::process::ExitCode;
use std::time::Instant;

use crate::feature::BoundScenario;

/// Prints the problems of the feature files themselves.
pub(crate) fn problems(problems: &[String]) -> ExitCode {
    println!("the feature files are not in order:");
    for problem in problems {
        println!("  {problem}");
    }
    println!("test result: FAILED. 0 passed; {} failed", problems.len());
    ExitCode::FAILURE
}

pub(crate) fn list(chosen: &[&BoundScenario]) -> ExitCode {
    for scenario in chosen {
        println!("{}: test", scenario.name);
    }
    ExitCode::SUCCESS
}

/// Runs the selected scenarios, one after the other.
pub(crate) fn run(chosen: &[&BoundScenario], all: &[BoundScenario]) -> ExitCode {
    let started = Instant::now();
    println!("\nrunning {} scenarios", chosen.len());
    let failed = chosen.iter().filter(|scenario| !run_one(scenario)).count();
    let (passed, left_out) = (chosen.len() - failed, all.len() - chosen.len());
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored; 0 measured; \
         {left_out} filtered out; finished in {:.2}s\n",
        started.elapsed().as_secs_f64()
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_one(scenario: &BoundScenario) -> bool {
    let came = scenario.run();
    match &came {
        Ok(()) => println!("test {} ... ok", scenario.name),
        Err(step) => println!("test {} ... FAILED\n     at {step}", scenario.name),
    }
    came.is_ok()
}
