//! The `adjutant` command: turns arguments into requests, and answers into words or JSON.
//!
//! One file a command. Nothing here decides what a message does, and nothing here but
//! `data.rs` knows which store it talks to.

mod args;
mod commands;
mod config;
mod data;
mod error;
mod fleet;
mod inside;
mod machine;
mod office;
mod output;
mod person;
mod schema;
mod table;
mod view;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser;

use args::Args;
use commands::shim::Shim;
use error::Failure;
use output::Output;

fn main() -> ExitCode {
    // What a panic says is for us; the person gets an error like any other.
    std::panic::set_hook(Box::new(|_| {}));
    // One is started for every run, and an agent waits for it: it does not read the whole manual
    // first.
    if Shim::is_asked_for(std::env::args_os().skip(1)) {
        return conclude(&Output::new(false), || Shim {}.run());
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return error::usage(&error),
    };
    let out = Output::new(args.json);
    conclude(&out, || commands::run(args, &out))
}

/// Runs a command, and says what went wrong with it.
fn conclude(out: &Output, command: impl FnOnce() -> Result<ExitCode, Failure>) -> ExitCode {
    let ran = catch_unwind(AssertUnwindSafe(command));
    match ran.unwrap_or_else(|panic| Err(Failure::bug(panic.as_ref()))) {
        Ok(code) => code,
        Err(failure) => failure.report(out),
    }
}
