//! Prints failures: text for a person, JSON for a program; and turns usage errors, panics and
//! daemon errors into failures.

use std::any::Any;
use std::io::Write;
use std::process::ExitCode;

use adjutant_daemon::DaemonError;
pub(crate) use adjutant_query::failure::{CommandFailure, INVALID_CONFIG, NO_DATA_FOLDER};
use adjutant_query::failure::{FailureKind, UNREACHABLE};
use clap::error::ErrorKind;
use serde_json::{Value, json};

use crate::output::{CommandOutput, clean};
use crate::panic_report;

/// Prints a failure and returns the exit code.
pub(crate) fn report(failure: &CommandFailure, out: &CommandOutput) -> ExitCode {
    if !failure.is_output_closed() {
        // If this fails, there is no other place to report it.
        let _ = print(failure, out.is_json());
    }
    ExitCode::from(exit_code(failure))
}

pub(crate) fn exit_code(failure: &CommandFailure) -> u8 {
    match failure.kind {
        FailureKind::OutputClosed => 0,
        FailureKind::Refused => 1,
        FailureKind::Usage => 2,
        FailureKind::Broken => 3,
    }
}

/// Returns a failure as `--json` prints it under `error`.
pub(crate) fn error_document(failure: &CommandFailure) -> Value {
    let CommandFailure { code, message, causes, hint, .. } = failure;
    json!({"code": code, "message": message, "causes": causes, "hint": hint})
}

fn print(failure: &CommandFailure, json: bool) -> std::io::Result<()> {
    if json {
        return writeln!(std::io::stdout(), "{}", json!({ "error": error_document(failure) }));
    }
    let CommandFailure { message, causes, hint, .. } = failure;
    let mut err = std::io::stderr().lock();
    writeln!(err, "error: {}", clean(message))?;
    for cause in causes {
        writeln!(err, "  caused by: {}", clean(cause))?;
    }
    match hint {
        Some(hint) => writeln!(err, "hint: {}", clean(hint)),
        None => Ok(()),
    }
}

/// Turns a panic into a failure.
pub(crate) fn panic_failure(panic: &(dyn Any + Send)) -> CommandFailure {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let mut failure =
        CommandFailure::new(FailureKind::Broken, "bug", "internal error (this is a bug)");
    failure.causes.extend(text);
    failure.causes.extend(panic_report::take_location().map(|place| format!("at {place}")));
    failure.with_hint("please report it; everything that was answered as applied is safe")
}

/// Turns an error of the daemon into a failure.
pub(crate) fn daemon_failure(error: DaemonError) -> CommandFailure {
    match error {
        DaemonError::Store(error) => error.into(),
        DaemonError::Engine(error) => error.into(),
        DaemonError::Unfit(unfit) => unfit.into(),
        DaemonError::Io { attempt, source } => {
            let failure = CommandFailure::broken(format!("cannot {attempt}"), &source);
            let is_unreachable = source.kind() == std::io::ErrorKind::HostUnreachable;
            let code = if is_unreachable { UNREACHABLE } else { failure.code };
            CommandFailure { code, ..failure }
        }
    }
}

/// Prints a usage error as text, or as JSON if `--json` is among the arguments.
pub(crate) fn report_usage_error(error: &clap::Error) -> ExitCode {
    let helps = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let json = std::env::args_os().take_while(|arg| arg != "--").any(|arg| arg == "--json");
    if helps || !json {
        let _ = error.print();
        return ExitCode::from(if helps { 0 } else { 2 });
    }
    report(&usage_failure(error), &CommandOutput::new(true))
}

/// Splits clap's error text into message, causes and hint.
pub(crate) fn usage_failure(error: &clap::Error) -> CommandFailure {
    let missing =
        [ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, ErrorKind::MissingSubcommand];
    if missing.contains(&error.kind()) {
        return CommandFailure::report_usage_error("no command was given")
            .with_hint("`adjutant --help` lists the commands");
    }
    let text = error.to_string();
    let more = ["Usage:", "For more information"];
    let mut lines = text.lines().take_while(|line| !more.iter().any(|end| line.starts_with(end)));
    let first = lines.next().unwrap_or_default();
    let mut failure = CommandFailure::report_usage_error(
        first.trim_start_matches("error: ").trim_end_matches(':'),
    );
    for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
        match line.strip_prefix("tip: ") {
            Some(tip) => failure.hint = Some(tip.to_owned()),
            None => failure.causes.push(line.to_owned()),
        }
    }
    let hint = failure.hint.take();
    failure.with_hint(hint.unwrap_or_else(|| "`--help` shows the usage".to_owned()))
}
