//! The commands of operators: their arguments, and the callers that give them.

use serde::{Deserialize, Serialize};

use crate::actor::{Actor, AgentId};
use crate::encoding::optional_list;
use crate::priority::Priority;
use crate::review::ReviewPolicy;
use crate::run_nonce::RunNonce;
use crate::status::Status;
use crate::task::TaskRouting;
use crate::task_id::TaskId;
use crate::text_value::word_enum;
use crate::time::Time;
use crate::time_limits::{DurationLimit, TaskTimeLimits};
use crate::usage::UsageBudget;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Command {
    Add(Box<NewTask>),
    /// Creates the tasks of a list, all or none.
    Import(TaskImport),
    /// Changes fields or the body of a task.
    Edit {
        id: TaskId,
        changes: Box<TaskChanges>,
    },
    /// Moves a task as the table of moves allows.
    Move {
        id: TaskId,
        to: Status,
        reason: String,
    },
    /// Accepts work in review.
    Approve {
        id: TaskId,
        note: String,
    },
    /// Accepts work in review that changes protected paths.
    ApproveProtected {
        id: TaskId,
        note: String,
    },
    /// Accepts the checks in the file of a task.
    AcceptChecks {
        id: TaskId,
        /// The checks that the person saw; the file may have changed since.
        checks: Option<Vec<String>>,
    },
    /// Sends work in review back to be done again.
    Reject {
        id: TaskId,
        /// Shown to the agent of the next run.
        reason: String,
    },
    Cancel {
        id: TaskId,
        reason: String,
    },
    /// Returns a cancelled task to the backlog. No other way leads out of `cancelled`.
    Reopen {
        id: TaskId,
        reason: String,
    },
    /// Creates a task with the content of another one, without its history.
    Copy {
        id: TaskId,
        start: InitialStatus,
        /// What only the file of the task has; `None` if it cannot be read. The engine reads it, so
        /// it is not sent.
        #[serde(skip)]
        content: Option<Box<TaskFileContent>>,
    },
    /// Makes a blocked or dead-lettered task ready, or ends the wait of a ready task.
    Retry {
        id: TaskId,
    },
    /// An action that another part performs; the core decides only whether the caller may
    /// ask for it.
    Chore(OperatorAction),
    /// Answers the question that a task is blocked on, and unblocks the task.
    Answer {
        id: TaskId,
        /// Shown to the agent of the next run.
        text: String,
    },
    /// Assigns the next task to an agent that the daemon did not start. Until the agent reports, it
    /// gets the same task again.
    Take {
        agent: AgentId,
        /// The nonce of the run, if one begins. The engine makes it, so it is not sent.
        #[serde(skip)]
        nonce: Option<RunNonce>,
    },
    /// Lets a parked agent be assigned work again.
    Free {
        agent: AgentId,
    },
    /// Applies a report that was salvaged because it came too late.
    ApplySalvage {
        id: TaskId,
        /// The name of the report under `salvage/`.
        name: String,
        /// The text of the report; `None` if there is no such report. The engine reads it,
        /// so it is not sent.
        #[serde(skip)]
        text: Option<String>,
    },
}

word_enum! {
    /// An action that needs an operator's rights and no decision about a task.
    #[strum(serialize_all = "snake_case")]
    pub enum OperatorAction {
        /// Repairs the data folder.
        #[strum(serialize = "doctor --fix")]
        Mend,
        /// Runs the scheduler once.
        Tick,
        Up,
        Down,
        /// Makes a sign-in link for the board.
        Open,
        /// Runs an agent on a test task.
        #[strum(serialize = "agents test")]
        Test,
        /// Adds a host to the list of an agent.
        #[strum(serialize = "agents allow")]
        AllowHost,
        /// Fetches work in the name of an agent.
        #[strum(serialize = "mcp --agent")]
        Fetch,
        /// Writes the project into an archive.
        Export,
        /// Makes a folder the fleet's state.
        #[strum(serialize = "fleet restore")]
        Restore,
        /// Makes the key of a node, or shows its public part.
        #[strum(serialize = "fleet key")]
        NodeKey,
        /// Restores uncommitted work that an agent left behind.
        Undo,
        /// Decides about a story.
        Story,
        /// Accepts the configuration.
        Trust,
    }
}

/// The caller of a command, and its rights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum CommandCaller {
    /// A person, or a program in a person's name.
    Operator(Actor),
    /// A process inside a run, which may not give commands.
    InsideRun(Actor),
}

/// The arguments of [`Command::Add`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTask {
    pub title: String,
    pub body: String,
    pub priority: Priority,
    pub routing: TaskRouting,
    pub parent: Option<TaskId>,
    /// The tasks that must be done first.
    pub depends_on: Vec<TaskId>,
    /// A name that at most one running task may hold at a time.
    pub resource: Option<String>,
    pub due_by: Option<Time>,
    pub review: ReviewPolicy,
    pub start: InitialStatus,
    /// The commands that must pass before the work counts as done. If empty, the agent's checks
    /// apply, else the project's.
    pub checks: Vec<String>,
    /// The limit for all runs of the task together.
    #[serde(default, skip_serializing_if = "UsageBudget::is_empty")]
    pub budget: UsageBudget,
    #[serde(default, skip_serializing_if = "TaskTimeLimits::is_empty")]
    pub limits: TaskTimeLimits,
}

