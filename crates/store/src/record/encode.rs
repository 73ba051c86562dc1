//! An event as a line of the record.

use adjutant_core::account::Usage;
use adjutant_core::answer::Problem;
use adjutant_core::completion::RunResult;
use adjutant_core::event::{Channel, Manner};
use adjutant_core::evidence::Evidence;
use adjutant_core::notice;
use adjutant_core::run::Place;
use adjutant_core::trials::Question;
use adjutant_core::worklog::Entry;
use adjutant_core::{AgentId, Event, EventId, Recorded, Status, Task, Time};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::hash::Hash;
use crate::wire::permit::PermitWire;
use crate::wire::work::EvidenceWire;
use crate::wire::{HandoffWire, ParkedWire, RunResultWire, TaskWire, UsageWire};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    event_id: u64,
    r#type: &'a str,
    timestamp: String,
    actor: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    payload: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    prev: Option<String>,
}

/// Writes an event as a line, without its line break.
pub fn encode(recorded: &Recorded, prev: Option<Hash>) -> String {
    let happened = &recorded.happened;
    let line = Line {
        event_id: recorded.id.0,
        r#type: happened.event.kind(),
        timestamp: recorded.at.to_string(),
        actor: happened.actor.to_string(),
        task_id: happened.task.as_ref().map(adjutant_core::TaskId::as_str),
        payload: payload(&happened.event),
        prev: prev.map(|hash| hash.to_string()),
    };
    serde_json::to_string(&line).expect("text and numbers always make JSON")
}

fn payload(event: &Event) -> Value {
    match event {
        Event::MessageReceived { kind, to, sent_at } => {
            json!({"type": kind.as_str(), "toAgent": to.as_str(), "sentAt": sent_at.as_str()})
        }
        Event::DocumentReceived { kind, id } => json!({"type": kind.as_str(), "documentId": id}),
        Event::MessageRejected { reason, problems } if problems.is_empty() => {
            json!({"reason": reason.as_str()})
        }
        Event::MessageRejected { reason, problems } => {
            json!({"reason": reason.as_str(), "errors": texts(problems)})
        }
        Event::MessageUnknown { kind } => json!({"type": kind}),
        Event::MessageWarned { reason, detail } | Event::DispatchRefused { reason, detail } => {
            json!({"reason": reason.as_str(), "detail": detail})
        }
        Event::TaskCreated { task, body } => created(task, body.is_none()),
        Event::TaskEdited { task, changed, .. } => {
            json!({"changed": changed, "task": TaskWire::from(&**task)})
        }
        Event::TaskTransitioned { from, to, reason, manner } => {
            transitioned(*from, *to, reason, *manner)
        }
        Event::TaskCompleted { result, channel } => completed(result, *channel),
        Event::StoryMoved { position } => Value::Object(position.object()),
        Event::TaskLogged { entry } => logged(entry),
        Event::DelegationRequested { handoff } => json!(HandoffWire::from(&**handoff)),
        Event::TaskRemoved | Event::TaskRetried | Event::DelegationAccepted => json!({}),
        Event::DelegationRejected { reason } | Event::MergeWaiting { reason } => {
            json!({"reason": reason})
        }
        Event::TaskAnswered { text } => json!({"text": text}),
        Event::TaskAsked { question } => asked(question),
        Event::RunAsked { permit } => json!(PermitWire::from(&**permit)),
        Event::EpicNoted { epic, at, text } => {
            json!({"epicId": epic.as_str(), "at": at.as_str(), "text": text})
        }
        Event::RunStarted { agent, attempt, fence, expires_at, place } => {
            let mut payload = json!({
                "agent": agent.as_str(),
                "attempt": attempt,
                "fence": fence,
                "expiresAt": expires_at.to_string(),
            });
            match place {
                Place::Here => {}
                Place::Node(node) => payload["node"] = json!(node.as_str()),
                Place::Elsewhere => payload["elsewhere"] = json!(true),
            }
            payload
        }
        Event::RunHeartbeat { fence, expires_at } => {
            json!({"fence": fence, "expiresAt": expires_at.to_string()})
        }
        Event::RunExited { attempt, fence, exit, reason } => json!({
            "attempt": attempt,
            "fence": fence,
            "exit": exit.to_string(),
            "reason": reason,
        }),
        Event::RunFailed { attempt, fence, reason, not_before } => {
            failed(*attempt, *fence, reason, *not_before)
        }
        Event::RunUsage { agent, attempt, fence, session, usage, warning } => {
            let mut payload = told(agent, *attempt, *fence, session.as_deref(), *usage);
            if let Some(warning) = warning {
                payload["warning"] = warning.as_str().into();
            }
            payload
        }
        Event::AgentFreed { agent } => json!({"agent": agent.as_str()}),
        Event::RunAnswered { .. }
        | Event::RunParked { .. }
        | Event::RunDeferred { .. }
        | Event::WorkClaimed { .. }
        | Event::WorkChecked { .. }
        | Event::WorkSaved { .. }
        | Event::MergeRequested { .. }
        | Event::MergeRefused { .. }
        | Event::WorkMerged { .. } => work(event),
        Event::RunSalvaged { file, reason, .. } => json!({"file": file, "reason": reason.as_str()}),
        Event::SalvageApplied { file } => json!({"file": file}),
        Event::CommandRefused { command, reason } => {
            json!({"command": command, "reason": reason.as_str()})
        }
        Event::AccessRefused { reason, detail, count } => {
            json!({"reason": reason.as_str(), "detail": detail, "count": count})
        }
        Event::RequestKept { .. }
        | Event::FleetDecider { .. }
        | Event::NotifySent { .. }
        | Event::NotifyFailed { .. } => aside(event),
        Event::FolderAdopted { tasks } => json!({"tasks": tasks}),
    }
}

