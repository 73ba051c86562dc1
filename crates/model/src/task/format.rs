//! The form of a task in events and in the index: the fields of its front matter, in that order.
//!
//! The task file is Markdown text and holds more than these fields.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::{Lease, Task, TaskRouting, TaskState};
use crate::actor::{Actor, AgentId};
use crate::encoding::{lenient, one_or_many, optional_usd};
use crate::node_id::NodeId;
use crate::permission::PermissionRequest;
use crate::priority::Priority;
use crate::review::ReviewPolicy;
use crate::run::RunRef;
use crate::run_history::{AgentQuestion, BlockedBy, ExpiredRun, FailedAttempt, RunHistory};
use crate::status::Status;
use crate::story::StoryPosition;
use crate::task_id::TaskId;
use crate::task_origin::{DelegationNote, MissionNote, TaskOrigin};
use crate::time::Time;
use crate::usage::{AgentSession, DailyUsage, ParkedAgent, RefusedHost, TaskUsage, UsageBudget};
use crate::work::TaskWork;

/// The fields of a task.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct TaskFields {
    /// The id never changes.
    id: TaskId,
    /// What is to be done, in one line.
    title: Box<str>,
    status: Status,
    priority: Priority,
    /// When the task was created.
    created_at: Time,
    /// When the task last changed.
    updated_at: Time,
    /// When the status last changed.
    last_transition_at: Time,
    /// The actor that created the task; empty if its file does not say.
    created_by: Box<str>,
    #[serde(default, skip_serializing_if = "TaskRouting::is_empty")]
    routing: TaskRouting,
    /// The task that this one is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent_id: Option<TaskId>,
    /// The tasks that must be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    depends_on: Vec<TaskId>,
    /// A name that at most one running task may hold at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource: Option<Box<str>>,
    /// When the task should be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due_by: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease: Option<Lease>,
    #[serde(default, skip_serializing_if = "TaskMetadata::is_empty")]
    metadata: TaskMetadata,
}

/// What Adjutant records about a task.
// One flat struct: serde's `flatten` is slow, and opening a folder reads every task from the index.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskMetadata {
    /// `false` if finished work is done without a review; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "bool", extend("const" = false)))]
    review_required: Option<bool>,
    /// How many delegations lie above the task.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "saturating_u32")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    delegation_depth: Option<u32>,
    /// The last run whose lease has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_run: Option<RunRef>,
    /// The sender of the last completion report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reported_by: Option<AgentId>,
    /// The fence of the run that sent that report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reported_fence: Option<u64>,
    /// Why a reviewer rejected the work, for the agent of the next run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    feedback: Option<Box<str>>,
    /// The run that was started and whose end is not recorded yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open_run: Option<RunRef>,
    /// The fleet node that supervises the last run and has its files.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    node: Option<NodeId>,
    /// The failed attempts since the count was last reset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    failures: Vec<FailedAttempt>,
    /// The task is not tried again before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_before: Option<Time>,
    /// When the last attempt failed or was deferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expired_at: Option<Time>,
    /// Why the last attempt failed or was deferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expired_reason: Option<Box<str>>,
    /// `dependency` if the scheduler moved the task to `blocked`. It unblocks only such tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blocked_by: Option<BlockedBy>,
    /// Why the task is blocked, in review, or in the deadletter folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status_reason: Option<Box<str>>,
    /// An operator's answer, for the agent of the next run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Box<str>>,
    /// The agent's question: `text` and `suggestedResolution`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<Box<AgentQuestion>>,
    /// The permission that the current run waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permission: Option<Box<PermissionRequest>>,
    /// The session in which the next run can resume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<AgentSession>,
    /// The agents that were parked while they worked on this task: one, or a list.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "one_or_many")]
    #[cfg_attr(feature = "schema", schemars(with = "one_or_many::OneOrMany<ParkedAgent>"))]
    parked: Vec<ParkedAgent>,
    /// The hosts that the last run wanted to connect to and may not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    refused_hosts: Vec<RefusedHost>,
    /// The usage by day and agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    usage: Vec<DailyUsage>,
    /// The most that all runs together may cost, in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_usd")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    budget_usd: Option<u64>,
    /// The most tokens that all runs together may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    budget_tokens: Option<u64>,
    /// The commands that must pass before the work counts as done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checks: Option<Box<[Box<str>]>>,
    /// The checks that an operator set or accepted. An edit of the file does not change them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accepted_checks: Option<Box<[Box<str>]>>,
    /// The state of the work between its report and its end.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    work: Option<Box<TaskWork>>,
    /// The mission that the task was made from, or some of its ids.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    mission: Option<MissionNote>,
    /// The `new_task` that the task was made from, or its id.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    delegation: Option<DelegationNote>,
    /// The position of the task's story.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::deserialize"
    )]
    story: Option<StoryPosition>,
}

