//! The inputs of the story state machine.

use adjutant_model::Time;

use super::{ExecutorMessage, Step, StepFailReason, StoryId, TestTotals};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoryInput {
    /// Continue: go to the next step and start its executor.
    Next {
        now: Time,
        /// A person's message to the next executor.
        note: Option<String>,
        /// The stories that this story waits for and that are not done.
        open: Vec<StoryId>,
    },
    /// Continue as far as possible without starting an executor: to the next step, to a person, or
    /// to the end.
    NextWithoutDispatch {
        now: Time,
    },
    /// An executor was stopped before it could report; this does not count as an attempt.
    Stopped,
    Ended(StepReport),
    Approve {
        /// A person's message to the next executor.
        note: Option<String>,
    },
    Reject {
        /// The reason, which may select the next step.
        reason: Option<StepFailReason>,
        /// A person's message to the next executor.
        note: Option<String>,
    },
    /// Check whether the executor has timed out.
    Poll {
        now: Time,
    },
    /// The executor failed without a report.
    Failed {
        now: Time,
        error: String,
    },
    /// A person sends the story back to a step.
    Rollback {
        step: Step,
        /// A person's message to the next executor.
        note: Option<String>,
    },
    /// A person reopens a story that was done.
    Reopen {
        step: Step,
        /// A person's message to the next executor.
        note: Option<String>,
    },
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepReport {
    /// When the executor ended.
    pub at: Time,
    pub verdict: StepVerdict,
    pub tests: MeasuredTests,
    /// The result of the check after the step; `None` if there is no check.
    pub lint_pass: Option<bool>,
    /// The files that the executor says it changed.
    pub files_changed: Vec<String>,
    /// What the executor says beside the result.
    pub message: Option<ExecutorMessage>,
}

/// What the tests of a step showed. Only what was measured counts, never what an executor claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeasuredTests {
    /// The step needs no tests, so the counts of the last test run stay.
    NotNeeded,
    /// The tests were not run, or their output could not be counted.
    Unknown,
    Counted {
        totals: TestTotals,
        failing: Vec<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepVerdict {
    Pass,
    Failing {
        /// The reason, which may select the next step.
        reason: Option<StepFailReason>,
        /// What went wrong, if it is more than failing tests or a claim of failure.
        error: Option<String>,
    },
    /// The executor asks for a person.
    NeedsHuman {
        reason: Option<StepFailReason>,
        /// What went wrong, if a person is asked although the executor did not ask for one.
        error: Option<String>,
    },
    /// Neither a claim nor a measurement says how the step went.
    Unknown,
}
