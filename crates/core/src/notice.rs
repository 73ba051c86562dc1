//! Notices: what people are told, by which rule, and when.
//!
//! What a target is and how it is reached is not known here: a rule has a name, and whoever
//! delivers finds the target by it.

mod quiet;
mod tell;
mod turn;

use std::collections::BTreeSet;

pub use quiet::{BadQuiet, Quiet};
pub(crate) use tell::tell;
pub use turn::{Failed, Standing, Turn, due, next};

use crate::event::EventId;
use crate::id::TaskId;
use crate::name::{Actor, AgentId};
use crate::priority::Priority;
use crate::task::Task;
use crate::time::Time;

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A task came to review.
    Review,
    /// A task came to blocked.
    Blocked,
    /// A task is done.
    Done,
    /// A task was given up after too many attempts.
    Deadletter,
    /// A task was cancelled.
    Cancelled,
    /// An agent asks something.
    Question,
    /// A report came that does not count, and may be let count.
    Salvage,
    /// An agent cannot be used until a person does something.
    Unusable,
    /// A merge waits for a person.
    Merge,
    /// A task cannot be given out as it is.
    Held,
    /// An attempt came to nothing.
    Failed,
    /// Somebody was not let in, or asked for more than they may.
    Refused,
}

/// What somebody is to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it is about.
    pub kind: Kind,
    /// The event it tells of.
    pub event: EventId,
    /// When that was.
    pub at: Time,
    /// The task, if it is about one.
    pub task: Option<TaskId>,
    /// What the task is called.
    pub title: String,
    /// Why, in the words of whoever caused it.
    pub reason: String,
    /// Who caused it.
    pub by: Actor,
}

/// Who is told of what, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What its target is found by.
    pub name: Box<str>,
    /// What is told.
    pub on: BTreeSet<Kind>,
    /// Of whose work; of everybody's if nobody is named.
    pub agents: Vec<AgentId>,
    /// Of tasks with one of these tags; of all if none is named.
    pub tags: Vec<Box<str>>,
    /// Of tasks that are at least so urgent.
    pub priority: Priority,
    /// When nothing is told.
    pub quiet: Option<Quiet>,
    /// What is told in quiet times too, and by itself.
    pub urgent: BTreeSet<Kind>,
    /// How long notices are gathered to be told as one, in milliseconds.
    pub batch_ms: i64,
    /// How long the first wait after a failure is.
    pub backoff_ms: i64,
    /// After how many failures in a row everything that is due is given up.
    pub attempts_max: u32,
}

impl Rule {
    /// Makes a rule that tells of these at once and at any time.
    pub fn plain(name: &str, on: impl IntoIterator<Item = Kind>) -> Self {
        Self {
            name: name.into(),
            on: on.into_iter().collect(),
            agents: vec![],
            tags: vec![],
            priority: Priority::Low,
            quiet: None,
            urgent: BTreeSet::new(),
            batch_ms: 0,
            backoff_ms: 5_000,
            attempts_max: 20,
        }
    }

    /// Says whether a task is one of those that are told of.
    fn wants(&self, task: &Task) -> bool {
        let last = task.last_run.as_ref().map(|run| &run.agent);
        let works = task.lease().map(|lease| &lease.agent).or(last).or(task.routing.agent.as_ref());
        let agent = self.agents.is_empty() || works.is_some_and(|name| self.agents.contains(name));
        let tags = &task.routing.tags;
        let tagged = self.tags.is_empty() || tags.iter().any(|tag| self.tags.contains(tag));
        agent && tagged && task.priority <= self.priority
    }

    /// Says whether anybody is told of everything, whichever task it is about.
    fn wants_all(&self) -> bool {
        self.agents.is_empty() && self.tags.is_empty() && self.priority == Priority::Low
    }
}

impl Kind {
    /// Every kind there is.
    pub const ALL: [Self; 12] = [
        Self::Review,
        Self::Blocked,
        Self::Done,
        Self::Deadletter,
        Self::Cancelled,
        Self::Question,
        Self::Salvage,
        Self::Unusable,
        Self::Merge,
        Self::Held,
        Self::Failed,
        Self::Refused,
    ];

    /// What puts something into the inbox of a person.
    pub const INBOX: [Self; 8] = [
        Self::Review,
        Self::Blocked,
        Self::Deadletter,
        Self::Question,
        Self::Salvage,
        Self::Unusable,
        Self::Merge,
        Self::Held,
    ];

    /// Returns the word of the configuration and the record.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Review => "review",
            Self::Blocked => "blocked",
            Self::Done => "done",
            Self::Deadletter => "deadletter",
            Self::Cancelled => "cancelled",
            Self::Question => "question",
            Self::Salvage => "salvage",
            Self::Unusable => "unusable",
            Self::Merge => "merge",
            Self::Held => "held",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
    }

    /// Parses a kind as the configuration and the record write it.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// Says what happened, as the end of a sentence about a task.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Review => "waits for review",
            Self::Blocked => "is blocked",
            Self::Done => "is done",
            Self::Deadletter => "was given up after too many attempts",
            Self::Cancelled => "was cancelled",
            Self::Question => "asks something",
            Self::Salvage => "has a report that did not count",
            Self::Unusable => "waits for an agent that cannot be used",
            Self::Merge => "waits to be merged",
            Self::Held => "cannot be given out",
            Self::Failed => "had an attempt without a result",
            Self::Refused => "somebody was refused",
        }
    }
}
