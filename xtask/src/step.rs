//! Steps of a chore: each is announced, timed, and ends its lane if it fails.
//!
//! Steps of one lane run one after the other; lanes run side by side. One lane prints its output as
//! it comes, the others print the output of a step when the step is over.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The environment variable that forbids skipping; `.ci/run` sets it to `deny`.
pub(crate) const SKIP: &str = "ADJUTANT_SKIP";

/// Why a chore stopped.
#[derive(Debug)]
pub(crate) struct Failure {
    what: String,
    /// What to do about it, where that is known.
    hint: Option<String>,
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    /// Adds what to do about it.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// The steps of a chore so far, of all lanes.
pub(crate) struct Steps {
    started: Instant,
    done: Mutex<Vec<(&'static str, Outcome)>>,
}

enum Outcome {
    Took(Duration),
    Skipped(&'static str),
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), done: Mutex::default() }
    }

    /// Returns the lane whose output is shown as it comes.
    pub(crate) fn foreground(&self) -> Lane<'_> {
        Lane { steps: self, kept: None }
    }

    /// Returns a lane whose output is shown step by step. It belongs to one thread.
    pub(crate) fn background(&self) -> Lane<'_> {
        Lane { steps: self, kept: Some(RefCell::default()) }
    }

    fn push(&self, name: &'static str, outcome: Outcome) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push((name, outcome));
    }

    /// Prints how long everything took.
    pub(crate) fn finish(&self) {
        say(&format!("== everything passed in {}", in_words(self.started.elapsed())));
        for (name, outcome) in &*self.done.lock().unwrap_or_else(PoisonError::into_inner) {
            match outcome {
                Outcome::Took(took) => say(&format!("   {name:<10} {}", in_words(*took))),
                Outcome::Skipped(why) => say(&format!("   {name:<10} skipped, {why}")),
            }
        }
    }
}

/// Steps that run one after the other.
pub(crate) struct Lane<'a> {
    steps: &'a Steps,
    /// The output of the current step; none if output is shown as it comes.
    kept: Option<RefCell<Vec<u8>>>,
}

impl Lane<'_> {
    /// Does a step, and says how long it took.
    pub(crate) fn step(
        &self,
        name: &'static str,
        what: &str,
        work: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.say(&format!("== {name}: {what}"));
        let started = Instant::now();
        let worked = work();
        let took = started.elapsed();
        let ended = if worked.is_ok() { "done in" } else { "FAILED after" };
        self.say(&format!("== {name}: {ended} {}", in_words(took)));
        self.flush();
        worked?;
        self.steps.push(name, Outcome::Took(took));
        Ok(())
    }

    /// Runs a program as a step.
    pub(crate) fn run(&self, name: &'static str, command: &mut Command) -> Result<(), Failure> {
        self.step(name, &shown(command), || self.call(command))
    }

    /// Skips a step and says why, or fails where skipping is forbidden.
    pub(crate) fn skip(
        &self,
        name: &'static str,
        why: &'static str,
        remedy: &'static str,
    ) -> Result<(), Failure> {
        if std::env::var(SKIP).is_ok_and(|value| value == "deny") {
            return Err(Failure::new(format!("{name} cannot be skipped here: {why}")).hint(remedy));
        }
        self.say(&format!("== {name}: skipped, {why}; {remedy}"));
        self.flush();
        self.steps.push(name, Outcome::Skipped(why));
        Ok(())
    }

    /// Runs a program to its end within a step.
    pub(crate) fn call(&self, command: &mut Command) -> Result<(), Failure> {
        let status = match &self.kept {
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
            Ok(status) => format!("`{}` failed with {status}", shown(command)),
            Err(error) => format!("`{}` could not be started: {error}", shown(command)),
        };
        Err(Failure::new(what))
    }

    fn say(&self, text: &str) {
        match &self.kept {
            None => say(text),
            Some(kept) => kept.borrow_mut().extend(format!("{text}\n").bytes()),
        }
    }

    fn flush(&self) {
        if let Some(kept) = &self.kept {
            // One call, so that the lines of two lanes do not mix.
            let _ = io::stdout().write_all(&kept.take());
        }
    }
}

/// Makes a call of the cargo that runs this chore.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args);
    command
}

/// Tells whether a program runs and succeeds, without showing its output.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Prints a line.
pub(crate) fn say(text: &str) {
    // A closed standard output is no reason to stop.
    let _ = writeln!(io::stdout(), "{text}");
}

/// Prints a line to standard error.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Returns a command as a person would type it.
fn shown(command: &Command) -> String {
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

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        secs @ 60.. => format!("{} min {:02} s", secs / 60, secs % 60),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

impl fmt::Display for Failure {
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
        assert_eq!(shown(&command), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps 'test(a)'");
    }

    #[test]
    fn times_read_as_people_say_them() {
        assert_eq!(in_words(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(in_words(Duration::from_secs(125)), "2 min 05 s");
    }

    #[test]
    fn failing_program_fails_its_step_in_every_lane() {
        let steps = Steps::new();
        for lane in [steps.foreground(), steps.background()] {
            let failure = lane.call(&mut Command::new("false")).expect_err("it fails");
            assert_eq!(failure.to_string(), "error: `false` failed with exit status: 1");
        }
    }

    #[test]
    fn background_lane_keeps_output_until_the_step_is_over() {
        let steps = Steps::new();
        let lane = steps.background();
        lane.call(Command::new("echo").arg("kept")).expect("it runs");
        assert_eq!(lane.kept.as_ref().map(RefCell::take), Some(b"kept\n".to_vec()));
    }
}
