//! The task as decisions see it: what a rule may ask about, without its body.

use crate::foreign::Foreign;
use crate::id::TaskId;
use crate::name::{Actor, AgentId};
use crate::node::NodeId;
use crate::pipeline::Position;
use crate::priority::Priority;
use crate::status::Status;
use crate::time::Time;
use crate::trials::Trials;

/// The most characters a title may have.
pub const TITLE_CHARS_MAX: usize = 512;

/// The deepest a task may stand below the one it was delegated from.
pub const DEPTH_MAX: u32 = 1;

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its id, for good.
    pub id: TaskId,
    /// One line that says what is to be done.
    pub title: Box<str>,
    /// Where it stands, with what belongs to that.
    pub state: State,
    /// How urgent it is.
    pub priority: Priority,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
    /// When its status last changed.
    pub last_transition_at: Time,
    /// Who made it.
    pub created_by: Box<str>,
    /// Whom it is for.
    pub routing: Routing,
    /// The task it is a part of.
    pub parent: Option<TaskId>,
    /// The tasks that must be done before.
    pub depends_on: Vec<TaskId>,
    /// What only one task may use at a time.
    pub resource: Option<Box<str>>,
    /// When it should be done.
    pub due_by: Option<Time>,
    /// Whether somebody must look at it before it is done.
    pub review: Review,
    /// How often it was delegated.
    pub depth: u32,
    /// The last run that held a lease and holds it no more.
    pub last_run: Option<LastRun>,
    /// Who sent the last completion.
    pub reported_by: Option<AgentId>,
    /// The fence of the run that sent it.
    pub reported_fence: Option<u64>,
    /// Why a reviewer sent it back, for whoever works on it next.
    pub feedback: Option<Box<str>>,
    /// What the scheduler notes about it.
    pub trials: Trials,
    /// What it keeps of the document it was made from.
    pub foreign: Option<Box<Foreign>>,
}

/// Where a task stands. Only work in progress can be leased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// See [`Status::Backlog`].
    Backlog,
    /// See [`Status::Ready`].
    Ready,
    /// Somebody works on it: a run with a lease, or whoever moved it here by hand.
    InProgress(Option<Lease>),
    /// See [`Status::Blocked`].
    Blocked,
    /// See [`Status::Review`].
    Review,
    /// See [`Status::Done`].
    Done,
    /// See [`Status::Cancelled`].
    Cancelled,
    /// See [`Status::Deadletter`].
    Deadletter,
}

/// The right of one run to report on its task, until a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it.
    pub agent: AgentId,
    /// Since when.
    pub acquired_at: Time,
    /// Until when, if it is not renewed.
    pub expires_at: Time,
    /// How often it was renewed.
    pub renew_count: u32,
    /// The number of the run.
    pub attempt: u32,
    /// Grows with every lease ever given on the task.
    pub fence: u64,
}

/// A run that is over: who it was and what it counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastRun {
    /// Who held the lease.
    pub agent: AgentId,
    /// The number of the run.
    pub attempt: u32,
    /// Its fence.
    pub fence: u64,
}

/// Whom a task is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Routing {
    /// This agent and no other.
    pub agent: Option<AgentId>,
    /// The agent of this mode.
    pub mode: Option<Box<str>>,
    /// Any agent of this role.
    pub role: Option<Box<str>>,
    /// What an agent should be good at.
    pub tags: Vec<Box<str>>,
}

/// Whether somebody must look at the work before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Review {
    /// Finished work waits in review.
    #[default]
    Required,
    /// Finished work is done.
    NotNeeded,
}

impl Task {
    /// Makes a task that nobody has worked on yet. It is in the backlog, for anyone, and stands
    /// alone; whoever makes it says otherwise.
    pub fn new(id: TaskId, title: &str, by: &Actor, now: Time) -> Self {
        Self {
            id,
            title: title.trim().into(),
            state: State::Backlog,
            priority: Priority::default(),
            created_at: now,
            updated_at: now,
            last_transition_at: now,
            created_by: by.to_string().into(),
            routing: Routing::default(),
            parent: None,
            depends_on: vec![],
            resource: None,
            due_by: None,
            review: Review::default(),
            depth: 0,
            last_run: None,
            reported_by: None,
            reported_fence: None,
            feedback: None,
            trials: Trials::default(),
            foreign: None,
        }
    }

