//! Steps of a command: each is announced, timed, and ends its lane if it fails.
//!
//! Steps of one lane run one after the other; lanes run in parallel. One lane prints its output at
//! once, the others print the output of a step when the step is over.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The environment variable that forbids skipping; `.ci/run` sets it to `deny`.
pub(crate) const SKIP: &str = "ADJUTANT_SKIP";

/// The reason why a command stopped.
#[derive(Debug)]
pub(crate) struct StepFailure {
    what: String,
    hint: Option<String>,
}

impl StepFailure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// The finished steps of all lanes.
pub(crate) struct StepLog {
    started: Instant,
    done: Mutex<Vec<(&'static str, StepOutcome)>>,
}

enum StepOutcome {
    Took(Duration),
    Skipped(&'static str),
}

impl StepLog {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), done: Mutex::default() }
    }

    /// Returns the lane whose output is shown at once.
    pub(crate) fn foreground(&self) -> StepLane<'_> {
        StepLane { steps: self, buffered: None }
    }

    /// Returns a lane whose output is shown step by step. It belongs to one thread.
    pub(crate) fn background(&self) -> StepLane<'_> {
        StepLane { steps: self, buffered: Some(RefCell::default()) }
    }

    fn push(&self, name: &'static str, outcome: StepOutcome) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push((name, outcome));
    }

    /// Prints how long everything took.
    pub(crate) fn finish(&self) {
        print_line(&format!("== everything passed in {}", format_duration(self.started.elapsed())));
        for (name, outcome) in &*self.done.lock().unwrap_or_else(PoisonError::into_inner) {
            match outcome {
                StepOutcome::Took(took) => {
                    print_line(&format!("   {name:<10} {}", format_duration(*took)));
                }
                StepOutcome::Skipped(why) => print_line(&format!("   {name:<10} skipped, {why}")),
            }
        }
    }
}

/// Steps that run one after the other.
pub(crate) struct StepLane<'a> {
    steps: &'a StepLog,
    /// The output of the current step; `None` if output is shown at once.
    buffered: Option<RefCell<Vec<u8>>>,
}

impl StepLane<'_> {
    /// Runs a step and prints how long it took.
    pub(crate) fn step(
        &self,
        name: &'static str,
        what: &str,
        work: impl FnOnce() -> Result<(), StepFailure>,
    ) -> Result<(), StepFailure> {
        self.print_line(&format!("== {name}: {what}"));
        let started = Instant::now();
        let worked = work();
        let took = started.elapsed();
        let ended = if worked.is_ok() { "done in" } else { "FAILED after" };
        self.print_line(&format!("== {name}: {ended} {}", format_duration(took)));
        self.flush();
        worked?;
        self.steps.push(name, StepOutcome::Took(took));
        Ok(())
    }

    /// Runs a program as a step.
    pub(crate) fn run(&self, name: &'static str, command: &mut Command) -> Result<(), StepFailure> {
        self.step(name, &display_command(command), || self.call(command))
    }

    /// Skips a step with a reason, or fails where skipping is forbidden.
    pub(crate) fn skip(
        &self,
        name: &'static str,
        why: &'static str,
        remedy: &'static str,
    ) -> Result<(), StepFailure> {
        if std::env::var(SKIP).is_ok_and(|value| value == "deny") {
            return Err(
                StepFailure::new(format!("{name} cannot be skipped here: {why}")).with_hint(remedy)
            );
        }
        self.print_line(&format!("== {name}: skipped, {why}; {remedy}"));
        self.flush();
        self.steps.push(name, StepOutcome::Skipped(why));
        Ok(())
    }

    /// Runs a program to its end within a step.
    pub(crate) fn call(&self, command: &mut Command) -> Result<(), StepFailure> {
        let status = match &self.buffered {
            None => command.status(),
            Some(kept) => command.stdin(Stdio::null()).output().map(|output| {
                let mut kept = kept.borrow_mut();
                kept.extend(output.stdout);
                kept.extend(output.stderr);
                output.status
            }),
        };
        let what = match status {
            Ok(status) if status.success() => return Ok(()),
            Ok(status) => format!("`{}` failed with {status}", display_command(command)),
            Err(error) => format!("`{}` could not be started: {error}", display_command(command)),
        };
        Err(StepFailure::new(what))
    }

    fn print_line(&self, text: &str) {
        match &self.buffered {
            None => print_line(text),
            Some(kept) => kept.borrow_mut().extend(format!("{text}\n").bytes()),
        }
    }

    fn flush(&self) {
        if let Some(kept) = &self.buffered {
            // One call, so that the lines of two lanes do not mix.
            let _ = io::stdout().write_all(&kept.take());
        }
    }
}

/// Calls the cargo that runs this program.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args);
    command
}

/// Calls cargo with a low priority, for builds beside tests: a test that waits for a process must
/// not wait for a compiler too.
pub(crate) fn background_cargo(args: &[&str]) -> Command {
    let cargo = cargo(args);
    let mut command = Command::new("nice");
    command.args(["-n", "15"]).arg(cargo.get_program()).args(cargo.get_args());
    command
}

/// Tells whether a program runs and succeeds, without showing its output.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

pub(crate) fn print_line(text: &str) {
    // A closed standard output is no reason to stop.
    let _ = writeln!(io::stdout(), "{text}");
}

pub(crate) fn print_error(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Returns a command as a person would type it.
fn display_command(command: &Command) -> String {
    let word = |word: &std::ffi::OsStr| {
        let word = word.to_string_lossy().into_owned();
        if word.contains([' ', '(', '|']) { format!("'{word}'") } else { word }
    };
    let settings = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), word(value?))));
    let program = command.get_program().to_string_lossy();
    let program = program.rsplit('/').next().unwrap_or_default().to_owned();
    let words = settings.chain([program]).chain(command.get_args().map(word));
    words.collect::<Vec<_>>().join(" ")
}

fn format_duration(time: Duration) -> String {
    match time.as_secs() {
        secs @ 60.. => format!("{} min {:02} s", secs / 60, secs % 60),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

impl fmt::Display for StepFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_shown_as_it_would_be_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["doc", "--no-deps", "test(a)"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(
            display_command(&command),
            "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'test(a)'"
        );
    }

    #[test]
    fn duration_is_shown_in_minutes_and_seconds() {
        assert_eq!(format_duration(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(format_duration(Duration::from_secs(125)), "2 min 05 s");
    }

    #[test]
    fn failing_program_fails_its_step_in_every_lane() {
        let steps = StepLog::new();
        for lane in [steps.foreground(), steps.background()] {
            let failure = lane.call(&mut Command::new("false")).expect_err("it fails");
            assert_eq!(failure.to_string(), "error: `false` failed with exit status: 1");
        }
    }

    #[test]
    fn background_lane_keeps_output_until_the_step_is_over() {
        let steps = StepLog::new();
        let lane = steps.background();
        lane.call(Command::new("echo").arg("kept")).expect("it runs");
        assert_eq!(lane.buffered.as_ref().map(RefCell::take), Some(b"kept\n".to_vec()));
    }
}
