//! A line of the record, and what each type of event says.

mod payload;
mod run;
mod story;
mod task;
mod work;

use schemars::{JsonSchema, json_schema};

use self::payload::{
    AccessRefused, CommandRefused, DelegationRejected, FleetDecider, FolderAdopted,
    MessageReceived, MessageRejected, MessageUnknown, MessageWarned, Nothing, NotifyFailed,
    NotifySent, RequestKept, RunSalvaged, TaskCompleted, TaskCreated, TaskEdited, TaskLogged,
    TaskTransitioned,
};
use self::run::{
    AgentFreed, EpicNoted, RunAnswered, RunAsked, RunDeferred, RunExited, RunFailed, RunHeartbeat,
    RunParked, RunStarted, RunUsage, SalvageApplied, TaskAnswered, TaskAsked,
};
use self::story::StoryMoved;
use self::work::{
    MergeRefused, MergeRequested, MergeWaiting, WorkChecked, WorkClaimed, WorkMerged, WorkSaved,
};
use super::described;
use super::handoff::Handoff;
use super::id::TaskId;
use super::name::Actor;
use super::time::Timestamp;

/// A line of the record: one event.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Line {
    event_id: EventNumber,
    /// When it was decided.
    timestamp: Timestamp,
    actor: Actor,
    /// The task it is about; absent where there is none.
    task_id: Option<TaskId>,
    prev: Option<Link>,
    #[serde(flatten)]
    event: Event,
}

described! {
    /// The number of the event: from 1, one more each time, over all files.
    EventNumber => json_schema!({"type": "integer", "minimum": 1})
}

described! {
    /// The first 16 hex digits of the SHA-256 of the line before, without its line break; absent in
    /// the first line.
    Link => json_schema!({"type": "string", "pattern": "^[0-9a-f]{16}$"})
}

