//! A task in events and in the index. The task file itself is text and keeps more than this.

use adjutant_core::task::{LastRun, Lease, Review, Routing, State, Task};
use adjutant_core::{AgentId, Priority, Status, TaskId, Time};
use serde::{Deserialize, Serialize};

use super::metadata::MetadataWire;
use super::{BadWire, bad};

/// A task, field by field as its front matter has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskWire {
    id: String,
    title: String,
    status: String,
    priority: String,
    created_at: String,
    updated_at: String,
    last_transition_at: String,
    created_by: String,
    #[serde(default, skip_serializing_if = "RoutingWire::is_empty")]
    routing: RoutingWire,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    depends_on: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease: Option<LeaseWire>,
    #[serde(default, skip_serializing_if = "MetadataWire::is_empty")]
    metadata: MetadataWire,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct RoutingWire {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeaseWire {
    agent: String,
    acquired_at: String,
    expires_at: String,
    renew_count: u32,
    attempt: u32,
    fence: u64,
}

impl RoutingWire {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl From<&Task> for TaskWire {
    fn from(task: &Task) -> Self {
        let text = |time: Time| time.to_string();
        Self {
            id: task.id.to_string(),
            title: task.title.to_string(),
            status: task.status().to_string(),
            priority: task.priority.to_string(),
            created_at: text(task.created_at),
            updated_at: text(task.updated_at),
            last_transition_at: text(task.last_transition_at),
            created_by: task.created_by.to_string(),
            routing: RoutingWire::from(&task.routing),
            parent_id: task.parent.as_ref().map(ToString::to_string),
            depends_on: task.depends_on.iter().map(ToString::to_string).collect(),
            resource: task.resource.as_deref().map(str::to_owned),
            due_by: task.due_by.map(text),
            lease: task.lease().map(LeaseWire::from),
            metadata: MetadataWire::from(task),
        }
    }
}

impl From<&Routing> for RoutingWire {
    fn from(routing: &Routing) -> Self {
        Self {
            agent: routing.agent.as_ref().map(ToString::to_string),
            mode: routing.mode.as_deref().map(str::to_owned),
            role: routing.role.as_deref().map(str::to_owned),
            tags: routing.tags.iter().map(ToString::to_string).collect(),
        }
    }
}

impl From<&Lease> for LeaseWire {
    fn from(lease: &Lease) -> Self {
        Self {
            agent: lease.agent.to_string(),
            acquired_at: lease.acquired_at.to_string(),
            expires_at: lease.expires_at.to_string(),
            renew_count: lease.renew_count,
            attempt: lease.attempt,
            fence: lease.fence,
        }
    }
}

impl TryFrom<TaskWire> for Task {
    type Error = BadWire;

    fn try_from(wire: TaskWire) -> Result<Self, BadWire> {
        let id = |text: &String| TaskId::parse(text).ok();
        let status = Status::parse(&wire.status).ok_or_else(bad("status"))?;
        let depends_on: Option<Vec<TaskId>> = wire.depends_on.iter().map(id).collect();
        let mut metadata = wire.metadata;
        let trials = metadata.trials()?;
        let foreign = metadata.foreign();
        Ok(Self {
            id: id(&wire.id).ok_or_else(bad("id"))?,
            title: wire.title.into(),
            state: state(status, wire.lease)?,
            priority: Priority::parse(&wire.priority).ok_or_else(bad("priority"))?,
            created_at: time(&wire.created_at)?,
            updated_at: time(&wire.updated_at)?,
            last_transition_at: time(&wire.last_transition_at)?,
            created_by: wire.created_by.into(),
            routing: routing(wire.routing)?,
            parent: wire.parent_id.map(|text| id(&text).ok_or_else(bad("parentId"))).transpose()?,
            depends_on: depends_on.ok_or_else(bad("dependsOn"))?,
            resource: wire.resource.map(Into::into),
            due_by: wire.due_by.map(|text| time(&text)).transpose()?,
            review: match metadata.review_required {
                Some(false) => Review::NotNeeded,
                _ => Review::Required,
            },
            depth: metadata.delegation_depth.unwrap_or(0),
            last_run: metadata.last_run.map(LastRun::try_from).transpose()?,
            reported_by: metadata.reported_by.map(|text| agent(&text)).transpose()?,
            reported_fence: metadata.reported_fence,
            feedback: metadata.feedback.map(Into::into),
            trials,
            foreign,
        })
    }
}

pub(super) fn time(text: &str) -> Result<Time, BadWire> {
    Time::parse(text).map_err(|_| BadWire(format!("{text:?} is no time")))
}

pub(super) fn agent(text: &str) -> Result<AgentId, BadWire> {
    AgentId::parse(text).map_err(|_| BadWire(format!("{text:?} is no agent")))
}

fn state(status: Status, lease: Option<LeaseWire>) -> Result<State, BadWire> {
    Ok(match (status, lease) {
        (Status::InProgress, Some(wire)) => State::InProgress(Some(Lease {
            agent: agent(&wire.agent)?,
            acquired_at: time(&wire.acquired_at)?,
            expires_at: time(&wire.expires_at)?,
            renew_count: wire.renew_count,
            attempt: wire.attempt,
            fence: wire.fence,
        })),
        (status, _) => State::entered(status),
    })
}

fn routing(wire: RoutingWire) -> Result<Routing, BadWire> {
    Ok(Routing {
        agent: wire.agent.map(|text| agent(&text)).transpose()?,
        mode: wire.mode.map(Into::into),
        role: wire.role.map(Into::into),
        // Not in place: the room the reader took would stay, three times what is needed.
        tags: wire.tags.iter().map(|tag| tag.as_str().into()).collect(),
    })
}
