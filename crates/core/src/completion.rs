//! Completion: what an agent says came of its work, and the moves that follow from it.

use std::fmt;

use crate::id::TaskId;
use crate::name::AgentId;
use crate::path::RelPath;
use crate::status::Status;
use crate::task::Review;
use crate::time::Stamp;

/// Where an agent leaves its hand-over, in its task's folder.
pub const HANDOFF_REF: &str = "outputs/handoff.md";

/// What came of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// All of it is there.
    Done,
    /// It cannot go on.
    Blocked,
    /// Somebody should look before it goes on.
    NeedsReview,
    /// A part of it is there.
    Partial,
}

/// How many tests ran, and how they went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TestReport {
    /// All of them.
    pub total: u64,
    /// Those that passed.
    pub passed: u64,
    /// Those that failed.
    pub failed: u64,
}

/// The payload of a `completion.report`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// What came of the work.
    pub outcome: Outcome,
    /// Where the summary lies.
    pub summary_ref: RelPath,
    /// The files it left.
    pub deliverables: Vec<RelPath>,
    /// How the tests went.
    pub tests: TestReport,
    /// What it waits for.
    pub blockers: Vec<String>,
    /// Anything else.
    pub notes: String,
}

/// A completion with who sent it and when: what `run_result.json` holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunResult {
    /// The task it is about.
    pub task: TaskId,
    /// Who sent it.
    pub agent: AgentId,
    /// When it was sent.
    pub completed_at: Stamp,
    /// What it says.
    pub completion: Completion,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 4] = [Self::Done, Self::Blocked, Self::NeedsReview, Self::Partial];

    /// Returns the outcome as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::NeedsReview => "needs_review",
            Self::Partial => "partial",
        }
    }

    /// Parses an outcome as it is written.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == text)
    }

    /// Returns where the task goes from this outcome, in order.
    pub const fn targets(self, review: Review) -> &'static [Status] {
        match (self, review) {
            (Self::Done, Review::NotNeeded) => &[Status::Review, Status::Done],
            (Self::Done, Review::Required) | (Self::NeedsReview | Self::Partial, _) => {
                &[Status::Review]
            }
            (Self::Blocked, _) => &[Status::Blocked],
        }
    }
}

/// Returns the moves an outcome asks for from a status: a target the task is already in drops out.
pub fn moves(from: Status, outcome: Outcome, review: Review) -> Vec<Status> {
    if from.is_closed() {
        return Vec::new();
    }
    let targets = outcome.targets(review);
    targets.iter().copied().filter(|target| *target != from).collect()
}

impl Completion {
    /// Returns the reason for the moves: what it waits for if it is blocked, else the notes.
    pub fn reason(&self) -> String {
        match self.outcome {
            Outcome::Blocked if !self.blockers.is_empty() => self.blockers.join("; "),
            _ => self.notes.clone(),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_lead_where_the_protocol_says() {
        use Status::{Blocked, Cancelled, Done, InProgress, Review as InReview};
        let check = |from, outcome, review, expected: &[Status]| {
            assert_eq!(moves(from, outcome, review), expected, "{from} {outcome}");
        };
        check(InProgress, Outcome::Done, Review::Required, &[InReview]);
        check(InProgress, Outcome::Done, Review::NotNeeded, &[InReview, Done]);
        check(InProgress, Outcome::Blocked, Review::Required, &[Blocked]);
        check(InProgress, Outcome::NeedsReview, Review::NotNeeded, &[InReview]);
        check(InProgress, Outcome::Partial, Review::NotNeeded, &[InReview]);
        check(InReview, Outcome::Partial, Review::Required, &[]);
        check(InReview, Outcome::Done, Review::NotNeeded, &[Done]);
        check(Blocked, Outcome::Blocked, Review::Required, &[]);
        check(Done, Outcome::Partial, Review::Required, &[]);
        check(Cancelled, Outcome::Done, Review::NotNeeded, &[]);
    }
}
