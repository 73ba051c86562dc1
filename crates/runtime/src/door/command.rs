//! A command on its way to the daemon.

use adjutant_core::command::{Caller, Changes, Chore, NewTask, Start};
use adjutant_core::name::Actor;
use adjutant_core::task::{Review, Routing};
use adjutant_core::{AgentId, Command, Priority, Status, TaskId, Time};
use serde::{Deserialize, Serialize};

use super::wire::BadRequest;

/// Who gives a command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum CallerWire {
    Operator(String),
    InsideRun(String),
}

/// A command.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum CommandWire {
    Add(Box<NewTaskWire>),
    Edit { id: String, changes: Box<ChangesWire> },
    Move { id: String, to: String, reason: String },
    Approve { id: String, note: String },
    Reject { id: String, reason: String },
    Cancel { id: String, reason: String },
    Retry { id: String },
    Chore(String),
    Answer { id: String, text: String },
    Take { agent: String },
    Free { agent: String },
    ApplySalvage { id: String, name: String },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewTaskWire {
    title: String,
    body: String,
    priority: String,
    agent: Option<String>,
    role: Option<String>,
    tags: Vec<String>,
    parent_id: Option<String>,
    depends_on: Vec<String>,
    resource: Option<String>,
    due_by: Option<String>,
    review_required: bool,
    ready: bool,
    #[serde(default)]
    checks: Vec<String>,
}

/// What is not there stays as it is; what is there and empty is taken away.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ChangesWire {
    title: Option<String>,
    body: Option<String>,
    priority: Option<String>,
    agent: Option<Vec<String>>,
    tags: Option<Vec<String>>,
    depends_on: Option<Vec<String>>,
    parent_id: Option<Vec<String>>,
    resource: Option<Vec<String>>,
    due_by: Option<Vec<String>>,
    review_required: Option<bool>,
}

impl From<&Caller> for CallerWire {
    fn from(caller: &Caller) -> Self {
        match caller {
            Caller::Operator(actor) => Self::Operator(actor.to_string()),
            Caller::InsideRun(actor) => Self::InsideRun(actor.to_string()),
        }
    }
}

impl TryFrom<CallerWire> for Caller {
    type Error = BadRequest;

    fn try_from(wire: CallerWire) -> Result<Self, BadRequest> {
        let actor = |name: &str| Actor::parse(name).ok_or(BadRequest("by"));
        Ok(match wire {
            CallerWire::Operator(name) => Self::Operator(actor(&name)?),
            CallerWire::InsideRun(name) => Self::InsideRun(actor(&name)?),
        })
    }
}

impl From<&Command> for CommandWire {
    fn from(command: &Command) -> Self {
        let text = TaskId::to_string;
        match command.clone() {
            Command::Add(new) => Self::Add(Box::new(NewTaskWire::from(&*new))),
            Command::Edit { id, changes } => {
                Self::Edit { id: text(&id), changes: Box::new(ChangesWire::from(&*changes)) }
            }
            Command::Move { id, to, reason } => {
                Self::Move { id: text(&id), to: to.to_string(), reason }
            }
            Command::Approve { id, note } => Self::Approve { id: text(&id), note },
            Command::Reject { id, reason } => Self::Reject { id: text(&id), reason },
            Command::Cancel { id, reason } => Self::Cancel { id: text(&id), reason },
            Command::Retry { id } => Self::Retry { id: text(&id) },
            Command::Chore(chore) => Self::Chore(chore.name().to_owned()),
            Command::Answer { id, text: words } => Self::Answer { id: text(&id), text: words },
            Command::Take { agent } => Self::Take { agent: agent.to_string() },
            Command::Free { agent } => Self::Free { agent: agent.to_string() },
            // What it says is read by whoever keeps it.
            Command::ApplySalvage { id, name, .. } => Self::ApplySalvage { id: text(&id), name },
        }
    }
}

impl TryFrom<CommandWire> for Command {
    type Error = BadRequest;

    fn try_from(wire: CommandWire) -> Result<Self, BadRequest> {
        Ok(match wire {
            CommandWire::Add(new) => Self::Add(Box::new((*new).try_into()?)),
            CommandWire::Edit { id, changes } => {
                Self::Edit { id: task(&id)?, changes: Box::new((*changes).try_into()?) }
            }
            CommandWire::Move { id, to, reason } => {
                let to = Status::parse(&to).ok_or(BadRequest("to"))?;
                Self::Move { id: task(&id)?, to, reason }
            }
            CommandWire::Approve { id, note } => Self::Approve { id: task(&id)?, note },
            CommandWire::Reject { id, reason } => Self::Reject { id: task(&id)?, reason },
            CommandWire::Cancel { id, reason } => Self::Cancel { id: task(&id)?, reason },
            CommandWire::Retry { id } => Self::Retry { id: task(&id)? },
            CommandWire::Chore(name) => {
                Self::Chore(Chore::parse(&name).ok_or(BadRequest("chore"))?)
            }
            CommandWire::Answer { id, text } => Self::Answer { id: task(&id)?, text },
            CommandWire::Take { agent: name } => Self::Take { agent: agent(&name)? },
            CommandWire::Free { agent: name } => Self::Free { agent: agent(&name)? },
            CommandWire::ApplySalvage { id, name } => {
                Self::ApplySalvage { id: task(&id)?, name, text: None }
            }
        })
    }
}

