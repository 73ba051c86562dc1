//! The task as decisions see it: every field that a rule can depend on, without the body.

mod format;

pub use format::TaskMetadata;

use serde::{Deserialize, Serialize};

use crate::actor::{Actor, AgentId};
use crate::node_id::NodeId;
use crate::priority::Priority;
use crate::review::ReviewPolicy;
use crate::run::RunRef;
use crate::run_history::RunHistory;
use crate::run_nonce::RunNonce;
use crate::sandbox_level::SandboxLevel;
use crate::status::Status;
use crate::story::StoryPosition;
use crate::task_id::TaskId;
use crate::task_origin::TaskOrigin;
use crate::time::Time;

/// The most characters a title may have.
pub const TITLE_CHARS_MAX: usize = 512;

/// The most bytes of front matter that are read from a task file.
pub const FRONT_MATTER_BYTES_MAX: usize = 1 << 20;

/// The most values of front matter that are read from a task file.
pub const FRONT_MATTER_VALUES_MAX: usize = 50_000;

/// A larger file does not count as a task.
pub const TASK_FILE_BYTES_MAX: usize = 16 << 20;

/// A task: every field that a rule can depend on, without the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "format::TaskFields", into = "format::TaskFields")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Task {
    /// The id never changes.
    pub id: TaskId,
    pub title: Box<str>,
    /// The status, with the data that belongs to it.
    pub state: TaskState,
    pub priority: Priority,
    pub created_at: Time,
    pub updated_at: Time,
    pub last_transition_at: Time,
    pub created_by: Box<str>,
    pub routing: TaskRouting,
    pub parent: Option<TaskId>,
    /// The tasks that must be done first.
    pub depends_on: Vec<TaskId>,
    /// A name that at most one running task may hold at a time.
    pub resource: Option<Box<str>>,
    pub due_by: Option<Time>,
    pub review: ReviewPolicy,
    /// How many delegations lie above the task; 0 if it was not delegated.
    pub depth: u32,
    /// The last run whose lease has ended.
    pub last_run: Option<RunRef>,
    /// The sender of the last completion report.
    pub reported_by: Option<AgentId>,
    /// The fence of the run that sent that report.
    pub reported_fence: Option<u64>,
    /// Why a reviewer rejected the work, for the agent of the next run.
    pub feedback: Option<Box<str>>,
    pub history: RunHistory,
    /// The document or story that the task was made from.
    pub origin: Option<Box<TaskOrigin>>,
}

/// The status of a task with its data. Only a task in progress can have a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskState {
    Backlog,
    Ready,
    /// Held by a run with a lease; `None` if a person moved the task here by hand.
    InProgress(Option<Lease>),
    Blocked,
    Review,
    Done,
    Cancelled,
    Deadletter,
}

/// The exclusive right of one run to report on its task, until a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lease {
    /// The agent that holds the lease.
    pub agent: AgentId,
    /// When the run got the lease.
    pub acquired_at: Time,
    /// The lease ends then, unless a heartbeat renews it.
    pub expires_at: Time,
    /// How often the lease was renewed.
    pub renew_count: u32,
    /// The attempt number of the run.
    pub attempt: u32,
    /// Grows with every lease of the task; reports with an older fence are refused.
    pub fence: u64,
    /// The random part of the run's token; absent if an earlier version started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<RunNonce>,
}

/// Which agents may do a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskRouting {
    /// Only this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Only agents with this mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Box<str>>,
    /// Only agents with this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Box<str>>,
    /// Only agents that have all these tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "exact_size")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub tags: Vec<Box<str>>,
    /// Only agents with at least this sandbox: the one of the run that delegated the task.
    #[serde(default, skip_serializing_if = "SandboxLevel::is_none")]
    pub sandbox: SandboxLevel,
}

/// Reads tags into a list without spare capacity: there may be 100,000 tasks in memory.
fn exact_size<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Box<str>>, D::Error> {
    let mut tags = Vec::<Box<str>>::deserialize(deserializer)?;
    tags.shrink_to_fit();
    Ok(tags)
}

impl TaskRouting {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Task {
    /// Makes a task in the backlog, for any agent, without relations to other tasks. The caller
    /// sets other fields as needed.
    pub fn new(id: TaskId, title: &str, by: &Actor, now: Time) -> Self {
        Self {
            id,
            title: title.trim().into(),
            state: TaskState::Backlog,
            priority: Priority::default(),
            created_at: now,
            updated_at: now,
            last_transition_at: now,
            created_by: by.to_string().into(),
            routing: TaskRouting::default(),
            parent: None,
            depends_on: vec![],
            resource: None,
            due_by: None,
            review: ReviewPolicy::default(),
            depth: 0,
            last_run: None,
            reported_by: None,
            reported_fence: None,
            feedback: None,
            history: RunHistory::default(),
            origin: None,
        }
    }

