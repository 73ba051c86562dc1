//! Events: what happened. The record is made of them, and the world follows from them.

use std::fmt;

use crate::account::{Parked, Usage};
use crate::answer::{Problem, Reason};
use crate::aof::Kind;
use crate::completion::{Outcome, RunResult};
use crate::dialect::DocumentKind;
use crate::evidence::Evidence;
use crate::handoff::Handoff;
use crate::id::TaskId;
use crate::mission::EpicId;
use crate::name::{Actor, AgentId};
use crate::node::NodeId;
use crate::notice;
use crate::permit::Permit;
use crate::pipeline::Position;
use crate::policy::Merge;
use crate::run::{Exit, Place};
use crate::status::Status;
use crate::task::Task;
use crate::time::{Stamp, Time};
use crate::trials::{BlockedBy, Question};
use crate::worklog::Entry;

/// The number of an event in the record, from 1, without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct EventId(pub u64);

/// An event in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Its number.
    pub id: EventId,
    /// When it was decided.
    pub at: Time,
    /// Who caused it, what it is about and what happened.
    pub happened: Happened,
}

/// An event that is decided and has no number yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// Who caused it.
    pub actor: Actor,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// `protocol.message.received`: a message in order came in.
    MessageReceived {
        /// Its type.
        kind: Kind,
        /// Whom it was for.
        to: AgentId,
        /// When it was sent.
        sent_at: Stamp,
    },
    /// `protocol.message.received`: a document of another dialect in order came in.
    DocumentReceived {
        /// What kind of document it is.
        kind: DocumentKind,
        /// The id it names, as its dialect has it.
        id: String,
    },
    /// `protocol.message.rejected`: a message was refused.
    MessageRejected {
        /// Why.
        reason: Reason,
        /// Every place that was wrong.
        problems: Vec<Problem>,
    },
    /// `protocol.message.unknown`: a message of a type nobody here knows.
    MessageUnknown {
        /// The type as it was given.
        kind: String,
    },
    /// `protocol.message.warning`: something about a message was odd and did not stop it.
    MessageWarned {
        /// What kind of odd.
        reason: Reason,
        /// What exactly.
        detail: String,
    },
    /// `task.created`
    TaskCreated {
        /// The task as it was made.
        task: Box<Task>,
        /// Its body; none if the file was there first.
        body: Option<String>,
    },
    /// `task.edited`: fields or body changed, the status did not.
    TaskEdited {
        /// The task as it is now.
        task: Box<Task>,
        /// The names of the fields that changed.
        changed: Vec<String>,
        /// The new body; none if it stays as it is in the file.
        body: Option<String>,
    },
    /// `task.removed`: a person took the file away.
    TaskRemoved,
    /// `task.transitioned`
    TaskTransitioned {
        /// Where it came from.
        from: Status,
        /// Where it went.
        to: Status,
        /// Why.
        reason: String,
        /// By a rule, or by a person's hand.
        manner: Manner,
    },
    /// `task.completed`: an agent said what came of its work.
    TaskCompleted {
        /// What it said.
        result: Box<RunResult>,
        /// By a message, or by a file it left.
        channel: Channel,
    },
    /// `story.moved`: the story that a task is stands elsewhere now.
    StoryMoved {
        /// Where it stands.
        position: Box<Position>,
    },
    /// `task.logged`: a line was added to the work log.
    TaskLogged {
        /// The line.
        entry: Entry,
    },
    /// `delegation.requested`
    DelegationRequested {
        /// What is given on; the task of the event is the child.
        handoff: Box<Handoff>,
    },
    /// `delegation.accepted`
    DelegationAccepted,
    /// `delegation.rejected`
    DelegationRejected {
        /// Why: one of our reasons, or the agent's own words.
        reason: String,
    },
    /// `task.answered`: a person answered the question a task is blocked on.
    TaskAnswered {
        /// The answer.
        text: String,
    },
    /// `task.asked`: an agent asks a person something.
    TaskAsked {
        /// What it asks.
        question: Box<Question>,
    },
    /// `run.asked`: a run wants to be allowed something, and waits.
    RunAsked {
        /// What it asks.
        permit: Box<Permit>,
    },
    /// `run.answered`: a person answered what a run waits for.
    RunAnswered {
        /// The number of the run.
        attempt: u32,
        /// Its fence.
        fence: u64,
        /// The number of the question.
        number: u32,
        /// The choice, by what the agent knows it by.
        choice: Option<String>,
        /// Whether it is allowed.
        allowed: bool,
        /// What whoever answered said about it.
        note: String,
    },
    /// `epic.noted`: something was learnt that the next missions of an epic should know.
    EpicNoted {
        /// The epic.
        epic: EpicId,
        /// When it was learnt.
        at: Stamp,
        /// What was learnt.
        text: String,
    },
    /// `run.started`: a task was given to an agent, under a new lease.
    RunStarted {
        /// Who is to work on it.
        agent: AgentId,
        /// The number of the run.
        attempt: u32,
        /// The fence of its lease.
        fence: u64,
        /// Until when its lease lasts, if it is not renewed.
        expires_at: Time,
        /// Where it takes place.
        place: Place,
    },
    /// `run.heartbeat`: a lease was renewed.
    RunHeartbeat {
        /// The fence of the lease.
        fence: u64,
        /// Until when it lasts now.
        expires_at: Time,
    },
    /// `run.exited`: the process of a run is over.
    RunExited {
        /// The number of the run.
        attempt: u32,
        /// Its fence.
        fence: u64,
        /// How it ended.
        exit: Exit,
        /// What there is to say about it, as the last lines it printed; empty if there is nothing.
        reason: String,
    },
    /// `run.failed`: an attempt came to nothing, and is counted.
    RunFailed {
        /// The number of the run.
        attempt: u32,
        /// Its fence.
        fence: u64,
        /// Why.
        reason: String,
        /// Until when the task waits before it is tried again; none if it is not.
        not_before: Option<Time>,
    },
    /// `run.usage`: what the agent of a run told of itself: what it used, how to go on with it.
    RunUsage {
        /// Who.
        agent: AgentId,
        /// The number of the run.
        attempt: u32,
        /// Its fence.
        fence: u64,
        /// What the agent knows its conversation by, if it can be gone on with.
        session: Option<String>,
        /// What it used.
        usage: Usage,
        /// What is to be known of its program, as that this version was not tried.
        warning: Option<String>,
    },
    /// `run.parked`: an agent could not work, which is no fault of the task and counts as no
    /// attempt. Who is given nothing until then, or until a person has done something.
    RunParked {
        /// The number of the run.
        attempt: u32,
        /// Its fence.
        fence: u64,
        /// Who, until when and why.
        parked: Box<Parked>,
        /// Until when the task waits; none if others may have it.
        not_before: Option<Time>,
    },
    /// `agent.freed`: an agent that could not work is given work again.
    AgentFreed {
        /// Who.
        agent: AgentId,
    },
    /// `task.retried`: a person wants a ready task tried at once, whatever it waited for.
    TaskRetried,
    /// `run.deferred`: a run could not begin for a reason that is not the task's, and no attempt is
    /// counted.
    RunDeferred {
        /// The number of the run.
        attempt: u32,
        /// Its fence.
        fence: u64,
        /// Why.
        reason: String,
        /// Until when the task waits before it is tried again.
        not_before: Time,
    },
    /// `work.claimed`: a run said what came of its work, and that is looked into before it counts.
    WorkClaimed {
        /// The number of the run.
        attempt: u32,
        /// Its fence.
        fence: u64,
        /// What it said.
        outcome: Outcome,
        /// Why its task is to move.
        reason: String,
        /// What approving it does; none in older records.
        merge: Option<Merge>,
    },
    /// `work.checked`: what a run said was looked into.
    WorkChecked {
        /// The number of the run.
        attempt: u32,
        /// Its fence.
        fence: u64,
        /// What was found out.
        evidence: Box<Evidence>,
    },
    /// `work.saved`: what lay uncommitted in a workspace was put where it can be brought back from.
    WorkSaved {
        /// Where it is.
        reference: String,
        /// The commit it is.
        commit: String,
    },
    /// `merge.requested`: work was approved, and is to be brought into its base.
    MergeRequested {
        /// What whoever approved it said.
        note: String,
    },
    /// `merge.waiting`: a merge cannot be made until a person has done something.
    MergeWaiting {
        /// What it waits for.
        reason: String,
    },
    /// `merge.refused`: a merge cannot be made, and the task goes back.
    MergeRefused {
        /// Why.
        reason: String,
        /// The files that are in conflict.
        files: Vec<String>,
    },
    /// `work.merged`: work is in its base.
    WorkMerged {
        /// The base.
        base: String,
        /// What it points to now.
        commit: String,
        /// What was found out about the result.
        evidence: Box<Evidence>,
    },
    /// `run.salvaged`: something a run left that could not count was put aside.
    RunSalvaged {
        /// Its name under the run's folder, and the end of its name under `salvage/`.
        file: String,
        /// Why it does not count.
        reason: Reason,
        /// What it says, if it came by a message; none if it lies in the run's folder.
        text: Option<String>,
    },
    /// `run.salvage.applied`: a person let a report count that came too late.
    SalvageApplied {
        /// Its name under `salvage/`.
        file: String,
    },
    /// `dispatch.refused`: a task cannot be given out as it is.
    DispatchRefused {
        /// Why.
        reason: Reason,
        /// What exactly.
        detail: String,
    },
    /// `command.refused`: a command was refused, of an operator or inside a run.
    CommandRefused {
        /// The command.
        command: String,
        /// Why.
        reason: Reason,
    },
    /// `access.refused`: somebody was not let in, or asked for more than they may.
    AccessRefused {
        /// Why.
        reason: Reason,
        /// What was asked for, and by whom as far as that can be told.
        detail: String,
        /// How often since the last event of this kind.
        count: u64,
    },
    /// `request.kept`: what came of a request that carried a key, so that it is not done twice.
    RequestKept {
        /// What the key was made into; the key itself is nobody else's business.
        key: String,
        /// What the request was made into, to tell another under the same key.
        request: String,
        /// The task it was about.
        about: Option<TaskId>,
        /// The events it caused.
        events: Vec<EventId>,
    },
    /// `fleet.decider`: a node decides from now on, and no other.
    FleetDecider {
        /// The node.
        node: NodeId,
    },
    /// `notify.sent`: somebody was told what a rule wants them to be told.
    NotifySent {
        /// The name of the rule.
        rule: String,
        /// What kind of target it has.
        target: String,
        /// What it was about.
        kind: notice::Kind,
        /// The event it told of.
        about: EventId,
        /// How often it was tried.
        tries: u32,
    },
    /// `notify.failed`: somebody could not be told, and will not be.
    NotifyFailed {
        /// The name of the rule.
        rule: String,
        /// What kind of target it has.
        target: String,
        /// What it was about.
        kind: notice::Kind,
        /// The event it would have told of.
        about: EventId,
        /// How often it was tried.
        tries: u32,
        /// Why not.
        reason: String,
    },
    /// `folder.adopted`: a folder that others wrote was opened for the first time.
    FolderAdopted {
        /// How many tasks were in it.
        tasks: u64,
    },
}