/// What is no news about a task.
fn aside(event: &Event) -> Value {
    match event {
        Event::RequestKept { key, request, about, events } => {
            let ids: Vec<u64> = events.iter().map(|EventId(id)| *id).collect();
            let mut payload = json!({"key": key, "request": request, "events": ids});
            if let Some(about) = about {
                payload["about"] = json!(about.as_str());
            }
            payload
        }
        Event::FleetDecider { node } => json!({"node": node.as_str()}),
        Event::NotifySent { rule, target, kind, about, tries } => {
            notified(rule, target, *kind, *about, *tries)
        }
        Event::NotifyFailed { rule, target, kind, about, tries, reason } => {
            let mut payload = notified(rule, target, *kind, *about, *tries);
            payload["reason"] = reason.as_str().into();
            payload
        }
        // Everything else is written above.
        _ => json!({}),
    }
}

fn notified(rule: &str, target: &str, kind: notice::Kind, about: EventId, tries: u32) -> Value {
    let (kind, about) = (kind.as_str(), about.0);
    json!({"rule": rule, "target": target, "kind": kind, "about": about, "tries": tries})
}

fn told(agent: &AgentId, attempt: u32, fence: u64, session: Option<&str>, usage: Usage) -> Value {
    let mut payload = json!({"agent": agent.as_str(), "attempt": attempt, "fence": fence});
    if let Some(session) = session {
        payload["session"] = session.into();
    }
    payload["usage"] = json!(UsageWire::from(&usage));
    payload
}

