//! The scenarios of AOF/1, from the feature files to the real router on a real folder.
//!
//! `titles` lists what must be there; a scenario that is missing, a step that nobody wrote and a
//! step that nobody uses all fail the run before anything is sent. Nothing can be skipped.

mod titles;

mod feature;
mod outline;
mod pattern;
mod steps;
mod words;

mod scene;

mod answer;
mod file;
mod message;
mod obstacle;
mod record;
mod run;
mod task;
mod tick;

mod arguments;
mod report;

use std::process::ExitCode;

use arguments::Arguments;
use feature::Scenario;

fn main() -> ExitCode {
    let arguments = Arguments::parse(std::env::args().skip(1));
    match feature::load() {
        Err(problems) => report::problems(&problems),
        Ok(scenarios) => {
            let chosen = scenarios.iter().filter(|scenario| arguments.choose(&scenario.name));
            let chosen: Vec<&Scenario> = chosen.collect();
            if arguments.list { report::list(&chosen) } else { report::run(&chosen, &scenarios) }
        }
    }
}
