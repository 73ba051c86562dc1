//! A line of the record as an event. What a body or a salvaged
//! message said is not in the record and comes back empty.

use adjutant_core::answer::{Problem, Reason};
use adjutant_core::aof::Kind;
use adjutant_core::completion::{Outcome, RunResult};
use adjutant_core::dialect::DocumentKind;
use adjutant_core::event::{Channel, Happened, Manner};
use adjutant_core::evidence::Evidence;
use adjutant_core::handoff::Handoff;
use adjutant_core::mission::EpicId;
use adjutant_core::notice;
use adjutant_core::permit::Permit;
use adjutant_core::pipeline::Position;
use adjutant_core::policy::Merge;
use adjutant_core::run::{Exit, Place};
use adjutant_core::trials::{BlockedBy, Question};
use adjutant_core::worklog::Entry;
use adjutant_core::{
    Actor, AgentId, Event, EventId, NodeId, Recorded, Stamp, Status, Task, TaskId, Time,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::wire::permit::PermitWire;
use crate::wire::work::EvidenceWire;
use crate::wire::{BadWire, HandoffWire, ParkedWire, RunResultWire, TaskWire, UsageWire};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    event_id: u64,
    r#type: String,
    timestamp: String,
    actor: String,
    task_id: Option<String>,
    payload: Value,
}

