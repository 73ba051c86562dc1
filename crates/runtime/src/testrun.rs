//! The project's tests: how they are run, within limits, and what their output says.
//!
//! Whether a result is good for a story is not known here.

pub mod cargo;
pub mod go;
pub mod jest;
pub mod junit;
pub mod pytest;
pub mod tap;

pub mod command;
pub mod run;

use adjutant_core::pipeline::Tests;

/// The most failing tests that are named.
const NAMED_MAX: usize = 200;

/// The most characters the name of a test has here.
const NAME_CHARS_MAX: usize = 300;

/// What the output of tests says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counted {
    /// How many came to what.
    pub tests: Tests,
    /// The names of those that failed.
    pub failing: Vec<String>,
}

impl Counted {
    /// Takes note of a test that failed.
    fn fail(&mut self, name: &str) {
        self.tests.fail += 1;
        self.name(name);
    }

    fn name(&mut self, name: &str) {
        if self.failing.len() < NAMED_MAX {
            let printable = name.chars().map(|c| if c.is_control() { ' ' } else { c });
            self.failing.push(printable.take(NAME_CHARS_MAX).collect());
        }
    }
}

/// A form that test output can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `go test -json`.
    Go,
    /// `cargo test` or `cargo nextest`.
    Cargo,
    /// pytest's own words.
    Pytest,
    /// `JUnit` XML.
    Junit,
    /// The Test Anything Protocol.
    Tap,
    /// jest's or vitest's JSON.
    Jest,
}

impl Format {
    /// Every format; the more telling ones first.
    pub const ALL: [Self; 6] =
        [Self::Jest, Self::Go, Self::Junit, Self::Tap, Self::Cargo, Self::Pytest];

    /// Returns the name that rules use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::Cargo => "cargo",
            Self::Pytest => "pytest",
            Self::Junit => "junit",
            Self::Tap => "tap",
            Self::Jest => "jest",
        }
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == text)
    }

    /// Counts what output of this form says; none if it is no such output.
    pub fn count(self, text: &str) -> Option<Counted> {
        match self {
            Self::Go => go::count(text),
            Self::Cargo => cargo::count(text),
            Self::Pytest => pytest::count(text),
            Self::Junit => junit::count(text),
            Self::Tap => tap::count(text),
            Self::Jest => jest::count(text),
        }
    }
}

/// Counts what output says, in the form it is said to have or else the first that fits.
pub fn count(text: &str, format: Option<Format>) -> Option<Counted> {
    match format {
        Some(format) => format.count(text),
        None => Format::ALL.into_iter().find_map(|format| format.count(text)),
    }
}