    /// Returns the status, without what belongs to it.
    pub fn status(&self) -> Status {
        self.state.status()
    }

    /// Returns the lease, if there is one.
    pub fn lease(&self) -> Option<&Lease> {
        match &self.state {
            State::InProgress(lease) => lease.as_ref(),
            _ => None,
        }
    }

    /// Returns where the story stands that this task is, if it is one.
    pub fn story(&self) -> Option<&Position> {
        self.foreign.as_deref()?.story.as_ref()
    }

    /// Returns the node of a fleet that alone can do this task, because its files are there.
    pub fn home(&self) -> Option<&NodeId> {
        self.story()?.node.as_ref()
    }

    /// Says whether a node of a fleet can do this task. Of a story nobody has told yet where it is,
    /// nobody knows who can.
    pub fn may_go_to(&self, node: &NodeId) -> bool {
        self.story().is_none() || self.home() == Some(node)
    }

    /// Returns who alone may speak for this task, or none if anyone may.
    pub fn speaker(&self) -> Option<&AgentId> {
        self.lease().map(|lease| &lease.agent).or(self.routing.agent.as_ref())
    }

    /// Says whether this agent did the work: it held the last lease or sent the last completion.
    pub fn was_worked_on_by(&self, agent: &AgentId) -> bool {
        let held = self.lease().map(|lease| &lease.agent);
        let held_last = self.last_run.as_ref().map(|run| &run.agent);
        [held, held_last, self.reported_by.as_ref()].into_iter().flatten().any(|who| who == agent)
    }

    /// Says whether the last run was this agent's, was thought to have come to nothing, and no
    /// other has begun since. If it reports after all, its work counts.
    pub fn was_given_up_on(&self, agent: &AgentId) -> bool {
        let (last, failed) = (self.last_run.as_ref(), self.trials.failures.last());
        let waits = matches!(self.state, State::Ready | State::Deadletter);
        waits
            && last
                .zip(failed)
                .is_some_and(|(run, failure)| run.agent == *agent && run.attempt == failure.attempt)
    }

    /// Returns who worked on it last, if that came to nothing.
    pub fn last_failed(&self) -> Option<&AgentId> {
        self.trials.failures.last()?;
        self.last_run.as_ref().map(|run| &run.agent)
    }

    /// Returns the fence of the next lease: higher than every one before.
    pub fn next_fence(&self) -> u64 {
        let fences =
            [self.lease().map(|lease| lease.fence), self.last_run.as_ref().map(|r| r.fence)];
        let open = self.trials.open.as_ref().map(|run| run.fence);
        fences.into_iter().chain([open]).flatten().max().unwrap_or(0).saturating_add(1)
    }

    /// Returns the number of the next run: higher than every one before.
    pub fn next_attempt(&self) -> u32 {
        let failed = self.trials.failures.last().map(|failure| failure.attempt);
        self.attempt().max(failed).unwrap_or(0).saturating_add(1)
    }

    /// Returns the number of the current run, or of the last one.
    pub fn attempt(&self) -> Option<u32> {
        let current = self.lease().map(|lease| lease.attempt);
        current.or(self.last_run.as_ref().map(|run| run.attempt))
    }
}

impl State {
    /// Makes the state a task enters when it moves to `status` with no lease given.
    pub fn entered(status: Status) -> Self {
        match status {
            Status::Backlog => Self::Backlog,
            Status::Ready => Self::Ready,
            Status::InProgress => Self::InProgress(None),
            Status::Blocked => Self::Blocked,
            Status::Review => Self::Review,
            Status::Done => Self::Done,
            Status::Cancelled => Self::Cancelled,
            Status::Deadletter => Self::Deadletter,
        }
    }

    /// Returns the status, without what belongs to it.
    pub fn status(&self) -> Status {
        match self {
            Self::Backlog => Status::Backlog,
            Self::Ready => Status::Ready,
            Self::InProgress(_) => Status::InProgress,
            Self::Blocked => Status::Blocked,
            Self::Review => Status::Review,
            Self::Done => Status::Done,
            Self::Cancelled => Status::Cancelled,
            Self::Deadletter => Status::Deadletter,
        }
    }
}

impl From<&Lease> for LastRun {
    fn from(lease: &Lease) -> Self {
        Self { agent: lease.agent.clone(), attempt: lease.attempt, fence: lease.fence }
    }
}
