//! Runs the project's tests within limits, and parses their output.
//!
//! It does not know whether a result is good enough for a story.

pub mod cargo;
pub mod go;
pub mod jest;
pub mod junit;
pub mod pytest;
pub mod tap;
pub mod unittest;

pub mod bounded_output;
pub mod limited_command;
pub mod test_command;

use adjutant_core::story::TestTotals;

/// The most failing tests that are named.
const NAMED_MAX: usize = 200;

/// Longer test names are cut off.
const NAME_CHARS_MAX: usize = 300;

/// The test counts that were parsed from output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParsedTestCounts {
    /// The number of tests by result.
    pub tests: TestTotals,
    pub failing: Vec<String>,
}

impl ParsedTestCounts {
    /// Counts a failed test.
    fn add_failure(&mut self, name: &str) {
        self.tests.fail += 1;
        self.add_failing_name(name);
    }

    fn add_failing_name(&mut self, name: &str) {
        if self.failing.len() < NAMED_MAX {
            let printable = name.chars().map(|c| if c.is_control() { ' ' } else { c });
            self.failing.push(printable.take(NAME_CHARS_MAX).collect());
        }
    }
}

/// A format of test output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestFormat {
    Go,
    Cargo,
    /// pytest's text output.
    Pytest,
    Junit,
    Tap,
    /// The text output of Python's unittest.
    Unittest,
    /// The JSON of jest or vitest.
    Jest,
}

impl TestFormat {
    /// All formats, the most specific first.
    pub const ALL: [Self; 7] =
        [Self::Jest, Self::Go, Self::Junit, Self::Tap, Self::Cargo, Self::Pytest, Self::Unittest];

    /// Returns the name used in step rules.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::Cargo => "cargo",
            Self::Pytest => "pytest",
            Self::Junit => "junit",
            Self::Tap => "tap",
            Self::Unittest => "unittest",
            Self::Jest => "jest",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == text)
    }

    /// Parses output in this format; `None` if it is in another one.
    pub fn count(self, text: &str) -> Option<ParsedTestCounts> {
        match self {
            Self::Go => go::count(text),
            Self::Cargo => cargo::count(text),
            Self::Pytest => pytest::count(text),
            Self::Junit => junit::count(text),
            Self::Tap => tap::count(text),
            Self::Unittest => unittest::count(text),
            Self::Jest => jest::count(text),
        }
    }
}

/// Parses output in the given format, or else in the first that fits.
pub fn count(text: &str, format: Option<TestFormat>) -> Option<ParsedTestCounts> {
    match format {
        Some(format) => format.count(text),
        None => TestFormat::ALL.into_iter().find_map(|format| format.count(text)),
    }
}
