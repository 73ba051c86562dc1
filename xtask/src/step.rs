//! Steps of a chore: each is announced, timed, and stops everything if it fails.

use std::fmt;
use std::io::{self, Write};
use std::process::Command;
use std::time::{Duration, Instant};

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

/// The steps of a chore so far.
pub(crate) struct Steps {
    started: Instant,
    done: Vec<(&'static str, Outcome)>,
}

enum Outcome {
    Took(Duration),
    Skipped(&'static str),
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), done: vec![] }
    }

    /// Does a step, and says how long it took.
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        what: &str,
        work: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        say(&format!("== {name}: {what}"));
        let started = Instant::now();
        work()?;
        let took = started.elapsed();
        say(&format!("== {name}: done in {}", in_words(took)));
        self.done.push((name, Outcome::Took(took)));
        Ok(())
    }

    /// Runs a program as a step.
    pub(crate) fn run(&mut self, name: &'static str, command: &mut Command) -> Result<(), Failure> {
        self.step(name, &shown(command), || run(command))
    }

    /// Leaves a step out, and says why.
    pub(crate) fn skip(&mut self, name: &'static str, why: &'static str) {
        say(&format!("== {name}: skipped, {why}"));
        self.done.push((name, Outcome::Skipped(why)));
    }

    /// Sums up.
    pub(crate) fn finish(&self) {
        say(&format!("== everything passed in {}", in_words(self.started.elapsed())));
        for (name, outcome) in &self.done {
            match outcome {
                Outcome::Took(took) => say(&format!("   {name:<10} {}", in_words(*took))),
                Outcome::Skipped(why) => say(&format!("   {name:<10} skipped, {why}")),
            }
        }
    }
}

/// Makes a call of the cargo that runs this chore.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args);
    command
}

/// Runs a program to its end.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let what = match command.status() {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => format!("`{}` failed with {status}", shown(command)),
        Err(error) => format!("`{}` could not be started: {error}", shown(command)),
    };
    Err(Failure::new(what))
}

/// Tells whether a program runs and is content, without showing what it says.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Prints a line.
pub(crate) fn say(text: &str) {
    // Nobody is left to tell if standard output is closed.
    let _ = writeln!(io::stdout(), "{text}");
}

/// Prints a line where errors go.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Returns a command as a person would type it.
fn shown(command: &Command) -> String {
    let word = |word: &std::ffi::OsStr| word.to_string_lossy().into_owned();
    let settings = command.get_envs().filter_map(|(name, value)| {
        let value = word(value?);
        let quote = if value.contains(' ') { "'" } else { "" };
        Some(format!("{}={quote}{value}{quote}", word(name)))
    });
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
    fn a_command_is_shown_as_it_would_be_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(shown(&command), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }

    #[test]
    fn times_read_as_people_say_them() {
        assert_eq!(in_words(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(in_words(Duration::from_secs(125)), "2 min 05 s");
    }

    #[test]
    fn a_program_that_fails_stops_the_chore() {
        let failure = run(&mut Command::new("false")).expect_err("it fails");
        assert_eq!(failure.to_string(), "error: `false` failed with exit status: 1");
    }
}
