//! Events: the entries of the event log, from which the world is computed.

mod encoding;
mod line;

pub use line::EventLine;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::actor::{Actor, AgentId};
use crate::answer::{FieldProblem, Reason};
use crate::completion::{RunResult, WorkOutcome};
use crate::document::DocumentKind;
use crate::event_id::EventId;
use crate::evidence::WorkEvidence;
use crate::handoff::TaskHandoff;
use crate::merge_mode::MergeMode;
use crate::message_type::MessageType;
use crate::mission::EpicId;
use crate::node_id::NodeId;
use crate::notice::NoticeKind;
use crate::permission::PermissionRequest;
use crate::run::{RunExit, RunPlace};
use crate::run_history::BlockedBy;
use crate::run_nonce::RunNonce;
use crate::sandbox_level::SandboxLevel;
use crate::status::Status;
use crate::story::StoryPosition;
use crate::task::Task;
use crate::task_id::TaskId;
use crate::time::{Time, Timestamp};
use crate::time_limits::TaskTimeLimits;
use crate::usage::{ParkedAgent, TokenUsage};
use crate::work_log::WorkLogEntry;

/// An event in the event log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "EventLine", try_from = "EventLine")]
pub struct RecordedEvent {
    pub id: EventId,
    /// When it was decided.
    pub at: Time,
    /// The fleet node whose request caused it; `None` if that was the node that decided.
    pub node: Option<NodeId>,
    pub new_event: NewEvent,
}

/// An event that is decided and has no number in the event log yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The agent, person or part of Adjutant that caused the event.
    pub actor: Actor,
    /// `None` if the event is about no single task.
    pub task: Option<TaskId>,
    pub event: Event,
}

