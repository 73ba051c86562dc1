//! The one answer every input gets, whatever channel it came by.

use std::fmt;

use crate::id::TaskId;
use crate::status::Status;

/// What became of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The result, in one word.
    pub verdict: Verdict,
    /// Why, where there is something to say.
    pub reason: Option<Reason>,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// Where the task stands now.
    pub status: Option<Status>,
    /// Everything that is wrong with it.
    pub problems: Vec<Problem>,
}

/// The result of an input, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It was done, durably.
    Applied,
    /// There was nothing left to do.
    Noop,
    /// A rule said no; nothing changed.
    Rejected,
    /// A message of a type nobody here knows.
    Unknown,
    /// Not meant for us.
    Ignored,
}

/// One thing that is wrong with a document, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where in the document, as `payload.tests.total`; empty for the whole of it.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// Why an input was not simply applied. Scripts rely on these words.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Reason { $($(#[doc = $doc])+ $name,)+ }

        impl Reason {
            /// Every reason there is.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Returns the reason as the record writes it.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// Parses a reason as the record writes it.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|reason| reason.as_str() == text)
            }

            /// Returns what the reason means, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+),)+ }
            }
        }
    };
}

reasons! {
    /// The text announces a message and is not JSON.
    InvalidJson = "invalid_json",
    /// The text looks like a mission or a result and is not the plain YAML it must be.
    InvalidYaml = "invalid_yaml",
    /// The message does not have the form it must have; the errors name every place.
    InvalidEnvelope = "invalid_envelope",
    /// The message is larger than 1 MiB.
    PayloadTooLarge = "payload_too_large",
    /// The message is nested deeper than 64 levels.
    NestingTooDeep = "nesting_too_deep",
    /// The type of the message is not known here.
    UnknownType = "unknown_type",
    /// There is no such task.
    TaskNotFound = "task_not_found",
    /// The task's file cannot be read; `adjutant doctor` says why.
    TaskUnreadable = "task_unreadable",
    /// The payload speaks of another task than the envelope.
    TaskIdMismatch = "taskId_mismatch",
    /// The payload names another sender than the envelope.
    AgentIdMismatch = "agentId_mismatch",
    /// The sender may not speak for this task.
    UnauthorizedAgent = "unauthorized_agent",
    /// The message comes from a run that has been replaced.
    StaleRun = "stale_run",
    /// Messages must carry a run token here, and this one has none.
    TokenRequired = "token_required",
    /// The run token in the message was never given out for this task.
    UnknownToken = "unknown_token",
    /// There is a task of this id that was sent with other content.
    TaskConflict = "task_conflict",
    /// The task was itself delegated and cannot be delegated further.
    NestedDelegation = "nested_delegation",
    /// There is no such parent task.
    ParentNotFound = "parent_not_found",
    /// There is no such task to depend on.
    DependencyNotFound = "dependency_not_found",
    /// The task would depend on itself, by one way or another.
    DependencyCycle = "dependency_cycle",
    /// The task is done or cancelled.
    TaskClosed = "task_closed",
    /// The table of moves has no such move.
    InvalidTransition = "invalid_transition",
    /// Who did the work cannot also approve it.
    SelfApproval = "self_approval",
    /// Only an operator may do this, and the command was called inside a run.
    OperatorOnly = "operator_only",
    /// What the command was given does not fit.
    InvalidArgument = "invalid_argument",
    /// An entry of `acceptanceCriteria` is no text and was dropped.
    InvalidAcceptanceCriteria = "invalid_acceptance_criteria",
    /// Something about a document is odd and did not stop it.
    OddDocument = "odd_document",
    /// A run did not keep to a constraint of its task, or left out what was expected of it.
    ConstraintBreached = "constraint_breached",
    /// The file that `summaryRef` names is not there.
    SummaryFileNotFound = "summary_file_not_found",
    /// `outputs/handoff.md` is not there.
    HandoffFileNotFound = "handoff_file_not_found",
    /// A `run_result.json` does not have the form it must have.
    InvalidRunResult = "invalid_run_result",
    /// There is no such report among those that came too late.
    SalvageNotFound = "salvage_not_found",
    /// The report that came too late does not say what came of the work.
    SalvageUnusable = "salvage_unusable",
    /// The task waits for a task that was given up, not for an answer.
    HeldBack = "held_back",
    /// The task is a story, whose own files say where it stands.
    StoryOwned = "story_owned",
    /// Nobody is there to take the message: it is kept with its run, and counts when somebody is.
    KeptForLater = "kept_for_later",
    /// There is no task for the agent now.
    NothingToDo = "nothing_to_do",
    /// Nobody is let in here without a token that was given out.
    Unauthenticated = "unauthenticated",
    /// The call was made to a name that is not this server's.
    ForeignHost = "foreign_host",
    /// The call was made by a page that is not this server's.
    ForeignOrigin = "foreign_origin",
    /// A change asked for by a browser did not show that it came from our own page.
    ForgedRequest = "forged_request",
    /// A run may do this for its own task only.
    NotYourTask = "not_your_task",
    /// There were too many calls, or too many at once.
    TooManyRequests = "too_many_requests",
    /// The call took too long to be made.
    TooSlow = "too_slow",
}

impl Verdict {
    /// Every verdict there is.
    pub const ALL: [Self; 5] =
        [Self::Applied, Self::Noop, Self::Rejected, Self::Unknown, Self::Ignored];

    /// Parses a verdict as answers write it.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == text)
    }

    /// Returns the verdict as answers write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Noop => "noop",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
            Self::Ignored => "ignored",
        }
    }
}

impl Answer {
    /// Makes an answer that says no more than its verdict.
    pub fn plain(verdict: Verdict) -> Self {
        Self { verdict, reason: None, task: None, status: None, problems: Vec::new() }
    }

    /// Makes a refusal.
    pub fn rejected(reason: Reason, task: Option<TaskId>) -> Self {
        Self { reason: Some(reason), task, ..Self::plain(Verdict::Rejected) }
    }
}

impl Problem {
    /// Names a problem at a place.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
