//! What the outside is asked to do after a commit.

use crate::id::TaskId;
use crate::name::AgentId;
use crate::notice::Notice;

/// Something owed to the outside, committed together with the events that owe it. Each can be done
/// twice without harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Tells people what a rule wants them to be told.
    Notify {
        /// The name of the rule.
        rule: Box<str>,
        /// What they are told.
        notice: Box<Notice>,
    },
    /// Starts the agent that was given a task. A run that was started is not started again.
    StartRun {
        /// The task.
        task: TaskId,
        /// Who is to work on it.
        agent: AgentId,
        /// The number of the run.
        attempt: u32,
        /// Its fence.
        fence: u64,
    },
    /// Ends a run and everything it started, and tells how it ended.
    StopRun {
        /// The task.
        task: TaskId,
        /// The fence of the run.
        fence: u64,
        /// Why.
        reason: Stop,
    },
    /// Notes that everything a run printed up to a message was taken, so that it is not taken
    /// again.
    NoteTaken {
        /// The task.
        task: TaskId,
        /// The number of the run.
        attempt: u32,
        /// The number of the message in the run.
        seq: u64,
    },
    /// Tells a run what a person answered to its question.
    TellRun {
        /// The task.
        task: TaskId,
        /// The number of the run.
        attempt: u32,
        /// The number of the question.
        number: u32,
        /// The choice, by what the agent knows it by; none if it is refused and has no choice for
        /// that.
        choice: Option<String>,
    },
    /// Looks into what a run said that is over: what it changed, and whether its checks pass.
    CheckWork {
        /// The task.
        task: TaskId,
        /// The number of the run.
        attempt: u32,
        /// Its fence.
        fence: u64,
    },
    /// Brings the work on a task into its base.
    MergeWork {
        /// The task.
        task: TaskId,
        /// The number of the run that did the work.
        attempt: u32,
    },
}

/// Why a run must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It has reported. It is given the time to end by itself first.
    Reported,
    /// Its task was given up.
    Cancelled,
    /// Somebody moved its task, or took it away.
    Moved,
    /// Its lease went to nobody or to somebody else.
    LeaseLost,
}

impl Stop {
    /// Every reason there is.
    pub const ALL: [Self; 4] = [Self::Reported, Self::Cancelled, Self::Moved, Self::LeaseLost];

    /// Returns the reason as the journal writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Cancelled => "cancelled",
            Self::Moved => "moved",
            Self::LeaseLost => "lease_lost",
        }
    }

    /// Parses a reason as the journal writes it.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stop| stop.as_str() == text)
    }
}