impl From<&NewTask> for NewTaskWire {
    fn from(new: &NewTask) -> Self {
        let Routing { agent, role, tags, .. } = &new.routing;
        Self {
            title: new.title.clone(),
            body: new.body.clone(),
            priority: new.priority.to_string(),
            agent: agent.as_ref().map(ToString::to_string),
            role: role.as_deref().map(ToOwned::to_owned),
            tags: tags.iter().map(ToString::to_string).collect(),
            parent_id: new.parent.as_ref().map(ToString::to_string),
            depends_on: new.depends_on.iter().map(ToString::to_string).collect(),
            resource: new.resource.clone(),
            due_by: new.due_by.map(|time| time.to_string()),
            review_required: new.review == Review::Required,
            ready: new.start == Start::Ready,
            checks: new.checks.clone(),
        }
    }
}

impl TryFrom<NewTaskWire> for NewTask {
    type Error = BadRequest;

    fn try_from(wire: NewTaskWire) -> Result<Self, BadRequest> {
        let routing = Routing {
            agent: wire.agent.map(|name| agent(&name)).transpose()?,
            mode: None,
            role: wire.role.map(Into::into),
            tags: wire.tags.into_iter().map(Into::into).collect(),
        };
        Ok(Self {
            title: wire.title,
            body: wire.body,
            priority: priority(&wire.priority)?,
            routing,
            parent: wire.parent_id.map(|id| task(&id)).transpose()?,
            depends_on: tasks(&wire.depends_on)?,
            resource: wire.resource,
            due_by: wire.due_by.map(|text| time(&text)).transpose()?,
            review: review(wire.review_required),
            start: if wire.ready { Start::Ready } else { Start::Backlog },
            checks: wire.checks,
        })
    }
}

impl From<&Changes> for ChangesWire {
    fn from(changes: &Changes) -> Self {
        let changes = changes.clone();
        let ids = |ids: Vec<TaskId>| ids.iter().map(ToString::to_string).collect();
        Self {
            title: changes.title,
            body: changes.body,
            priority: changes.priority.map(|priority| priority.to_string()),
            agent: changes.agent.map(listed),
            tags: changes.tags,
            depends_on: changes.depends_on.map(ids),
            parent_id: changes.parent.map(listed),
            resource: changes.resource.map(listed),
            due_by: changes.due_by.map(listed),
            review_required: changes.review.map(|review| review == Review::Required),
        }
    }
}

impl TryFrom<ChangesWire> for Changes {
    type Error = BadRequest;

    fn try_from(wire: ChangesWire) -> Result<Self, BadRequest> {
        Ok(Self {
            title: wire.title,
            body: wire.body,
            priority: wire.priority.map(|text| priority(&text)).transpose()?,
            agent: unlisted(wire.agent, agent)?,
            tags: wire.tags,
            depends_on: wire.depends_on.map(|ids| tasks(&ids)).transpose()?,
            parent: unlisted(wire.parent_id, task)?,
            resource: unlisted(wire.resource, |text| Ok(text.to_owned()))?,
            due_by: unlisted(wire.due_by, time)?,
            review: wire.review_required.map(review),
        })
    }
}

/// A value or none, as a list of one or none: JSON cannot tell none from not there.
fn listed<T: ToString>(value: Option<T>) -> Vec<String> {
    value.into_iter().map(|value| value.to_string()).collect()
}

#[expect(clippy::option_option, reason = "a field is left alone, taken away or set")]
fn unlisted<T>(
    list: Option<Vec<String>>,
    parse: impl Fn(&str) -> Result<T, BadRequest>,
) -> Result<Option<Option<T>>, BadRequest> {
    let first = |list: Vec<String>| list.first().map(|text| parse(text)).transpose();
    list.map(first).transpose()
}

fn task(text: &str) -> Result<TaskId, BadRequest> {
    TaskId::parse(text).map_err(|_| BadRequest("the id of a task"))
}

fn tasks(ids: &[String]) -> Result<Vec<TaskId>, BadRequest> {
    ids.iter().map(|id| task(id)).collect()
}

fn agent(text: &str) -> Result<AgentId, BadRequest> {
    AgentId::parse(text).map_err(|_| BadRequest("the name of an agent"))
}

fn priority(text: &str) -> Result<Priority, BadRequest> {
    Priority::parse(text).ok_or(BadRequest("priority"))
}

fn time(text: &str) -> Result<Time, BadRequest> {
    Time::parse(text).map_err(|_| BadRequest("dueBy"))
}

fn review(required: bool) -> Review {
    if required { Review::Required } else { Review::NotNeeded }
}
