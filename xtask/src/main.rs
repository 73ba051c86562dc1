//! The project's own commands: `cargo xtask test` and the rest. Not a part of the product.

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

use args::XtaskCommand;

fn main() -> ExitCode {
    let chore = match args::parse(env::args().skip(1)) {
        Ok(chore) => chore,
        Err(wrong) => {
            step::print_error(&format!(
                "error: {wrong}\nhint: `cargo xtask --help` lists the chores"
            ));
            return ExitCode::from(2);
        }
    };
    match go_to_root().and_then(|()| run(chore)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            step::print_error(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}

fn run(chore: XtaskCommand) -> Result<(), step::StepFailure> {
    match chore {
        XtaskCommand::Help => {
            step::print_line(args::HELP.trim_end());
            Ok(())
        }
        XtaskCommand::Test { parts } => test::run(&parts),
        XtaskCommand::Golden => test::renew_golden(),
        XtaskCommand::Clients => clients::run_alone(),
        XtaskCommand::Tools => tools::ensure_test_tools(&step::StepLog::new().foreground()),
        XtaskCommand::Browser => browser::run_alone(),
        XtaskCommand::Screenshots => browser::screenshots(),
        XtaskCommand::Soak { times, minutes } => soak::run(times, minutes),
        XtaskCommand::Fuzz { targets, minutes } => fuzz::run(targets, minutes),
        XtaskCommand::Bench { args } => bench::run(&args),
        XtaskCommand::Agents { parts } => agents::run(&parts),
    }
}

/// Changes to the folder of the workspace, where every command works.
fn go_to_root() -> Result<(), step::StepFailure> {
    // Cargo sets this variable at run time; several clones may share the built program.
    let here = env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    let root = Path::new(&here).join("..");
    env::set_current_dir(&root).map_err(|error| {
        step::StepFailure::new(format!("cannot go to {}: {error}", root.display()))
    })
}