/// The arguments of [`Command::Import`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskImport {
    pub tasks: Vec<ImportedTask>,
    /// Creates a task even if one with its title exists.
    pub repeat: bool,
}

/// One task of an import. Its links to existing tasks are in `task`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportedTask {
    /// The line of the imported file that describes the task, for problems.
    pub line: u32,
    pub task: NewTask,
    /// The place in the list of the task that this one is a part of.
    pub parent: Option<u32>,
    /// The places in the list of the tasks that must be done first.
    pub depends_on: Vec<u32>,
}

/// What the file of a task has beside the fields that decisions depend on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskFileContent {
    pub body: String,
    pub limits: TaskTimeLimits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InitialStatus {
    /// Waits in the backlog until an operator moves the task.
    #[default]
    Backlog,
    /// Can be assigned at once.
    Ready,
}

/// Changes to a task. `None` leaves a field unchanged; `Some(None)` clears it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TaskChanges {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(skip_serializing_if = "Option::is_none", with = "optional_list")]
    pub agent: Option<Option<AgentId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depends_on: Option<Vec<TaskId>>,
    #[serde(skip_serializing_if = "Option::is_none", with = "optional_list")]
    pub parent: Option<Option<TaskId>>,
    #[serde(skip_serializing_if = "Option::is_none", with = "optional_list")]
    pub resource: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none", with = "optional_list")]
    pub due_by: Option<Option<Time>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewPolicy>,
    #[serde(skip_serializing_if = "Option::is_none", with = "optional_list")]
    pub mode: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none", with = "optional_list")]
    pub role: Option<Option<String>>,
    /// Without any, the checks of the agent or the project apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none", with = "optional_list")]
    pub budget_tokens: Option<Option<u64>>,
    /// In millionths of a dollar.
    #[serde(skip_serializing_if = "Option::is_none", with = "optional_list")]
    pub budget_cost: Option<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none", with = "optional_list")]
    pub timeout: Option<Option<DurationLimit>>,
    #[serde(skip_serializing_if = "Option::is_none", with = "optional_list")]
    pub idle_timeout: Option<Option<DurationLimit>>,
}

impl TaskChanges {
    /// Returns the time limits afterwards, and the names of those that change. They are in the file
    /// of a task only, so the other limits are not known here.
    pub fn time_limits(&self) -> (Option<TaskTimeLimits>, Vec<String>) {
        let changed = [("timeout", self.timeout), ("idleTimeout", self.idle_timeout)];
        let changed = changed.into_iter().filter(|(_, change)| change.is_some());
        let names: Vec<String> = changed.map(|(name, _)| format!("metadata.{name}")).collect();
        let limits = TaskTimeLimits {
            timeout: self.timeout.flatten(),
            idle_timeout: self.idle_timeout.flatten(),
        };
        ((!names.is_empty()).then_some(limits), names)
    }
}

impl Command {
    /// Returns the name of the command, as users and the event log write it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Add(_) => "task add",
            Self::Import(_) => "task import",
            Self::Edit { .. } => "task edit",
            Self::Move { .. } => "task move",
            Self::Approve { .. } | Self::ApproveProtected { .. } => "approve",
            Self::AcceptChecks { .. } => "trust",
            Self::Reject { .. } => "reject",
            Self::Cancel { .. } => "task cancel",
            Self::Reopen { .. } => "task reopen",
            Self::Copy { .. } => "task copy",
            Self::Retry { .. } => "task retry",
            Self::Chore(chore) => chore.as_str(),
            Self::Answer { .. } => "answer",
            Self::Take { .. } => "next_task",
            Self::Free { .. } => "agents test",
            Self::ApplySalvage { .. } => "salvage apply",
        }
    }

    /// Returns the task that the command is about; `None` for a new task, which has no id yet.
    pub const fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Add(_)
            | Self::Import(_)
            | Self::Chore(_)
            | Self::Take { .. }
            | Self::Free { .. } => None,
            Self::Edit { id, .. }
            | Self::Move { id, .. }
            | Self::Approve { id, .. }
            | Self::ApproveProtected { id, .. }
            | Self::AcceptChecks { id, .. }
            | Self::Reject { id, .. }
            | Self::Cancel { id, .. }
            | Self::Reopen { id, .. }
            | Self::Copy { id, .. }
            | Self::Retry { id }
            | Self::Answer { id, .. }
            | Self::ApplySalvage { id, .. } => Some(id),
        }
    }
}

impl InitialStatus {
    pub const fn status(self) -> Status {
        match self {
            Self::Backlog => Status::Backlog,
            Self::Ready => Status::Ready,
        }
    }
}