/// What happened to a run that goes on, and to the work of a run.
fn work(event: &Event) -> Value {
    match event {
        Event::RunParked { attempt, fence, parked, not_before } => {
            let mut payload = json!({
                "attempt": attempt, "fence": fence, "parked": ParkedWire::from(&**parked),
            });
            if let Some(until) = not_before {
                payload["notBefore"] = until.to_string().into();
            }
            payload
        }
        Event::RunAnswered { attempt, fence, number, choice, allowed, note } => {
            let mut payload = json!({
                "attempt": attempt, "fence": fence, "number": number, "allowed": allowed,
                "note": note,
            });
            if let Some(choice) = choice {
                payload["choice"] = choice.as_str().into();
            }
            payload
        }
        Event::RunDeferred { attempt, fence, reason, not_before } => {
            failed(*attempt, *fence, reason, Some(*not_before))
        }
        Event::WorkClaimed { attempt, fence, outcome, reason, merge } => {
            let mut payload = json!({
                "attempt": attempt,
                "fence": fence,
                "outcome": outcome.as_str(),
                "reason": reason,
            });
            if let Some(merge) = merge {
                payload["merge"] = merge.as_str().into();
            }
            payload
        }
        Event::WorkChecked { attempt, fence, evidence } => {
            let mut payload = found(evidence);
            (payload["attempt"], payload["fence"]) = ((*attempt).into(), (*fence).into());
            payload
        }
        Event::WorkSaved { reference, commit } => json!({"ref": reference, "commit": commit}),
        Event::MergeRequested { note } => json!({"note": note}),
        Event::MergeRefused { reason, files } => json!({"reason": reason, "files": files}),
        Event::WorkMerged { base, commit, evidence } => {
            json!({"base": base, "commit": commit, "evidence": found(evidence)})
        }
        // Everything else is written above.
        _ => json!({}),
    }
}

fn found(evidence: &Evidence) -> Value {
    json!(EvidenceWire::from(evidence))
}

fn asked(question: &Question) -> Value {
    let mut payload = json!({"question": question.text});
    if let Some(suggestion) = &question.suggestion {
        payload["suggestedResolution"] = suggestion.as_str().into();
    }
    payload
}

/// Every problem as `path: what is wrong`.
fn texts(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

fn created(task: &Task, by_hand: bool) -> Value {
    if by_hand {
        json!({"task": TaskWire::from(task), "byHand": true})
    } else {
        json!({"task": TaskWire::from(task)})
    }
}

fn transitioned(from: Status, to: Status, reason: &str, manner: Manner) -> Value {
    let mut payload = Map::new();
    payload.insert("from".into(), from.as_str().into());
    payload.insert("to".into(), to.as_str().into());
    payload.insert("reason".into(), reason.into());
    if matches!(manner, Manner::ByHand | Manner::AgainstTheTable) {
        payload.insert("byHand".into(), true.into());
    }
    if manner == Manner::AgainstTheTable {
        payload.insert("againstTheTable".into(), true.into());
    }
    if let Manner::Held(by) = manner {
        payload.insert("heldBy".into(), by.as_str().into());
    }
    payload.into()
}

fn failed(attempt: u32, fence: u64, reason: &str, not_before: Option<Time>) -> Value {
    let mut payload = Map::new();
    payload.insert("attempt".into(), attempt.into());
    payload.insert("fence".into(), fence.into());
    payload.insert("reason".into(), reason.into());
    if let Some(until) = not_before {
        payload.insert("notBefore".into(), until.to_string().into());
    }
    payload.into()
}

fn completed(result: &RunResult, channel: Channel) -> Value {
    let mut payload = json!(RunResultWire::from(result));
    match channel {
        Channel::Message => {}
        Channel::LeftBehind => payload["leftBehind"] = true.into(),
    }
    payload
}

fn logged(entry: &Entry) -> Value {
    let mut payload = Map::new();
    payload.insert("at".into(), entry.at.as_str().into());
    let said = [("progress", &entry.progress), ("notes", &entry.notes)];
    for (name, text) in said {
        if let Some(text) = text {
            payload.insert(name.into(), text.as_str().into());
        }
    }
    if !entry.blockers.is_empty() {
        payload.insert("blockers".into(), entry.blockers.clone().into());
    }
    payload.into()
}
