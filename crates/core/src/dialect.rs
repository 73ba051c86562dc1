//! The dialects: what each is called, and the one table of what each of its statuses becomes.

mod document;
mod read;
mod report;

pub use document::{Document, DocumentKind, ORDER_BYTES_MAX};
pub use read::{Yaml, read, read_as, read_left};
pub use report::Report;

use std::fmt;

use crate::completion::Outcome;

/// A way to say "do this" and "here is what came of it".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// AOF/1: a `handoff.request`, answered by a `completion.report`.
    Aof,
    /// Agent Protocol v1: a mission, answered by a result.
    Mission,
    /// `new_task`, answered by an `attempt_completion`.
    NewTask,
    /// Plain words, answered by `adjutant report`.
    Prompt,
}

/// What a status of a dialect becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The dialect.
    pub dialect: Dialect,
    /// The status, as the dialect writes it.
    pub status: &'static str,
    /// What it becomes.
    pub outcome: Outcome,
    /// What stands before the reason.
    pub prefix: &'static str,
    /// Whether a person is asked something.
    pub asks: bool,
}

const fn row(
    dialect: Dialect,
    status: &'static str,
    outcome: Outcome,
    prefix: &'static str,
) -> Row {
    Row { dialect, status, outcome, prefix, asks: false }
}

/// What each status of each dialect becomes. `docs/dialects.md` prints it.
pub const TABLE: [Row; 11] = [
    row(Dialect::Aof, "done", Outcome::Done, ""),
    row(Dialect::Aof, "blocked", Outcome::Blocked, ""),
    row(Dialect::Aof, "needs_review", Outcome::NeedsReview, ""),
    row(Dialect::Aof, "partial", Outcome::Partial, ""),
    row(Dialect::Mission, "completed", Outcome::Done, ""),
    row(Dialect::Mission, "failed", Outcome::Blocked, "failed: "),
    row(Dialect::Mission, "blocked", Outcome::Blocked, ""),
    row(Dialect::NewTask, "success", Outcome::Done, ""),
    row(Dialect::NewTask, "failure", Outcome::Blocked, "failed: "),
    Row {
        asks: true,
        ..row(Dialect::NewTask, "clarification_needed", Outcome::Blocked, "clarification needed: ")
    },
    row(Dialect::NewTask, "conflict_detected", Outcome::Blocked, "conflict: "),
];

/// Returns what a status of a dialect becomes; none if it has no such status.
pub fn meaning(dialect: Dialect, status: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.dialect == dialect && row.status == status)
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 4] = [Self::Aof, Self::Mission, Self::NewTask, Self::Prompt];

    /// Returns the word commands and the configuration have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Aof => "aof",
            Self::Mission => "mission",
            Self::NewTask => "new_task",
            Self::Prompt => "prompt",
        }
    }

    /// Parses the word commands and the configuration have for it.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.as_str() == text)
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
