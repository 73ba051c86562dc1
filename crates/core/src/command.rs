//! What an operator may ask for.

use crate::id::TaskId;
use crate::name::{Actor, AgentId};
use crate::priority::Priority;
use crate::status::Status;
use crate::task::{Review, Routing};
use crate::time::Time;

/// A wish of an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Makes a task.
    Add(Box<NewTask>),
    /// Changes fields or body of a task.
    Edit {
        /// The task.
        id: TaskId,
        /// What to change.
        changes: Box<Changes>,
    },
    /// Moves a task along the table.
    Move {
        /// The task.
        id: TaskId,
        /// Where to.
        to: Status,
        /// Why.
        reason: String,
    },
    /// Accepts work in review.
    Approve {
        /// The task.
        id: TaskId,
        /// Anything to say about it.
        note: String,
    },
    /// Sends work in review back to be done again.
    Reject {
        /// The task.
        id: TaskId,
        /// Why, for whoever works on it next.
        reason: String,
    },
    /// Gives a task up.
    Cancel {
        /// The task.
        id: TaskId,
        /// Why.
        reason: String,
    },
    /// Lets a task that is stuck be tried again.
    Retry {
        /// The task.
        id: TaskId,
    },
    /// Something that others do; what is decided is whether the caller may ask.
    Chore(Chore),
    /// Answers the question a task is blocked on, and lets it go on.
    Answer {
        /// The task.
        id: TaskId,
        /// The answer, for whoever works on it next.
        text: String,
    },
    /// Gives the next task to an agent that works elsewhere and asks for one. Asked again, it is
    /// given the same until it has reported.
    Take {
        /// Who asks.
        agent: AgentId,
    },
    /// Gives an agent work again that could not work.
    Free {
        /// Who.
        agent: AgentId,
    },
    /// Lets a report count that came too late.
    ApplySalvage {
        /// The task.
        id: TaskId,
        /// The name of the report under `salvage/`.
        name: String,
        /// What it says; none if there is no such report.
        text: Option<String>,
    },
}

/// Something an operator may have done that is no matter of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chore {
    /// The data folder is mended.
    Mend,
    /// Work is given out once.
    Tick,
    /// A daemon is started.
    Up,
    /// A daemon is stopped.
    Down,
    /// An agent is tried out.
    Test,
    /// Work is fetched in the name of an agent.
    Fetch,
    /// The project is written into an archive.
    Export,
    /// Work that lay uncommitted is brought back.
    Undo,
    /// A folder is made the fleet's.
    Restore,
}

impl Chore {
    /// Every chore there is.
    pub const ALL: [Self; 9] = [
        Self::Mend,
        Self::Tick,
        Self::Up,
        Self::Down,
        Self::Test,
        Self::Fetch,
        Self::Export,
        Self::Restore,
        Self::Undo,
    ];

    /// Returns the name of the command.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mend => "doctor --fix",
            Self::Tick => "tick",
            Self::Up => "up",
            Self::Down => "down",
            Self::Test => "agents test",
            Self::Fetch => "mcp --agent",
            Self::Export => "export",
            Self::Restore => "fleet restore",
            Self::Undo => "undo",
        }
    }

    /// Parses the name of the command.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|chore| chore.name() == text)
    }
}

/// Who gives the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A person, or a program in a person's name.
    Operator(Actor),
    /// Somebody inside a run, who has no business giving commands.
    InsideRun(Actor),
}

/// A task to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewTask {
    /// One line that says what is to be done.
    pub title: String,
    /// Everything else about it.
    pub body: String,
    /// How urgent it is.
    pub priority: Priority,
    /// Whom it is for.
    pub routing: Routing,
    /// The task it is a part of.
    pub parent: Option<TaskId>,
    /// The tasks that must be done before.
    pub depends_on: Vec<TaskId>,
    /// What only one task may use at a time.
    pub resource: Option<String>,
    /// When it should be done.
    pub due_by: Option<Time>,
    /// Whether somebody must look at it before it is done.
    pub review: Review,
    /// Whether it may be given out at once.
    pub start: Start,
    /// The commands that must pass before work on it counts as done; none if its agent or the
    /// project says.
    pub checks: Vec<String>,
}

/// Where a new task begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// In the backlog, to be looked at.
    #[default]
    Backlog,
    /// Ready to be given out.
    Ready,
}

/// Changes to a task; none leaves a field as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// A new title.
    pub title: Option<String>,
    /// A new body.
    pub body: Option<String>,
    /// Another priority.
    pub priority: Option<Priority>,
    /// Another agent, or none.
    pub agent: Option<Option<AgentId>>,
    /// Other tags.
    pub tags: Option<Vec<String>>,
    /// Other tasks that must be done before.
    pub depends_on: Option<Vec<TaskId>>,
    /// Another parent, or none.
    pub parent: Option<Option<TaskId>>,
    /// Another resource, or none.
    pub resource: Option<Option<String>>,
    /// Another due time, or none.
    pub due_by: Option<Option<Time>>,
    /// Whether somebody must look at it.
    pub review: Option<Review>,
}

impl Command {
    /// Returns the name of the command.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Add(_) => "task add",
            Self::Edit { .. } => "task edit",
            Self::Move { .. } => "task move",
            Self::Approve { .. } => "approve",
            Self::Reject { .. } => "reject",
            Self::Cancel { .. } => "task cancel",
            Self::Retry { .. } => "task retry",
            Self::Chore(chore) => chore.name(),
            Self::Answer { .. } => "answer",
            Self::Take { .. } => "next_task",
            Self::Free { .. } => "agents test",
            Self::ApplySalvage { .. } => "salvage apply",
        }
    }

    /// Returns the task it is about; a new one has no id yet.
    pub const fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Add(_) | Self::Chore(_) | Self::Take { .. } | Self::Free { .. } => None,
            Self::Edit { id, .. }
            | Self::Move { id, .. }
            | Self::Approve { id, .. }
            | Self::Reject { id, .. }
            | Self::Cancel { id, .. }
            | Self::Retry { id }
            | Self::Answer { id, .. }
            | Self::ApplySalvage { id, .. } => Some(id),
        }
    }
}

impl Start {
    /// Returns the status a new task has.
    pub const fn status(self) -> Status {
        match self {
            Self::Backlog => Status::Backlog,
            Self::Ready => Status::Ready,
        }
    }
}