    pub fn status(&self) -> Status {
        self.state.status()
    }

    pub fn lease(&self) -> Option<&Lease> {
        match &self.state {
            TaskState::InProgress(lease) => lease.as_ref(),
            _ => None,
        }
    }

    /// Returns the position of the story; `None` if the task is not a story.
    pub fn story(&self) -> Option<&StoryPosition> {
        self.origin.as_deref()?.story.as_ref()
    }

    /// Returns the only fleet node that can do this task, because it has the story's files.
    pub fn home(&self) -> Option<&NodeId> {
        self.story()?.node.as_ref()
    }

    /// Returns whether a fleet node can do this task. A story whose node is not known yet can run
    /// on no node.
    pub fn may_go_to(&self, node: &NodeId) -> bool {
        self.story().is_none() || self.home() == Some(node)
    }

    /// Returns the only agent that may report on this task; `None` if any agent may.
    pub fn speaker(&self) -> Option<&AgentId> {
        self.lease().map(|lease| &lease.agent).or(self.routing.agent.as_ref())
    }

    /// Returns the agent of the run with this fence and nonce, if it is the current or the last run.
    pub fn agent_of_run(&self, fence: u64, nonce: Option<RunNonce>) -> Option<&AgentId> {
        let current = self.lease().filter(|lease| lease.is_of(fence, nonce));
        let last = || self.last_run.as_ref().filter(|run| run.is_of(fence, nonce));
        current.map(|lease| &lease.agent).or_else(|| last().map(|run| &run.agent))
    }

    /// Returns whether this agent held the lease, held the last one, or sent the last completion.
    pub fn was_worked_on_by(&self, agent: &AgentId) -> bool {
        let held = self.lease().map(|lease| &lease.agent);
        let held_last = self.last_run.as_ref().map(|run| &run.agent);
        [held, held_last, self.reported_by.as_ref()].into_iter().flatten().any(|who| who == agent)
    }

    /// Returns whether the last run was this agent's and counts as failed, and no other run has
    /// started since. A late report of that run still counts.
    pub fn was_given_up_on(&self, agent: &AgentId) -> bool {
        let (last, failed) = (self.last_run.as_ref(), self.history.failures.last());
        let waits = matches!(self.state, TaskState::Ready | TaskState::Deadletter);
        waits
            && last
                .zip(failed)
                .is_some_and(|(run, failure)| run.agent == *agent && run.attempt == failure.attempt)
    }

    /// Returns the agent of the last run; `None` if no attempt has failed.
    pub fn last_failed(&self) -> Option<&AgentId> {
        self.history.failures.last()?;
        self.last_run.as_ref().map(|run| &run.agent)
    }

    /// Returns the fence of the next lease, higher than every earlier one.
    pub fn next_fence(&self) -> u64 {
        let fences =
            [self.lease().map(|lease| lease.fence), self.last_run.as_ref().map(|r| r.fence)];
        let open = self.history.open.as_ref().map(|run| run.fence);
        fences.into_iter().chain([open]).flatten().max().unwrap_or(0).saturating_add(1)
    }

    /// Returns the attempt number of the next run, higher than every earlier one.
    pub fn next_attempt(&self) -> u32 {
        let failed = self.history.failures.last().map(|failure| failure.attempt);
        self.attempt().max(failed).unwrap_or(0).saturating_add(1)
    }

    /// Returns the attempt number of the current run, else of the last one.
    pub fn attempt(&self) -> Option<u32> {
        let current = self.lease().map(|lease| lease.attempt);
        current.or(self.last_run.as_ref().map(|run| run.attempt))
    }
}

impl TaskState {
    /// Makes the state of a task that moves to `status` without a lease.
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

impl Lease {
    /// Returns whether this is the lease of the run with this fence and nonce.
    pub fn is_of(&self, fence: u64, nonce: Option<RunNonce>) -> bool {
        (self.fence, self.nonce) == (fence, nonce)
    }
}

impl From<&Lease> for RunRef {
    fn from(lease: &Lease) -> Self {
        let Lease { attempt, fence, nonce, .. } = *lease;
        Self { agent: lease.agent.clone(), attempt, fence, nonce }
    }
}
