//! The project's own chores: `cargo xtask test` and the rest. No part of the product.

mod args;
mod step;
mod tools;

mod agents;
mod bench;
mod browser;
mod clients;
mod fuzz;
mod soak;
mod test;

use std::env;
use std::path::Path;
use std::process::ExitCode;

use args::Chore;

fn main() -> ExitCode {
    let chore = match args::parse(env::args().skip(1)) {
        Ok(chore) => chore,
        Err(wrong) => {
            step::complain(&format!("error: {wrong}\nhint: `cargo xtask --help` lists the chores"));
            return ExitCode::from(2);
        }
    };
    match go_to_root().and_then(|()| run(chore)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            step::complain(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<(), step::Failure> {
    match chore {
        Chore::Help => {
            step::say(args::HELP.trim_end());
            Ok(())
        }
        Chore::Test { parts } => test::run(&parts),
        Chore::Golden => test::renew_golden(),
        Chore::Clients => clients::run_alone(),
        Chore::Tools => tools::provide_for_tests(&step::Steps::new().foreground()),
        Chore::Browser => browser::run_alone(),
        Chore::Screenshots => browser::screenshots(),
        Chore::Soak { times, minutes } => soak::run(times, minutes),
        Chore::Fuzz { targets, minutes } => fuzz::run(targets, minutes),
        Chore::Bench { args } => bench::run(&args),
        Chore::Agents { parts } => agents::run(&parts),
    }
}

/// Goes to the folder of the workspace: every chore works from there.
fn go_to_root() -> Result<(), step::Failure> {
    // Cargo says where it runs this from; several clones may share what was built.
    let here = env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    let root = Path::new(&here).join("..");
    env::set_current_dir(&root)
        .map_err(|error| step::Failure::new(format!("cannot go to {}: {error}", root.display())))
}
