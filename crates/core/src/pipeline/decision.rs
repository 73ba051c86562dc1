//! What was decided about a story, and how a caller is told.

use super::{Hold, State, Step, StoryId};

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Where the story stands now.
    pub state: State,
    /// What is said about it.
    pub said: Said,
}

/// What is said about a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// An executor is to be started for the present step and attempt.
    Dispatched,
    /// An executor is at work.
    Running {
        /// For how many whole minutes.
        minutes: u64,
    },
    /// A person is waited for.
    Waits(Hold),
    /// An executor took too long.
    TimedOut,
    /// Other stories must be done first.
    Blocked(Vec<StoryId>),
    /// Nothing is left to do.
    Done,
    /// What an executor left was taken in.
    Recorded,
    /// What a person said was taken in; the next call goes on at the present step.
    Moved,
    /// There was nothing to do.
    Nothing,
    /// A rule said no, and nothing changed.
    Refused(Refusal),
}

/// Why a rule said no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody works on the step, so nothing can have come of it.
    NotRunning,
    /// The executor was given up before; what it left came too late.
    TooLate,
    /// An executor is at work.
    StillRunning,
    /// No person is waited for.
    NothingWaits,
    /// The story is done.
    AlreadyDone,
    /// The story is not done, so it cannot be taken up again.
    NotDone,
    /// A story cannot be put to this step.
    BadStep(Step),
}

impl Said {
    /// Returns the word that scripts rely on.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Dispatched => "dispatched",
            Self::Running { .. } => "running",
            Self::Waits(_) => "needs_human",
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

impl Refusal {
    /// Returns the word that scripts rely on.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NotRunning => "not_running",
            Self::TooLate => "too_late",
            Self::StillRunning => "still_running",
            Self::NothingWaits => "nothing_waits",
            Self::AlreadyDone => "already_done",
            Self::NotDone => "not_done",
            Self::BadStep(_) => "bad_step",
        }
    }

    /// Says it in words.
    pub fn meaning(self) -> String {
        match self {
            Self::NotRunning => "nobody works on the step, so nothing can have come of it".into(),
            Self::TooLate => "the executor was given up before it reported".into(),
            Self::StillRunning => "an executor is at work".into(),
            Self::NothingWaits => "no person is waited for".into(),
            Self::AlreadyDone => "the story is done".into(),
            Self::NotDone => "the story is not done".into(),
            Self::BadStep(step) => format!("a story cannot be put to the step {step}"),
        }
    }
}