/// How a task came to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// By a message or a command, along the table.
    Ruled,
    /// By the scheduler, which will take it back once the obstacle is gone.
    Held(BlockedBy),
    /// A person moved the file, along the table.
    ByHand,
    /// A person moved the file where the table has no way.
    AgainstTheTable,
}

/// How a result came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// By a message.
    Message,
    /// By a `run_result.json` that lies where it belongs, and is its author's.
    LeftBehind,
}

impl Event {
    /// Returns the type as the record writes it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::MessageReceived { .. } | Self::DocumentReceived { .. } => {
                "protocol.message.received"
            }
            Self::MessageRejected { .. } => "protocol.message.rejected",
            Self::MessageUnknown { .. } => "protocol.message.unknown",
            Self::MessageWarned { .. } => "protocol.message.warning",
            Self::TaskCreated { .. } => "task.created",
            Self::TaskEdited { .. } => "task.edited",
            Self::TaskRemoved => "task.removed",
            Self::TaskTransitioned { .. } => "task.transitioned",
            Self::TaskCompleted { .. } => "task.completed",
            Self::StoryMoved { .. } => "story.moved",
            Self::TaskLogged { .. } => "task.logged",
            Self::DelegationRequested { .. } => "delegation.requested",
            Self::DelegationAccepted => "delegation.accepted",
            Self::DelegationRejected { .. } => "delegation.rejected",
            Self::TaskAnswered { .. } => "task.answered",
            Self::TaskAsked { .. } => "task.asked",
            Self::RunAsked { .. } => "run.asked",
            Self::RunAnswered { .. } => "run.answered",
            Self::EpicNoted { .. } => "epic.noted",
            Self::RunStarted { .. } => "run.started",
            Self::RunHeartbeat { .. } => "run.heartbeat",
            Self::RunExited { .. } => "run.exited",
            Self::RunFailed { .. } => "run.failed",
            Self::RunUsage { .. } => "run.usage",
            Self::RunParked { .. } => "run.parked",
            Self::AgentFreed { .. } => "agent.freed",
            Self::TaskRetried => "task.retried",
            Self::RunDeferred { .. } => "run.deferred",
            Self::WorkClaimed { .. } => "work.claimed",
            Self::WorkChecked { .. } => "work.checked",
            Self::WorkSaved { .. } => "work.saved",
            Self::MergeRequested { .. } => "merge.requested",
            Self::MergeWaiting { .. } => "merge.waiting",
            Self::MergeRefused { .. } => "merge.refused",
            Self::WorkMerged { .. } => "work.merged",
            Self::RunSalvaged { .. } => "run.salvaged",
            Self::SalvageApplied { .. } => "run.salvage.applied",
            Self::DispatchRefused { .. } => "dispatch.refused",
            Self::CommandRefused { .. } => "command.refused",
            Self::AccessRefused { .. } => "access.refused",
            Self::RequestKept { .. } => "request.kept",
            Self::FleetDecider { .. } => "fleet.decider",
            Self::NotifySent { .. } => "notify.sent",
            Self::NotifyFailed { .. } => "notify.failed",
            Self::FolderAdopted { .. } => "folder.adopted",
        }
    }
}

impl Event {
    /// Says whether work on a task starts again, so that what an earlier run left must not be
    /// taken for what the next one says.
    pub fn starts_again(&self) -> bool {
        match self {
            // Who takes a ready task by hand may have finished it by the time it is noticed: what
            // lies there is the new run's, and the old one's went when the task became ready.
            Self::TaskTransitioned { from, to, manner, .. } => {
                let taken = *from == Status::Ready && *manner != Manner::Ruled;
                matches!(to, Status::Ready | Status::InProgress) && !taken
            }
            _ => false,
        }
    }
}

impl EventId {
    /// Returns the number that comes after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