/// Declares the events: a variant, the `type` of its line, and the fields of its `payload`.
macro_rules! events {
    ($($(#[$attribute:meta])* $variant:ident = $type:tt $fields:tt,)+) => {
        /// The type and data of an event. The serialized form is the `type` and the `payload` of a
        /// line of the event log; a field that the line lacks is empty when it is read back.
        #[derive(Debug, Clone, PartialEq, Eq, IntoStaticStr, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "type", content = "payload", rename_all_fields = "camelCase")]
        #[strum(const_into_str)]
        pub enum Event {
            $($(#[$attribute])*
            #[serde(rename = $type)]
            #[strum(serialize = $type)]
            $variant $fields,)+
        }
    };
}

events! {
    /// A valid message or document arrived.
    MessageReceived = "protocol.message.received" (ReceivedMessage),
    /// A message was refused and changed nothing.
    MessageRejected = "protocol.message.rejected" {
        reason: Reason,
        /// Every problem in the message, each as `path: message`.
        #[serde(
            rename = "errors",
            default,
            skip_serializing_if = "Vec::is_empty",
            with = "encoding::problem_texts"
        )]
        #[cfg_attr(feature = "schema", schemars(with = "Vec<String>", length(min = 1)))]
        problems: Vec<FieldProblem>,
    },
    /// A message of an unknown type arrived.
    MessageUnknown = "protocol.message.unknown" {
        /// The type as the sender wrote it.
        #[serde(rename = "type")]
        kind: String,
    },
    /// A message has an oddity that does not stop it.
    MessageWarned = "protocol.message.warning" {
        reason: Reason,
        /// The odd value, or an explanation.
        detail: String,
    },
    /// A task was created, or a new task file was found.
    TaskCreated = "task.created" {
        /// The new task.
        task: Box<Task>,
        /// `true` if a person made the file; otherwise absent. The text of the body is not
        /// in the line.
        #[serde(
            rename = "byHand",
            default = "encoding::made_by_hand::absent",
            skip_serializing_if = "Option::is_some",
            with = "encoding::made_by_hand"
        )]
        #[cfg_attr(feature = "schema", schemars(with = "bool", extend("const" = true)))]
        body: Option<String>,
        /// The time limits of a task that a command creates. Only its file has them.
        #[serde(skip)]
        limits: Option<TaskTimeLimits>,
    },
    /// The fields or the body of a task changed; its status did not.
    TaskEdited = "task.edited" {
        /// The names of the changed fields; `body` for the body.
        #[serde(default)]
        #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
        changed: Vec<String>,
        /// The task after the change.
        task: Box<Task>,
        /// `None` if the body stays. The line does not have the text.
        #[serde(skip)]
        body: Option<String>,
        /// The new time limits, for those that `changed` names. Only the file has them.
        #[serde(skip)]
        limits: Option<TaskTimeLimits>,
    },
    /// A person removed the file of a task.
    TaskRemoved = "task.removed" {},
    /// A task moved to another status.
    TaskTransitioned = "task.transitioned" {
        /// The status before.
        from: Status,
        /// The status after.
        to: Status,
        /// The reason that the actor gave; may be empty.
        reason: String,
        #[serde(flatten)]
        manner: TransitionCause,
    },
    /// An agent reported the result of its work.
    TaskCompleted = "task.completed" {
        #[serde(flatten)]
        result: Box<RunResult>,
        /// `true` if the result is from a `run_result.json` that the run left; absent if it
        /// came as a message.
        #[serde(
            rename = "leftBehind",
            default,
            skip_serializing_if = "ReportChannel::is_message",
            with = "encoding::left_behind"
        )]
        #[cfg_attr(feature = "schema", schemars(with = "bool", extend("const" = true)))]
        channel: ReportChannel,
    },
    /// The position of a task's story changed.
    StoryMoved = "story.moved" {
        #[serde(flatten)]
        position: Box<StoryPosition>,
    },
    /// A line was added to the work log of a task.
    TaskLogged = "task.logged" {
        #[serde(flatten)]
        entry: WorkLogEntry,
    },
    /// A task was delegated; the event is about the child.
    DelegationRequested = "delegation.requested" {
        #[serde(flatten)]
        handoff: Box<TaskHandoff>,
        /// The sandbox of the run that delegates; absent if it has none.
        #[serde(default, skip_serializing_if = "SandboxLevel::is_none")]
        sandbox: SandboxLevel,
    },
    /// The agent accepted a delegated task.
    DelegationAccepted = "delegation.accepted" {},
    /// A rule or the agent refused a delegation.
    DelegationRejected = "delegation.rejected" {
        /// One of Adjutant's reasons, or the agent's own words.
        reason: String,
    },
    /// A person answered the question a task is blocked on.
    TaskAnswered = "task.answered" {
        /// The answer, for the agent of the next run.
        text: String,
    },
    /// An agent asks a person something.
    TaskAsked = "task.asked" {
        /// The question, in the agent's words.
        question: String,
        /// How the agent would resolve it.
        #[serde(rename = "suggestedResolution", default, skip_serializing_if = "Option::is_none")]
        suggestion: Option<String>,
    },
    /// A run asks for a permission and waits.
    RunAsked = "run.asked" {
        #[serde(flatten)]
        permit: Box<PermissionRequest>,
    },
    /// A person answered what a run waits for.
    RunAnswered = "run.answered" {
        /// The attempt number of the run.
        attempt: u32,
        /// The fence of the run.
        fence: u64,
        /// The number of the question in the run.
        number: u32,
        /// Whether the run may do what it asked for.
        #[serde(default)]
        allowed: bool,
        /// What the person said about it.
        note: String,
        /// The id of the choice, as the agent named it; absent if the person refused without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        choice: Option<String>,
    },
    /// An agent learned something that the next missions of an epic should know.
    EpicNoted = "epic.noted" {
        /// The epic of the agent's mission.
        #[serde(rename = "epicId")]
        epic: EpicId,
        /// When the agent learned it.
        at: Timestamp,
        /// What the agent learned.
        text: String,
    },
    /// A task was assigned to an agent, under a new lease.
    RunStarted = "run.started" {
        /// The agent that works on the task.
        agent: AgentId,
        /// The attempt number of the run.
        attempt: u32,
        /// The fence of the new lease.
        fence: u64,
        /// The random part of the run's token; absent if an earlier version started the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nonce: Option<RunNonce>,
        /// When the lease ends, unless a heartbeat renews it.
        expires_at: Time,
        #[serde(flatten)]
        place: RunPlace,
        /// What confines the run; absent if nothing does.
        #[serde(default, skip_serializing_if = "SandboxLevel::is_none")]
        sandbox: SandboxLevel,
    },
    /// A lease was renewed.
    RunHeartbeat = "run.heartbeat" {
        /// The fence of the lease.
        fence: u64,
        /// When the lease ends now.
        expires_at: Time,
    },
    /// The process of a run ended.
    RunExited = "run.exited" {
        /// The attempt number of the run.
        attempt: u32,
        /// The fence of the run.
        fence: u64,
        exit: RunExit,
        /// The last lines of output, or another explanation; may be empty.
        reason: String,
    },
    /// An attempt failed, and counts against the limit of attempts.
    RunFailed = "run.failed" {
        /// The attempt number of the run.
        attempt: u32,
        /// The fence of the run.
        fence: u64,
        /// Why the attempt failed.
        reason: String,
        /// When the task is tried again; absent if it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Time>,
    },
    /// The agent of a run reported its usage, and how its session can be resumed.
    RunUsage = "run.usage" {
        /// The agent of the run.
        agent: AgentId,
        /// The attempt number of the run.
        attempt: u32,
        /// The fence of the run.
        fence: u64,
        /// The agent's id of its session, if the session can be resumed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        usage: TokenUsage,
        /// A warning about the agent's program, such as a version that was never tested.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        warning: Option<String>,
    },
    /// A run wanted to connect to a host that is not on its agent's list.
    HostRefused = "network.refused" {
        /// The agent of the run.
        agent: AgentId,
        /// The attempt number of the run.
        attempt: u32,
        /// The fence of the run.
        fence: u64,
        /// The host with its port.
        host: String,
    },
    /// An agent could not work. The task is not at fault, and the attempt does not count.
    RunParked = "run.parked" {
        /// The attempt number of the run.
        attempt: u32,
        /// The fence of the run.
        fence: u64,
        parked: Box<ParkedAgent>,
        /// When the task is tried again; absent if another agent may have it now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Time>,
    },
    /// A parked agent may be assigned work again.
    AgentFreed = "agent.freed" {
        /// The agent that was parked.
        agent: AgentId,
    },
    /// An operator wants a ready task to start at once, without waiting any longer.
    TaskRetried = "task.retried" {},
    /// A run could not start, through no fault of the task; the attempt does not count.
    RunDeferred = "run.deferred" {
        /// The attempt number of the run.
        attempt: u32,
        /// The fence of the run.
        fence: u64,
        /// Why the run could not start.
        reason: String,
        /// When the task is tried again.
        not_before: Time,
    },
    /// A run reported, and its work is verified before the report counts.
    WorkClaimed = "work.claimed" {
        /// The attempt number of the run.
        attempt: u32,
        /// The fence of the run.
        fence: u64,
        outcome: WorkOutcome,
        /// The reason for the task's next move.
        reason: String,
        /// How approved work is merged; absent in older event logs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        merge: Option<MergeMode>,
    },
    /// The work of a run was verified.
    WorkChecked = "work.checked" {
        #[serde(flatten)]
        evidence: Box<WorkEvidence>,
        /// The attempt number of the run.
        attempt: u32,
        /// The fence of the run.
        fence: u64,
    },
    /// Uncommitted work in a workspace was saved as a commit.
    WorkSaved = "work.saved" {
        /// The git reference that points to the commit.
        #[serde(rename = "ref")]
        reference: String,
        /// The id of the commit.
        commit: String,
    },
    /// A person allowed a branch to change files that say what Adjutant runs.
    ProtectedAllowed = "work.protected.allowed" {
        /// The protected files.
        files: Vec<String>,
    },
    /// An operator accepted the checks in the file of a task.
    ChecksAccepted = "task.checks.accepted" {
        /// The commands; absent if the file asks for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checks: Option<Vec<String>>,
    },
    /// Work was approved and is to be merged into its base.
    MergeRequested = "merge.requested" {
        /// What the reviewer said.
        note: String,
    },
    /// A merge waits until a person acts.
    MergeWaiting = "merge.waiting" {
        /// What the merge waits for.
        reason: String,
    },
    /// A merge is impossible; the task goes back to its agents.
    MergeRefused = "merge.refused" {
        /// Why the merge is impossible.
        reason: String,
        /// The files in conflict.
        #[serde(default)]
        files: Vec<String>,
    },
    /// Work was merged into its base.
    WorkMerged = "work.merged" {
        /// The branch that the work was merged into.
        base: String,
        /// The commit the base points to now.
        commit: String,
        /// The evidence for the merged result.
        evidence: Box<WorkEvidence>,
    },
    /// A report that does not count was moved to `salvage/`.
    RunSalvaged = "run.salvaged" {
        /// Its name under the run's folder, and the end of its name under `salvage/`.
        file: String,
        reason: Reason,
        /// The text of a report that came as a message; the line does not have it. `None` if the
        /// report lies in the run's folder.
        #[serde(skip)]
        text: Option<String>,
    },
    /// A person applied a salvaged report.
    SalvageApplied = "run.salvage.applied" {
        /// Its name under `salvage/`.
        file: String,
    },
    /// A task cannot be assigned as it is.
    DispatchRefused = "dispatch.refused" {
        reason: Reason,
        /// An explanation for the operator.
        detail: String,
    },
    /// A command was refused, from an operator or from inside a run.
    CommandRefused = "command.refused" {
        /// The command, such as `task move`.
        command: String,
        reason: Reason,
    },
    /// A caller was not authenticated, or asked for more than it may.
    AccessRefused = "access.refused" {
        reason: Reason,
        /// The request, and its sender as far as it is known.
        detail: String,
        /// The number of refusals since the last event of this kind.
        count: u64,
    },
    /// The result of a request with an idempotency key.
    RequestKept = "request.kept" {
        /// A digest of the key: the key itself is the caller's secret.
        key: String,
        /// A digest of the request, to detect another request with the same key.
        request: String,
        /// The events it caused.
        #[serde(default)]
        events: Vec<EventId>,
        /// The task that the request is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        about: Option<TaskId>,
    },
    /// A node became the leader of its fleet.
    FleetDecider = "fleet.decider" {
        /// The new leader.
        node: NodeId,
    },
    /// A notice was delivered.
    NotifySent = "notify.sent" {
        /// The name of the notification rule.
        rule: String,
        /// The kind of its target.
        target: String,
        kind: NoticeKind,
        /// The event that the notice reports.
        about: EventId,
        /// The number of delivery attempts.
        tries: u32,
    },
    /// A notice could not be delivered and will not be.
    NotifyFailed = "notify.failed" {
        /// The name of the notification rule.
        rule: String,
        /// The kind of its target; `none` if the rule no longer exists.
        target: String,
        kind: NoticeKind,
        /// The event that the notice reports.
        about: EventId,
        /// The number of delivery attempts.
        tries: u32,
        /// Why the notice could not be delivered.
        reason: String,
    },
    /// A folder that another program wrote was opened for the first time.
    FolderAdopted = "folder.adopted" {
        /// The number of tasks in the folder.
        tasks: u64,
    },
    /// The event log continues although events before this one are missing in it: its files were
    /// replaced by older ones, and the operator accepted that.
    LogRestored = "log.restored" {
        /// The last event that is in the files.
        kept: EventId,
        /// The last event that is missing.
        missing: EventId,
    },
}

