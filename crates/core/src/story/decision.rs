//! The result of advancing a story, and the answer for the caller.

use super::{Step, StoryHold, StoryId, StoryState};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoryDecision {
    pub state: StoryState,
    pub result: AdvanceResult,
}

/// The answer for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdvanceResult {
    /// The caller must start an executor for the current step and attempt.
    Dispatched,
    /// An executor is still running.
    Running {
        /// Whole minutes since it was started.
        minutes: u64,
    },
    NeedsHuman(StoryHold),
    TimedOut,
    /// These stories must be done first.
    Blocked(Vec<StoryId>),
    Done,
    /// The report of an executor was recorded.
    Recorded,
    /// The story moved; the next call continues at the current step.
    Moved,
    Nothing,
    /// The input was refused, and the state did not change.
    Refused(StoryRefusal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoryRefusal {
    /// No executor works on the step, so there can be no report about it.
    NotRunning,
    /// The executor timed out before it reported.
    TooLate,
    StillRunning,
    NotWaiting,
    AlreadyDone,
    /// The story is not done, so it cannot be reopened.
    NotDone,
    /// The story cannot be sent to this step.
    BadStep(Step),
}

impl AdvanceResult {
    /// Returns the stable word for scripts.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Dispatched => "dispatched",
            Self::Running { .. } => "running",
            Self::NeedsHuman(_) => "needs_human",
            Self::TimedOut => "timeout",
            Self::Blocked(_) => "blocked",
            Self::Done => "done",
            Self::Recorded => "recorded",
            Self::Moved => "moved",
            Self::Nothing => "nothing",
            Self::Refused(_) => "refused",
        }
    }
}

impl StoryRefusal {
    /// Returns the stable word for scripts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotRunning => "not_running",
            Self::TooLate => "too_late",
            Self::StillRunning => "still_running",
            Self::NotWaiting => "nothing_waits",
            Self::AlreadyDone => "already_done",
            Self::NotDone => "not_done",
            Self::BadStep(_) => "bad_step",
        }
    }

    /// Returns the explanation for people.
    pub fn meaning(self) -> String {
        match self {
            Self::NotRunning => "no executor is working on the step, so there is no result to \
                                 record"
                .into(),
            Self::TooLate => "the step timed out before the executor reported".into(),
            Self::StillRunning => "an executor is still working on the step".into(),
            Self::NotWaiting => "the story does not wait for a person".into(),
            Self::AlreadyDone => "the story is done".into(),
            Self::NotDone => "the story is not done".into(),
            Self::BadStep(step) => format!("a story cannot be set to the step {step}"),
        }
    }
}
