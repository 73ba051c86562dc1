//! The `adjutant` command: parses arguments into requests and prints answers as text or JSON.
//!
//! Each command has its own file. Nothing here decides what a message does, and only `data.rs` and
//! `fleet_connection.rs` know which store is used.

mod caller;
mod commands;
mod config;
mod config_trust;
mod data;
mod fleet_connection;
mod folder_sender;
mod folder_writer;
mod node_key_file;
mod output;
mod panic_report;
mod repeated_requests;
mod run_connection;
mod run_environment;
mod schema;
mod table;
mod time_argument;
mod view;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser;
use commands::args::Args;
use commands::check_shim::CheckShimArgs;
use commands::sandbox_stage::SandboxStageArgs;
use commands::shim::ShimArgs;
use output::CommandOutput;
use output::error::{self, CommandFailure};

fn main() -> ExitCode {
    panic_report::install_hook();
    // Every run and check starts a shim and waits for it, so a shim skips parsing all arguments.
    if CheckShimArgs::matches_args(std::env::args_os().skip(1)) {
        return run_and_report(&CommandOutput::new(false), || CheckShimArgs {}.run());
    }
    if ShimArgs::matches_args(std::env::args_os().skip(1)) {
        return run_and_report(&CommandOutput::new(false), || ShimArgs {}.run());
    }
    if let Some(stage) = SandboxStageArgs::from_args(std::env::args_os().skip(1)) {
        return run_and_report(&CommandOutput::new(false), || stage.run());
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return error::report_usage_error(&error),
    };
    let out = CommandOutput::new(args.json);
    run_and_report(&out, || commands::run(args, &out))
}

/// Runs a command and reports its failure or panic to the user.
fn run_and_report(
    out: &CommandOutput,
    command: impl FnOnce() -> Result<ExitCode, CommandFailure>,
) -> ExitCode {
    let ran = catch_unwind(AssertUnwindSafe(command));
    match ran.unwrap_or_else(|panic| Err(error::panic_failure(panic.as_ref()))) {
        Ok(code) => code,
        Err(failure) => error::report(&failure, out),
    }
}