/// A valid message of AOF/1, or a valid document of another dialect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ReceivedMessage {
    Document {
        /// The kind of the document.
        #[serde(rename = "type")]
        kind: DocumentKind,
        /// The task's id in that dialect.
        #[serde(rename = "documentId")]
        id: String,
    },
    Message {
        /// The type of the message.
        #[serde(rename = "type")]
        kind: MessageType,
        /// The recipient that the message names.
        #[serde(rename = "toAgent")]
        to: AgentId,
        /// When the message was sent, according to its sender.
        #[serde(rename = "sentAt")]
        sent_at: Timestamp,
    },
}

/// What caused a task to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "encoding::MannerFields", from = "encoding::MannerFields")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum TransitionCause {
    /// A message or a command, by the table of moves.
    Ruled,
    /// The scheduler, which undoes the move once the obstacle is gone.
    Held(BlockedBy),
    /// A person moved the file, as the table of moves allows.
    ByHand,
    /// A person moved the file to a status that the table of moves does not allow.
    AgainstTheTable,
    /// An operator reopened a cancelled task. The table of moves has no such move.
    Reopened,
}

impl TransitionCause {
    /// Returns whether a message or a command moved the task, and the file moves with it.
    pub fn is_by_request(self) -> bool {
        matches!(self, Self::Ruled | Self::Reopened)
    }
}