/// What happened.
#[derive(JsonSchema)]
#[serde(tag = "type", content = "payload")]
enum Event {
    /// A message in order came in.
    #[serde(rename = "protocol.message.received")]
    MessageReceived(MessageReceived),
    /// A message was refused, and changed nothing.
    #[serde(rename = "protocol.message.rejected")]
    MessageRejected(MessageRejected),
    /// A message of a type nobody here knows came in.
    #[serde(rename = "protocol.message.unknown")]
    MessageUnknown(MessageUnknown),
    /// Something about a message was odd and did not stop it.
    #[serde(rename = "protocol.message.warning")]
    MessageWarned(MessageWarned),
    /// A task was made, or a file that somebody made was taken in.
    #[serde(rename = "task.created")]
    TaskCreated(TaskCreated),
    /// Fields or the body of a task changed, and its status did not.
    #[serde(rename = "task.edited")]
    TaskEdited(TaskEdited),
    /// A person took the file of a task away.
    #[serde(rename = "task.removed")]
    TaskRemoved(Nothing),
    /// A task moved.
    #[serde(rename = "task.transitioned")]
    TaskTransitioned(TaskTransitioned),
    /// An agent said what came of its work.
    #[serde(rename = "task.completed")]
    TaskCompleted(TaskCompleted),
    /// The story that a task is stands elsewhere now.
    #[serde(rename = "story.moved")]
    StoryMoved(StoryMoved),
    /// A line was added to the work log of a task.
    #[serde(rename = "task.logged")]
    TaskLogged(TaskLogged),
    /// A task was given on.
    #[serde(rename = "delegation.requested")]
    DelegationRequested(Handoff),
    /// The agent a task was given to takes it.
    #[serde(rename = "delegation.accepted")]
    DelegationAccepted(Nothing),
    /// A task was not given on: a rule or the agent said no.
    #[serde(rename = "delegation.rejected")]
    DelegationRejected(DelegationRejected),
    /// A person answered the question a task is blocked on.
    #[serde(rename = "task.answered")]
    TaskAnswered(TaskAnswered),
    /// An agent asks a person something.
    #[serde(rename = "task.asked")]
    TaskAsked(TaskAsked),
    /// A run wants to be allowed something, and waits.
    #[serde(rename = "run.asked")]
    RunAsked(RunAsked),
    /// A person answered what a run waits for.
    #[serde(rename = "run.answered")]
    RunAnswered(RunAnswered),
    /// Something was learnt that the next missions of an epic should know.
    #[serde(rename = "epic.noted")]
    EpicNoted(EpicNoted),
    /// A task was given to an agent.
    #[serde(rename = "run.started")]
    RunStarted(RunStarted),
    /// A lease was renewed.
    #[serde(rename = "run.heartbeat")]
    RunHeartbeat(RunHeartbeat),
    /// The process of a run is over.
    #[serde(rename = "run.exited")]
    RunExited(RunExited),
    /// An attempt came to nothing.
    #[serde(rename = "run.failed")]
    RunFailed(RunFailed),
    /// An agent told of itself what it used.
    #[serde(rename = "run.usage")]
    RunUsage(RunUsage),
    /// An agent could not work, which is no fault of the task.
    #[serde(rename = "run.parked")]
    RunParked(RunParked),
    /// An agent that could not work is given work again.
    #[serde(rename = "agent.freed")]
    AgentFreed(AgentFreed),
    /// A person wants a ready task tried at once, whatever it waited for.
    #[serde(rename = "task.retried")]
    TaskRetried(Nothing),
    /// A run could not begin for a reason that is not the task's; no attempt is counted.
    #[serde(rename = "run.deferred")]
    RunDeferred(RunDeferred),
    /// A run said what came of its work, and that is looked into before it counts.
    #[serde(rename = "work.claimed")]
    WorkClaimed(WorkClaimed),
    /// What a run said was looked into.
    #[serde(rename = "work.checked")]
    WorkChecked(WorkChecked),
    /// What lay uncommitted in a workspace was put where it can be brought back from.
    #[serde(rename = "work.saved")]
    WorkSaved(WorkSaved),
    /// Work was approved, and is to be brought into its base.
    #[serde(rename = "merge.requested")]
    MergeRequested(MergeRequested),
    /// A merge cannot be made until a person has done something.
    #[serde(rename = "merge.waiting")]
    MergeWaiting(MergeWaiting),
    /// A merge cannot be made, and the task goes back.
    #[serde(rename = "merge.refused")]
    MergeRefused(MergeRefused),
    /// Work is in its base.
    #[serde(rename = "work.merged")]
    WorkMerged(WorkMerged),
    /// Something a run left that cannot count was put aside.
    #[serde(rename = "run.salvaged")]
    RunSalvaged(RunSalvaged),
    /// A person let a report count that came too late.
    #[serde(rename = "run.salvage.applied")]
    SalvageApplied(SalvageApplied),
    /// A task cannot be given out as it is.
    #[serde(rename = "dispatch.refused")]
    DispatchRefused(MessageWarned),
    /// A command was refused, and changed nothing.
    #[serde(rename = "command.refused")]
    CommandRefused(CommandRefused),
    /// Somebody was not let in, or asked for more than they may.
    #[serde(rename = "access.refused")]
    AccessRefused(AccessRefused),
    /// What came of a request that carried a key.
    #[serde(rename = "request.kept")]
    RequestKept(RequestKept),
    /// A node of a fleet decides from now on, and no other.
    #[serde(rename = "fleet.decider")]
    FleetDecider(FleetDecider),
    /// Somebody was told what a rule of the configuration wants them to be told.
    #[serde(rename = "notify.sent")]
    NotifySent(NotifySent),
    /// Somebody could not be told, and will not be.
    #[serde(rename = "notify.failed")]
    NotifyFailed(NotifyFailed),
    /// A folder that others wrote was opened for the first time.
    #[serde(rename = "folder.adopted")]
    FolderAdopted(FolderAdopted),
}