/// Reads an event from a line that [`encode`](super::encode) wrote.
pub fn decode(line: &str) -> Result<Recorded, BadWire> {
    let line: Line = serde_json::from_str(line).map_err(|error| BadWire(error.to_string()))?;
    let task = match &line.task_id {
        Some(text) => Some(TaskId::parse(text).map_err(|_| wrong("taskId"))?),
        None => None,
    };
    Ok(Recorded {
        id: EventId(line.event_id),
        at: Time::parse(&line.timestamp).map_err(|_| wrong("timestamp"))?,
        happened: Happened {
            actor: Actor::parse(&line.actor).ok_or_else(|| wrong("actor"))?,
            task,
            event: event(&line.r#type, Payload(line.payload))?,
        },
    })
}

fn place(payload: &Payload) -> Result<Place, BadWire> {
    if payload.flag("elsewhere") {
        return Ok(Place::Elsewhere);
    }
    Ok(match payload.text("node") {
        Ok(node) => Place::Node(NodeId::parse(node).map_err(|_| wrong("node"))?),
        Err(_) => Place::Here,
    })
}

fn wrong(field: &str) -> BadWire {
    BadWire(format!("{field} of an event cannot be read"))
}

struct Payload(Value);

impl Payload {
    fn text(&self, key: &str) -> Result<&str, BadWire> {
        self.0.get(key).and_then(Value::as_str).ok_or_else(|| wrong(key))
    }

    fn owned(&self, key: &str) -> Result<String, BadWire> {
        self.text(key).map(str::to_owned)
    }

    fn texts(&self, key: &str) -> Vec<String> {
        let items = self.0.get(key).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    fn numbers(&self, key: &str) -> Vec<u64> {
        let items = self.0.get(key).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_u64).collect()
    }

    fn flag(&self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    fn status(&self, key: &str) -> Result<Status, BadWire> {
        Status::parse(self.text(key)?).ok_or_else(|| wrong(key))
    }

    fn reason(&self) -> Result<Reason, BadWire> {
        Reason::parse(self.text("reason")?).ok_or_else(|| wrong("reason"))
    }

    fn notice(&self) -> Result<notice::Kind, BadWire> {
        notice::Kind::parse(self.text("kind")?).ok_or_else(|| wrong("kind"))
    }

    /// Older records do not say what approving does.
    fn merge(&self) -> Result<Option<Merge>, BadWire> {
        let read =
            |word: &Value| word.as_str().and_then(Merge::parse).ok_or_else(|| wrong("merge"));
        self.0.get("merge").map(read).transpose()
    }

    fn number(&self, key: &str) -> Result<u64, BadWire> {
        self.0.get(key).and_then(Value::as_u64).ok_or_else(|| wrong(key))
    }

    fn small(&self, key: &str) -> Result<u32, BadWire> {
        u32::try_from(self.number(key)?).map_err(|_| wrong(key))
    }

    fn time(&self, key: &str) -> Result<Time, BadWire> {
        Time::parse(self.text(key)?).map_err(|_| wrong(key))
    }

    fn stamp(&self, key: &str) -> Result<Stamp, BadWire> {
        Stamp::parse(self.text(key)?).map_err(|_| wrong(key))
    }

    fn whole<T: DeserializeOwned>(self) -> Result<T, BadWire> {
        serde_json::from_value(self.0).map_err(|error| BadWire(error.to_string()))
    }

    fn part<T: DeserializeOwned>(&mut self, key: &str) -> Result<T, BadWire> {
        Self(self.0.get_mut(key).map(Value::take).ok_or_else(|| wrong(key))?).whole()
    }

    fn task(&mut self) -> Result<Box<Task>, BadWire> {
        let value = self.0.get_mut("task").map(Value::take).ok_or_else(|| wrong("task"))?;
        let task: TaskWire = Self(value).whole()?;
        Ok(Box::new(task.try_into()?))
    }
}

/// What a run wants to be allowed, and what was answered.
fn permission(kind: &str, payload: Payload) -> Result<Event, BadWire> {
    if kind == "run.asked" {
        let wire: PermitWire = serde_json::from_value(payload.0).map_err(|_| wrong("choices"))?;
        let permit = Permit::try_from(wire).map_err(|_| wrong("choices"))?;
        return Ok(Event::RunAsked { permit: Box::new(permit) });
    }
    Ok(Event::RunAnswered {
        attempt: payload.small("attempt")?,
        fence: payload.number("fence")?,
        number: payload.small("number")?,
        choice: payload.owned("choice").ok(),
        allowed: payload.flag("allowed"),
        note: payload.owned("note")?,
    })
}

fn event(kind: &str, mut payload: Payload) -> Result<Event, BadWire> {
    Ok(match kind {
        "protocol.message.received" if payload.text("documentId").is_ok() => {
            Event::DocumentReceived {
                kind: DocumentKind::parse(payload.text("type")?).ok_or_else(|| wrong("type"))?,
                id: payload.owned("documentId")?,
            }
        }
        "protocol.message.received" => Event::MessageReceived {
            kind: Kind::parse(payload.text("type")?).ok_or_else(|| wrong("type"))?,
            to: AgentId::parse(payload.text("toAgent")?).map_err(|_| wrong("toAgent"))?,
            sent_at: payload.stamp("sentAt")?,
        },
        "protocol.message.rejected" => Event::MessageRejected {
            reason: payload.reason()?,
            problems: payload.texts("errors").iter().map(|text| problem(text)).collect(),
        },
        "protocol.message.unknown" => Event::MessageUnknown { kind: payload.owned("type")? },
        "protocol.message.warning" => {
            Event::MessageWarned { reason: payload.reason()?, detail: payload.owned("detail")? }
        }
        "task.created" => Event::TaskCreated {
            body: (!payload.flag("byHand")).then(String::new),
            task: payload.task()?,
        },
        "task.edited" => Event::TaskEdited {
            changed: payload.texts("changed"),
            task: payload.task()?,
            body: None,
        },
        "task.removed" => Event::TaskRemoved,
        "task.transitioned" => Event::TaskTransitioned {
            from: payload.status("from")?,
            to: payload.status("to")?,
            reason: payload.owned("reason")?,
            manner: manner(&payload),
        },
        "task.completed" => {
            let left = payload.flag("leftBehind");
            let channel = if left { Channel::LeftBehind } else { Channel::Message };
            Event::TaskCompleted { result: Box::new(result(payload)?), channel }
        }
        "story.moved" => Event::StoryMoved {
            position: Box::new(Position::read(&payload.0).ok_or_else(|| wrong("story"))?),
        },
        "task.logged" => Event::TaskLogged { entry: entry(&payload)? },
        "delegation.requested" => {
            Event::DelegationRequested { handoff: Box::new(handoff(payload)?) }
        }
        "delegation.accepted" => Event::DelegationAccepted,
        "delegation.rejected" => Event::DelegationRejected { reason: payload.owned("reason")? },
        "task.answered" => Event::TaskAnswered { text: payload.owned("text")? },
        "task.asked" => Event::TaskAsked {
            question: Box::new(Question {
                text: payload.owned("question")?,
                suggestion: payload.owned("suggestedResolution").ok(),
            }),
        },
        "run.asked" | "run.answered" => permission(kind, payload)?,
        "epic.noted" => Event::EpicNoted {
            epic: EpicId::parse(payload.text("epicId")?).map_err(|_| wrong("epicId"))?,
            at: payload.stamp("at")?,
            text: payload.owned("text")?,
        },
        "run.started" => Event::RunStarted {
            agent: AgentId::parse(payload.text("agent")?).map_err(|_| wrong("agent"))?,
            attempt: payload.small("attempt")?,
            fence: payload.number("fence")?,
            expires_at: payload.time("expiresAt")?,
            place: place(&payload)?,
        },
        "run.heartbeat" => Event::RunHeartbeat {
            fence: payload.number("fence")?,
            expires_at: payload.time("expiresAt")?,
        },
        "run.exited" => Event::RunExited {
            attempt: payload.small("attempt")?,
            fence: payload.number("fence")?,
            exit: Exit::parse(payload.text("exit")?).ok_or_else(|| wrong("exit"))?,
            reason: payload.owned("reason")?,
        },
        "run.failed" => Event::RunFailed {
            attempt: payload.small("attempt")?,
            fence: payload.number("fence")?,
            reason: payload.owned("reason")?,
            not_before: payload.time("notBefore").ok(),
        },
        "run.usage" | "run.parked" | "agent.freed" | "task.retried" => told(kind, payload)?,
        "run.salvaged" => Event::RunSalvaged {
            file: payload.owned("file")?,
            reason: payload.reason()?,
            text: None,
        },
        "run.salvage.applied" => Event::SalvageApplied { file: payload.owned("file")? },
        "dispatch.refused" => {
            Event::DispatchRefused { reason: payload.reason()?, detail: payload.owned("detail")? }
        }
        other => return event_of_work(other, payload),
    })
}

/// Reads what ways in and folders have to say.
fn event_of_access(kind: &str, payload: &Payload) -> Result<Event, BadWire> {
    Ok(match kind {
        "command.refused" => {
            Event::CommandRefused { command: payload.owned("command")?, reason: payload.reason()? }
        }
        "access.refused" => Event::AccessRefused {
            reason: payload.reason()?,
            detail: payload.owned("detail")?,
            count: payload.number("count")?,
        },
        "request.kept" => Event::RequestKept {
            key: payload.owned("key")?,
            request: payload.owned("request")?,
            about: payload.text("about").ok().and_then(|id| TaskId::parse(id).ok()),
            events: payload.numbers("events").into_iter().map(EventId).collect(),
        },
        "fleet.decider" => Event::FleetDecider {
            node: NodeId::parse(payload.text("node")?).map_err(|_| wrong("node"))?,
        },
        "notify.sent" => Event::NotifySent {
            rule: payload.owned("rule")?,
            target: payload.owned("target")?,
            kind: payload.notice()?,
            about: EventId(payload.number("about")?),
            tries: payload.small("tries")?,
        },
        "notify.failed" => Event::NotifyFailed {
            rule: payload.owned("rule")?,
            target: payload.owned("target")?,
            kind: payload.notice()?,
            about: EventId(payload.number("about")?),
            tries: payload.small("tries")?,
            reason: payload.owned("reason")?,
        },
        "folder.adopted" => Event::FolderAdopted { tasks: payload.number("tasks")? },
        other => return Err(BadWire(format!("{other:?} is no type of event known here"))),
    })
}

/// What an agent told of itself.
fn told(kind: &str, mut payload: Payload) -> Result<Event, BadWire> {
    let agent =
        |payload: &Payload| AgentId::parse(payload.text("agent")?).map_err(|_| wrong("agent"));
    Ok(match kind {
        "run.usage" => Event::RunUsage {
            agent: agent(&payload)?,
            attempt: payload.small("attempt")?,
            fence: payload.number("fence")?,
            session: payload.owned("session").ok(),
            usage: payload.part::<UsageWire>("usage")?.into(),
            warning: payload.owned("warning").ok(),
        },
        "run.parked" => Event::RunParked {
            attempt: payload.small("attempt")?,
            fence: payload.number("fence")?,
            parked: Box::new(payload.part::<ParkedWire>("parked")?.try_into()?),
            not_before: payload.time("notBefore").ok(),
        },
        "task.retried" => Event::TaskRetried,
        _ => Event::AgentFreed { agent: agent(&payload)? },
    })
}

/// Reads what happened to the work of a run.
fn event_of_work(kind: &str, mut payload: Payload) -> Result<Event, BadWire> {
    Ok(match kind {
        "run.deferred" => Event::RunDeferred {
            attempt: payload.small("attempt")?,
            fence: payload.number("fence")?,
            reason: payload.owned("reason")?,
            not_before: payload.time("notBefore")?,
        },
        "work.claimed" => Event::WorkClaimed {
            attempt: payload.small("attempt")?,
            fence: payload.number("fence")?,
            outcome: Outcome::parse(payload.text("outcome")?).ok_or_else(|| wrong("outcome"))?,
            reason: payload.owned("reason")?,
            merge: payload.merge()?,
        },
        "work.checked" => Event::WorkChecked {
            attempt: payload.small("attempt")?,
            fence: payload.number("fence")?,
            evidence: Box::new(evidence(payload)?),
        },
        "work.saved" => {
            Event::WorkSaved { reference: payload.owned("ref")?, commit: payload.owned("commit")? }
        }
        "merge.requested" => Event::MergeRequested { note: payload.owned("note")? },
        "merge.waiting" => Event::MergeWaiting { reason: payload.owned("reason")? },
        "merge.refused" => {
            Event::MergeRefused { reason: payload.owned("reason")?, files: payload.texts("files") }
        }
        "work.merged" => Event::WorkMerged {
            base: payload.owned("base")?,
            commit: payload.owned("commit")?,
            evidence: {
                let value = payload.0.get_mut("evidence").map(Value::take);
                Box::new(evidence(Payload(value.ok_or_else(|| wrong("evidence"))?))?)
            },
        },
        other => return event_of_access(other, &payload),
    })
}

fn problem(text: &str) -> Problem {
    match text.split_once(": ") {
        Some((path, message)) if !path.is_empty() && !path.contains(' ') => {
            Problem::new(path, message)
        }
        _ => Problem::new("", text),
    }
}

fn manner(payload: &Payload) -> Manner {
    if let Some(by) = payload.text("heldBy").ok().and_then(BlockedBy::parse) {
        return Manner::Held(by);
    }
    match (payload.flag("byHand"), payload.flag("againstTheTable")) {
        (_, true) => Manner::AgainstTheTable,
        (true, false) => Manner::ByHand,
        (false, false) => Manner::Ruled,
    }
}

fn result(payload: Payload) -> Result<RunResult, BadWire> {
    payload.whole::<RunResultWire>()?.try_into()
}

fn evidence(payload: Payload) -> Result<Evidence, BadWire> {
    payload.whole::<EvidenceWire>()?.try_into()
}

fn handoff(payload: Payload) -> Result<Handoff, BadWire> {
    payload.whole::<HandoffWire>()?.try_into()
}

fn entry(payload: &Payload) -> Result<Entry, BadWire> {
    Ok(Entry {
        at: payload.stamp("at")?,
        progress: payload.owned("progress").ok(),
        notes: payload.owned("notes").ok(),
        blockers: payload.texts("blockers"),
    })
}