/// How the result of a run arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReportChannel {
    #[default]
    Message,
    /// A `run_result.json` in the run's folder.
    LeftBehind,
}

impl ReportChannel {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    fn is_message(&self) -> bool {
        *self == Self::Message
    }
}

/// How much an event matters to an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventSeverity {
    /// An event that occurs all the time, such as a heartbeat.
    Debug,
    Info,
    /// A person should look at it.
    Warn,
}

impl Event {
    /// Returns the `type` of a line of the event log.
    pub const fn kind(&self) -> &'static str {
        self.into_str()
    }

    pub const fn severity(&self) -> EventSeverity {
        match self {
            Self::RunHeartbeat { .. } | Self::RequestKept { .. } | Self::TaskLogged { .. } => {
                EventSeverity::Debug
            }
            // A plain report has neither file, and needs neither.
            Self::MessageWarned {
                reason: Reason::SummaryFileNotFound | Reason::HandoffFileNotFound,
                ..
            } => EventSeverity::Debug,
            Self::MessageRejected { .. }
            | Self::MessageUnknown { .. }
            | Self::MessageWarned { .. }
            | Self::DelegationRejected { .. }
            | Self::RunFailed { .. }
            | Self::RunParked { .. }
            | Self::HostRefused { .. }
            | Self::RunDeferred { .. }
            | Self::RunSalvaged { .. }
            | Self::MergeWaiting { .. }
            | Self::MergeRefused { .. }
            | Self::DispatchRefused { .. }
            | Self::CommandRefused { .. }
            | Self::AccessRefused { .. }
            | Self::NotifyFailed { .. } => EventSeverity::Warn,
            _ => EventSeverity::Info,
        }
    }

    /// Returns whether work on a task starts again. Then the files of an earlier run must not be
    /// taken for a report of the next one.
    pub fn starts_again(&self) -> bool {
        match self {
            // A person who takes a ready task by hand may finish it before the daemon
            // notices: the files are those of the new run. The old run's files were removed
            // when the task became ready.
            Self::TaskTransitioned { from, to, manner, .. } => {
                let taken = *from == Status::Ready && *manner != TransitionCause::Ruled;
                matches!(to, Status::Ready | Status::InProgress) && !taken
            }
            _ => false,
        }
    }
}
