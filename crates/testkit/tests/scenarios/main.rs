//! The scenarios of AOF/1, from the feature files to the real router on a real folder.
//!
//! `titles` lists the required scenarios. A missing scenario, a line without a step and a step
//! without a line all fail the run before anything is sent. No scenario can be skipped.

mod titles;

mod feature;
mod outline;
mod pattern;
mod step_arguments;
mod steps;

mod scenario_state;

mod answer;
mod event_log;
mod file;
mod message;
mod obstacle;
mod run;
mod task;
mod tick;

mod arguments;
mod report;

use std::process::ExitCode;

use arguments::TestArguments;
use feature::BoundScenario;

fn main() -> ExitCode {
    let arguments = TestArguments::parse(std::env::args().skip(1));
    match feature::load() {
        Err(problems) => report::problems(&problems),
        Ok(scenarios) => {
            let chosen = scenarios.iter().filter(|scenario| arguments.selects(&scenario.name));
            let chosen: Vec<&BoundScenario> = chosen.collect();
            if arguments.list { report::list(&chosen) } else { report::run(&chosen, &scenarios) }
        }
    }
}
