//! Notices to people: their kinds, and the rules that select and time them.
//!
//! This module does not know what a target is or how to reach it: a rule has a name, and the code
//! that delivers finds the target by that name.

use serde::{Deserialize, Serialize};

use crate::text_value::word_enum;

mod quiet_hours;

use std::collections::BTreeSet;

pub use quiet_hours::{BadQuietHours, QuietHours};

use crate::actor::{Actor, AgentId};
use crate::event_id::EventId;
use crate::priority::Priority;
use crate::task::Task;
use crate::task_id::TaskId;
use crate::time::Time;

word_enum! {
    /// What a notice is about.
    #[strum(serialize_all = "lowercase")]
    pub enum NoticeKind {
        Review,
        Blocked,
        Done,
        /// The task used up its attempts.
        Deadletter,
        Cancelled,
        /// An agent asks a person a question.
        Question,
        /// A report that does not count was salvaged, and a person may apply it.
        Salvage,
        /// An agent is parked until a person acts.
        Unusable,
        /// A merge waits for a person.
        Merge,
        /// The scheduler cannot assign a task as it is.
        Held,
        /// An attempt failed; the task may be tried again.
        Failed,
        /// A caller was not authenticated, or lacked the right for its request.
        Refused,
    }
}

/// A notice to an operator about one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorNotice {
    pub kind: NoticeKind,
    pub event: EventId,
    /// The time of the event.
    pub at: Time,
    /// `None` if the event is not about a task.
    #[serde(rename = "taskId", default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The title of the task.
    pub title: String,
    /// The reason, as the actor gave it.
    pub reason: String,
    /// The actor that caused the event.
    pub by: Actor,
}

/// A rule of the configuration: which notices go to its target, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyRule {
    /// Identifies the target.
    pub name: Box<str>,
    /// The kinds of event that the rule reports.
    pub on: BTreeSet<NoticeKind>,
    /// Only work of these agents; if empty, of all agents.
    pub agents: Vec<AgentId>,
    /// Only tasks with one of these tags; if empty, all tasks.
    pub tags: Vec<Box<str>>,
    /// Only tasks of at least this priority.
    pub priority: Priority,
    /// Notices wait until the quiet hours end, except urgent ones.
    pub quiet: Option<QuietHours>,
    /// The kinds that are sent at once and alone, also in quiet hours.
    pub urgent: BTreeSet<NoticeKind>,
    /// How long notices are collected into one message.
    pub batch_ms: i64,
    /// The wait after the first failed delivery.
    pub backoff_ms: i64,
    /// After this many failures in a row, all due notices are given up.
    pub attempts_max: u32,
}

impl NotifyRule {
    /// Makes a rule that sends these kinds at once and at any time.
    pub fn immediate(name: &str, on: impl IntoIterator<Item = NoticeKind>) -> Self {
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

    /// Returns whether the rule's filters (agents, tags, priority) accept a task.
    pub fn matches_task(&self, task: &Task) -> bool {
        let last = task.last_run.as_ref().map(|run| &run.agent);
        let works = task.lease().map(|lease| &lease.agent).or(last).or(task.routing.agent.as_ref());
        let agent = self.agents.is_empty() || works.is_some_and(|name| self.agents.contains(name));
        let tags = &task.routing.tags;
        let tagged = self.tags.is_empty() || tags.iter().any(|tag| self.tags.contains(tag));
        agent && tagged && task.priority <= self.priority
    }

    /// Returns whether the rule has no filter, so that it accepts every task.
    pub fn matches_all_tasks(&self) -> bool {
        self.agents.is_empty() && self.tags.is_empty() && self.priority == Priority::Low
    }
}

impl NoticeKind {
    /// The kinds that put a task or an agent into the inbox.
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

    /// Describes the event as the end of a sentence about a task.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Review => "waits for review",
            Self::Blocked => "is blocked",
            Self::Done => "is done",
            Self::Deadletter => "was given up (deadletter)",
            Self::Cancelled => "was cancelled",
            Self::Question => "needs an answer",
            Self::Salvage => "has a report that was not applied",
            Self::Unusable => "waits for an agent that cannot be used",
            Self::Merge => "cannot be merged yet",
            Self::Held => "cannot be assigned",
            Self::Failed => "had a failed attempt",
            Self::Refused => "a request was refused",
        }
    }
}