/// A depth too large for its type saturates, so that it still counts as too deep.
fn saturating_u32<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let depth = Option::<u64>::deserialize(deserializer)?;
    Ok(depth.map(|depth| u32::try_from(depth).unwrap_or(u32::MAX)))
}

/// The fields that may be lists. Serde would take a list for any struct.
const LISTS: [&str; 6] =
    ["failures", "parked", "refusedHosts", "usage", "checks", "acceptedChecks"];

/// The lists whose items count one by one.
const ITEM_LISTS: [&str; 3] = ["failures", "refusedHosts", "usage"];

impl TaskMetadata {
    /// Reads the metadata of a task file, which people and other programs write too: a field that
    /// is not as we would write it counts as absent, and so does an item of a list.
    pub fn read_lenient(metadata: &Map<String, Value>) -> Self {
        let is_misplaced_list =
            |(key, value): (&String, &Value)| value.is_array() && !LISTS.contains(&&**key);
        let read = Self::deserialize(metadata);
        if let (Ok(read), false) = (read, metadata.iter().any(is_misplaced_list)) {
            return read;
        }
        let is_readable = |key: &str, value: Value| {
            Self::deserialize(&Map::from_iter([(key.to_owned(), value)])).is_ok()
        };
        let mut readable = Map::new();
        for (key, value) in metadata {
            let value = match value {
                Value::Array(_) if !LISTS.contains(&&**key) => continue,
                Value::Array(items) if ITEM_LISTS.contains(&&**key) => {
                    let items = items.iter().cloned();
                    items.filter(|item| is_readable(key, json!([item]))).collect()
                }
                other => other.clone(),
            };
            if is_readable(key, value.clone()) {
                readable.insert(key.clone(), value);
            }
        }
        Self::deserialize(&readable).unwrap_or_default()
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn take_account(&mut self) -> Option<Box<TaskUsage>> {
        let account = TaskUsage {
            session: self.session.take(),
            parked: std::mem::take(&mut self.parked),
            spent: std::mem::take(&mut self.usage),
            budget: UsageBudget { tokens: self.budget_tokens, cost: self.budget_usd },
            refused_hosts: std::mem::take(&mut self.refused_hosts),
        };
        (account != TaskUsage::default()).then(|| Box::new(account))
    }

    fn take_origin(&mut self) -> Option<Box<TaskOrigin>> {
        let origin = TaskOrigin {
            mission: self.mission.take().filter(|note| *note != MissionNote::default()),
            delegation: self.delegation.take().filter(|note| *note != DelegationNote::default()),
            story: self.story.take(),
        };
        (origin != TaskOrigin::default()).then(|| Box::new(origin))
    }
}

impl From<Task> for TaskFields {
    fn from(task: Task) -> Self {
        let (status, lease) = match task.state {
            TaskState::InProgress(lease) => (Status::InProgress, lease),
            state => (state.status(), None),
        };
        let history = task.history;
        let (expired_at, expired_reason) =
            history.expired.map(|expired| (expired.at, expired.reason)).unzip();
        let account = history.account.map(|account| *account).unwrap_or_default();
        let origin = task.origin.map(|origin| *origin).unwrap_or_default();
        Self {
            id: task.id,
            title: task.title,
            status,
            priority: task.priority,
            created_at: task.created_at,
            updated_at: task.updated_at,
            last_transition_at: task.last_transition_at,
            created_by: task.created_by,
            routing: task.routing,
            parent_id: task.parent,
            depends_on: task.depends_on,
            resource: task.resource,
            due_by: task.due_by,
            lease,
            metadata: TaskMetadata {
                review_required: (task.review == ReviewPolicy::NotNeeded).then_some(false),
                delegation_depth: (task.depth > 0).then_some(task.depth),
                last_run: task.last_run,
                reported_by: task.reported_by,
                reported_fence: task.reported_fence,
                feedback: task.feedback,
                open_run: history.open,
                node: history.node,
                failures: history.failures,
                not_before: history.not_before,
                expired_at,
                expired_reason,
                blocked_by: history.blocked_by,
                status_reason: history.reason,
                answer: history.answer,
                question: history.question,
                permission: history.permit,
                session: account.session,
                parked: account.parked,
                refused_hosts: account.refused_hosts,
                usage: account.spent,
                budget_usd: account.budget.cost,
                budget_tokens: account.budget.tokens,
                checks: history.checks,
                accepted_checks: history.accepted_checks,
                work: history.work,
                mission: origin.mission,
                delegation: origin.delegation,
                story: origin.story,
            },
        }
    }
}

impl From<TaskFields> for Task {
    fn from(fields: TaskFields) -> Self {
        let mut task = Self {
            state: match fields.status {
                Status::InProgress => TaskState::InProgress(fields.lease),
                status => TaskState::entered(status),
            },
            title: fields.title,
            priority: fields.priority,
            updated_at: fields.updated_at,
            last_transition_at: fields.last_transition_at,
            created_by: fields.created_by,
            routing: fields.routing,
            parent: fields.parent_id,
            depends_on: fields.depends_on,
            resource: fields.resource,
            due_by: fields.due_by,
            ..Self::new(fields.id, "", &Actor::System, fields.created_at)
        };
        task.set_metadata(fields.metadata);
        task
    }
}

impl Task {
    /// Replaces all fields that are stored under `metadata`.
    pub fn set_metadata(&mut self, mut metadata: TaskMetadata) {
        let (account, origin) = (metadata.take_account(), metadata.take_origin());
        let expired = metadata.expired_at.zip(metadata.expired_reason);
        self.review = match metadata.review_required {
            Some(false) => ReviewPolicy::NotNeeded,
            Some(true) | None => ReviewPolicy::Required,
        };
        self.depth = metadata.delegation_depth.unwrap_or(0);
        self.last_run = metadata.last_run;
        self.reported_by = metadata.reported_by;
        self.reported_fence = metadata.reported_fence;
        self.feedback = metadata.feedback;
        self.history = RunHistory {
            open: metadata.open_run,
            node: metadata.node,
            failures: metadata.failures,
            not_before: metadata.not_before,
            expired: expired.map(|(at, reason)| ExpiredRun { at, reason }),
            blocked_by: metadata.blocked_by,
            reason: metadata.status_reason,
            answer: metadata.answer,
            question: metadata.question,
            permit: metadata.permission,
            account,
            checks: metadata.checks,
            accepted_checks: metadata.accepted_checks,
            work: metadata.work.filter(|work| !work.is_empty()),
        };
        self.origin = origin;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(metadata: &Value) -> Value {
        json!(TaskMetadata::read_lenient(metadata.as_object().expect("a mapping")))
    }

    #[test]
    fn metadata_without_its_unreadable_fields_is_read() {
        let metadata = json!({
            "reportedBy": "swe", "notBefore": "soon", "lastRun": ["swe", 9, 99],
            "failures": [{"attempt": 1, "reason": "x"}, {"attempt": "two"}],
            "question": {"text": "Which?", "suggestedResolution": 5},
            "delegationDepth": 5_000_000_000_u64, "note": "kept by another program",
        });
        let expected = json!({
            "delegationDepth": u32::MAX, "reportedBy": "swe",
            "failures": [{"attempt": 1, "reason": "x"}], "question": {"text": "Which?"},
        });
        assert_eq!(read(&metadata), expected);
    }
}
