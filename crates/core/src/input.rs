//! Everything that can happen to the world, with the outside facts that a decision needs.

use std::collections::{BTreeMap, BTreeSet};

use adjutant_model::actor::Actor;
use adjutant_model::answer::FieldProblem;
use adjutant_model::command::{Command, CommandCaller};
use adjutant_model::completion::RunResult;
use adjutant_model::constraints::WorkspaceFacts;
use adjutant_model::event_id::EventId;
use adjutant_model::evidence::WorkEvidence;
use adjutant_model::node_id::NodeId;
use adjutant_model::request::{
    AskedPermission, IdempotencyKey, NoticeDelivery, RefusedAccess, StoryFacts,
};
use adjutant_model::run::{RunExit, RunHeartbeat, RunLiveness};
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;
use adjutant_model::usage;
use adjutant_model::work::MergeResult;

use crate::protocols::aof::IncomingText;

/// Something that happened outside and asks for a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A text arrived that may be a message.
    Message {
        incoming: IncomingText,
        facts: MessageFacts,
    },
    /// A session ended; results that runs left behind are applied.
    SessionEnd {
        found: Vec<(TaskId, FoundResult)>,
    },
    Command {
        by: CommandCaller,
        command: Command,
    },
    FileChanged(FileChange),
    /// The scheduler runs: it assigns tasks and clears up after runs that are over.
    Tick {
        facts: TickFacts,
    },
    RunExited {
        task: TaskId,
        fence: u64,
        exit: RunExit,
        /// The last lines of the run's output.
        tail: String,
        found: Option<FoundResult>,
        telemetry: Box<usage::AgentTelemetry>,
        /// `None` if the workspace was not inspected.
        workspace: Option<WorkspaceFacts>,
        /// A random number from outside, for the retry backoff.
        jitter: u64,
    },
    /// A run that the daemon started is alive.
    RunAlive {
        task: TaskId,
        fence: u64,
    },
    /// An agent that the daemon did not start sends a heartbeat for its run.
    ExternalHeartbeat {
        task: TaskId,
        /// The name the sender gives; only the token proves it.
        by: Actor,
        token: TokenOwner,
    },
    /// A run asks a person for a permission, and waits for the answer.
    PermissionAsked {
        task: TaskId,
        /// The name the sender gives; only the token proves it.
        by: Actor,
        token: TokenOwner,
        asked: AskedPermission,
    },
    /// A caller could not authenticate, or lacked the right for its request.
    AccessRefused(RefusedAccess),
    /// A request with an idempotency key was carried out.
    RequestCompleted(KeyedRequest),
    /// A fleet node became the leader. It says so before it decides anything.
    LeaderChanged {
        node: NodeId,
    },
    NotificationEnded(NoticeDelivery),
    /// The project's files were read, and show this position of a story.
    StoryRead {
        /// Who read the files, or caused the change in them.
        by: Actor,
        facts: Box<StoryFacts>,
    },
    WorkChecked {
        task: TaskId,
        fence: u64,
        evidence: Box<WorkEvidence>,
        jitter: u64,
    },
    WorkMerged {
        task: TaskId,
        merged: Box<MergeResult>,
    },
    /// Uncommitted work in a task's workspace was saved, so that it can be restored.
    WorkSaved {
        task: TaskId,
        /// The git reference that holds the work.
        reference: String,
        commit: String,
    },
    /// A folder that another program wrote was opened for the first time.
    FolderAdopted {
        tasks: u64,
    },
}

/// A request with an idempotency key that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedRequest {
    pub key: IdempotencyKey,
    pub about: Option<TaskId>,
    pub events: Vec<EventId>,
}

/// The facts from outside that a scheduler run needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TickFacts {
    /// Facts about the runs that `schedule::tasks_to_inspect` names. A
    /// run that is missing here was not inspected, and is left alone.
    pub runs: BTreeMap<TaskId, RunFacts>,
    /// Fleet nodes that have not been heard from; they are assigned nothing.
    pub unreachable_nodes: BTreeSet<NodeId>,
    pub jitter: u64,
    /// The nonce of the runs that start now; a task starts at most one.
    pub nonce: Option<RunNonce>,
}

/// What was found on disk about a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageFacts {
    /// Whether the file that `summaryRef` names exists.
    pub summary: FilePresence,
    /// Whether `outputs/handoff.md` exists.
    pub handoff: FilePresence,
    /// The fields whose path leads outside the folder through a symbolic link.
    pub escaping_paths: Vec<String>,
    pub token: TokenOwner,
    /// Whether the message was printed without the token that it needs to count.
    pub token_missing: bool,
    /// `None` if the workspace was not inspected.
    pub workspace: Option<WorkspaceFacts>,
    /// The file in which a run left the message; it is salvaged if the message is refused.
    pub left_file: Option<LeftFile>,
    /// How many messages the same run sent before, as far as they were counted.
    pub earlier_messages: u64,
}

/// A message file that a run left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftFile {
    pub file: String,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FilePresence {
    /// Also used if the file was not looked up.
    #[default]
    Present,
    Missing,
}

/// The run to which a token was issued.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TokenOwner {
    #[default]
    None,
    /// The token was never issued.
    Unknown,
    Run {
        task: TaskId,
        fence: u64,
        nonce: Option<RunNonce>,
    },
}

/// Facts about the run of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunFacts {
    /// The last heartbeat; `None` if there is no heartbeat file.
    pub heartbeat: Option<RunHeartbeat>,
    /// The result file that the run left.
    pub found: Option<FoundResult>,
    pub life: RunLiveness,
}

/// A result file that was left for a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoundResult {
    Result(Box<RunResult>),
    /// Does not match its schema; lists every problem.
    Invalid(Vec<FieldProblem>),
}

/// What a person or another program did to a task's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// The file is new, has changed or was moved. Its folder decides the task's status.
    Changed(Box<Task>),
    Removed(TaskId),
    Unreadable(TaskId),
}
