//! What can happen to a story.

use super::{Reason, Step, StoryId, Tests};
use crate::Time;

/// Something that happens to a story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Somebody says: go on.
    Next {
        /// When.
        now: Time,
        /// What a person has to say to the next executor.
        note: Option<String>,
        /// Those of the stories it waits for that are not done.
        open: Vec<StoryId>,
    },
    /// The story goes on as far as it can without an executor: to the step that is next, to a
    /// person, or to its end.
    Onward {
        /// When.
        now: Time,
    },
    /// An executor was stopped before it could come to anything; that is no attempt.
    Stopped,
    /// An executor ended, and this is what came of it.
    Ended(Report),
    /// A person says yes.
    Approve {
        /// What there is to say to the next executor.
        note: Option<String>,
    },
    /// A person says no.
    Reject {
        /// Why, as far as it decides where the story goes.
        reason: Option<Reason>,
        /// What there is to say to the next executor.
        note: Option<String>,
    },
    /// Time passes.
    Poll {
        /// What time it is.
        now: Time,
    },
    /// An executor broke.
    Broke {
        /// When.
        now: Time,
        /// How, in words.
        error: String,
    },
    /// A person puts the story back to a step.
    Rollback {
        /// Where it goes.
        step: Step,
        /// What there is to say to the next executor.
        note: Option<String>,
    },
    /// A person takes a story up again that was done.
    Reopen {
        /// Where it goes on.
        step: Step,
        /// What there is to say to the next executor.
        note: Option<String>,
    },
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// When the executor ended.
    pub at: Time,
    /// How it went.
    pub verdict: Verdict,
    /// What the tests came to, if they ran or the executor said so.
    pub tests: Option<Tests>,
    /// The tests that failed.
    pub failing_tests: Vec<String>,
    /// Whether the check after the step succeeded, if there is one.
    pub lint_pass: Option<bool>,
    /// What the executor says it changed.
    pub files_changed: Vec<String>,
}

/// How a step went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Well.
    Pass,
    /// Not well.
    Failing {
        /// Why, as far as it decides where the story goes.
        reason: Option<Reason>,
        /// What went wrong, if it is more than that tests fail or that the executor says so.
        error: Option<String>,
    },
    /// The executor asks for a person.
    Asked {
        /// Why.
        reason: Option<Reason>,
    },
    /// Nothing says how it went.
    Unknown,
}
