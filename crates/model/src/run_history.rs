//! What the scheduler records about a task: its attempts, its waits, and why it does not run.

use serde::{Deserialize, Serialize};

use crate::encoding::lenient;
use crate::node_id::NodeId;
use crate::permission::PermissionRequest;
use crate::run::RunRef;
use crate::text_value::word_enum;
use crate::time::Time;
use crate::usage::{ParkedAgent, TaskUsage};
use crate::work::{PendingMerge, RefusedMerge, TaskWork, WorkClaim};

/// What the scheduler records about a task, stored in its front matter under `metadata`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunHistory {
    /// The run that was started and whose end is not recorded yet. It keeps its slot and its task.
    pub open: Option<RunRef>,
    /// The fleet node that supervises the last run and has its files; `None` on one machine.
    pub node: Option<NodeId>,
    /// The failed attempts since the count was last reset.
    pub failures: Vec<FailedAttempt>,
    /// The task is not tried again before this time.
    pub not_before: Option<Time>,
    /// The last attempt that failed or was deferred.
    pub expired: Option<ExpiredRun>,
    /// Set if the scheduler moved the task to `blocked`. The scheduler unblocks only such tasks.
    pub blocked_by: Option<BlockedBy>,
    /// Why the task is blocked, in review, or in the deadletter folder.
    pub reason: Option<Box<str>>,
    /// An operator's answer, for the agent of the next run.
    pub answer: Option<Box<str>>,
    /// An agent's question, until an operator answers or the task continues without an answer.
    pub question: Option<Box<AgentQuestion>>,
    /// The permission that the current run waits for.
    pub permit: Option<Box<PermissionRequest>>,
    /// `None` if the agents reported no usage, session or problem.
    pub account: Option<Box<TaskUsage>>,
    /// The commands that must pass before the work counts as done; `None` if the agent's or the
    /// project's checks apply.
    pub checks: Option<Box<[Box<str>]>>,
    /// The checks that an operator set or accepted. An edit of the task's file never changes them,
    /// so that a file cannot bring commands that run without a person's consent.
    pub accepted_checks: Option<Box<[Box<str>]>>,
    pub work: Option<Box<TaskWork>>,
}

/// A question of an agent, which a person must answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentQuestion {
    /// The question, in the agent's words.
    pub text: String,
    /// How the agent would resolve it.
    #[serde(
        rename = "suggestedResolution",
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    pub suggestion: Option<String>,
}

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedAttempt {
    /// The attempt number of the run.
    pub attempt: u32,
    /// Why the attempt failed.
    pub reason: Box<str>,
}

/// The time and the reason of the last attempt that failed or was deferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpiredRun {
    pub at: Time,
    pub reason: Box<str>,
}

word_enum! {
    /// Why the scheduler moved a task to `blocked`.
    #[strum(serialize_all = "snake_case")]
    pub enum BlockedBy {
        /// A dependency was given up.
        Dependency,
    }
}

impl RunHistory {
    /// Changes the usage data; an empty value is stored as `None`.
    pub fn keep(&mut self, change: impl FnOnce(&mut TaskUsage)) {
        let mut account = self.account.take().unwrap_or_default();
        change(&mut account);
        self.account = (*account != TaskUsage::default()).then_some(account);
    }

    pub fn account(&self) -> Option<&TaskUsage> {
        self.account.as_deref()
    }

    /// Returns the agents that were parked while they worked on this task.
    pub fn parked(&self) -> &[ParkedAgent] {
        self.account().map_or(&[], |account| &account.parked)
    }

    /// Sets the checks as an operator's command asks for them.
    pub fn set_checks(&mut self, checks: Option<Box<[Box<str>]>>) {
        self.accepted_checks.clone_from(&checks);
        self.checks = checks;
    }

    /// Returns whether the task's file asks for other checks than an operator accepted.
    pub fn has_unaccepted_checks(&self) -> bool {
        self.checks != self.accepted_checks
    }

    /// Returns the protected files that the work changes.
    pub fn protected_files(&self) -> &[Box<str>] {
        self.work.as_ref().map_or(&[], |work| &work.protected)
    }

    /// Returns the report that is being verified.
    pub fn claim(&self) -> Option<&WorkClaim> {
        self.work.as_ref()?.claim.as_ref()
    }

    /// Returns why the work is not on its branch; `None` if it is.
    pub fn unsettled(&self) -> Option<&str> {
        self.work.as_ref()?.unsettled.as_deref()
    }

    pub fn merging(&self) -> Option<&PendingMerge> {
        self.work.as_ref()?.merging.as_ref()
    }

    /// Returns the last merge of the work that was impossible.
    pub fn refused_merge(&self) -> Option<&RefusedMerge> {
        self.work.as_ref()?.refused.as_ref()
    }

    /// Changes the state of the work; an empty value is stored as `None`.
    pub fn change_work(&mut self, change: impl FnOnce(&mut TaskWork)) {
        let mut work = self.work.take().unwrap_or_default();
        change(&mut work);
        self.work = (!work.is_empty()).then_some(work);
    }

    /// Resets the count of attempts, and the wait before the next one.
    pub fn start_again(&mut self) {
        self.failures.clear();
        self.not_before = None;
    }
}
