//! What the scheduler notes about a task: attempts, waits, and why it stands still.

use crate::account::{Account, Parked};
use crate::name::AgentId;
use crate::node::NodeId;
use crate::permit::Permit;
use crate::time::Time;
use crate::work::{Claim, Merging, Work};

/// What the scheduler notes about a task, kept in its front matter under `metadata`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trials {
    /// The run that was started and whose end nobody has seen yet. It keeps its slot and its task.
    pub open: Option<OpenRun>,
    /// The node of a fleet that looks after its last run, and has what that left.
    pub node: Option<NodeId>,
    /// The attempts without a result since the count was last started.
    pub failures: Vec<Failure>,
    /// Until when the task waits before it is tried again.
    pub not_before: Option<Time>,
    /// The last attempt that was given up.
    pub expired: Option<Expired>,
    /// Set while it is the scheduler that holds the task in `blocked`: only what the scheduler
    /// blocked does the scheduler unblock.
    pub blocked_by: Option<BlockedBy>,
    /// Why the task is blocked, in review, or in the deadletter folder.
    pub reason: Option<Box<str>>,
    /// What a person answered, for whoever works on it next.
    pub answer: Option<Box<str>>,
    /// What an agent asks, until somebody answers or it goes on without.
    pub question: Option<Box<Question>>,
    /// What its run wants to be allowed, while it waits for an answer.
    pub permit: Option<Box<Permit>>,
    /// What its agents told of themselves; none if that is nothing.
    pub account: Option<Box<Account>>,
    /// The commands that must pass before work on it counts as done; none if its agent or the
    /// project says. Only an operator sets them.
    pub checks: Option<Box<[Box<str>]>>,
    /// What is known of its work between the report and the end.
    pub work: Option<Box<Work>>,
}

/// What an agent asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub text: String,
    /// How the agent would resolve it.
    pub suggestion: Option<String>,
}

/// A run whose process may still be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRun {
    /// Who runs.
    pub agent: AgentId,
    /// The number of the run.
    pub attempt: u32,
    /// Its fence.
    pub fence: u64,
}

/// An attempt that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The number of the run.
    pub attempt: u32,
    /// What happened.
    pub reason: Box<str>,
}

/// An attempt that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expired {
    /// When.
    pub at: Time,
    /// Why.
    pub reason: Box<str>,
}

/// What the scheduler blocked a task for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockedBy {
    /// A task it depends on was given up.
    Dependency,
}

impl BlockedBy {
    /// Returns the word the front matter has for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dependency => "dependency",
        }
    }

    /// Parses the word the front matter has for it.
    pub fn parse(text: &str) -> Option<Self> {
        (text == Self::Dependency.as_str()).then_some(Self::Dependency)
    }
}

impl Trials {
    /// Changes what is kept of what the agents told. What says nothing is not kept.
    pub fn keep(&mut self, change: impl FnOnce(&mut Account)) {
        let mut account = self.account.take().unwrap_or_default();
        change(&mut account);
        self.account = (*account != Account::default()).then_some(account);
    }

    /// Returns what the agents told, if anything.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_deref()
    }

    /// Returns the agents that cannot work, as was found out with this task.
    pub fn parked(&self) -> &[Parked] {
        self.account().map_or(&[], |account| &account.parked)
    }

    /// Returns what a run said that is being looked into.
    pub fn claim(&self) -> Option<&Claim> {
        self.work.as_ref()?.claim.as_ref()
    }

    /// Returns the merge that is under way.
    pub fn merging(&self) -> Option<&Merging> {
        self.work.as_ref()?.merging.as_ref()
    }

    /// Changes what is known of the work.
    pub fn change_work(&mut self, change: impl FnOnce(&mut Work)) {
        let mut work = self.work.take().unwrap_or_default();
        change(&mut work);
        self.work = (!work.is_empty()).then_some(work);
    }

    /// Starts the count of attempts again.
    pub(crate) fn start_again(&mut self) {
        self.failures.clear();
        self.not_before = None;
    }
}
