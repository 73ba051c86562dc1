//! What an AOF/1 message does: who may speak, and on to the rule of its type.

use super::draft::Draft;
use super::{Decision, completion, document, handoff, status_update};
use crate::answer::{Answer, Problem, Reason, Verdict};
use crate::aof::{Envelope, Incoming, Message, Refusal};
use crate::event::{Event, Happened};
use crate::id::TaskId;
use crate::input::{Facts, Token};
use crate::name::Actor;
use crate::task::Task;
use crate::time::Time;
use crate::world::World;

/// What a message that came too late is called among what is kept of its run.
const MESSAGE_FILE: &str = "message.json";

/// The most messages of one run that are taken.
const MESSAGES_MAX: u64 = 1_000;
/// How many there may be before not even a report of what came of the work is.
const REPORTS_MAX: u64 = 2_000;

pub(super) fn decide(world: &World, incoming: &Incoming, facts: &Facts, now: Time) -> Decision {
    if let Some(over) = over(incoming, facts) {
        return drown(incoming, facts, over);
    }
    let mut decision = judge(world, incoming, facts, now);
    keep_refused(&mut decision, facts);
    decision
}

/// Returns by how many messages a run has said too much; none if it has not.
fn over(incoming: &Incoming, facts: &Facts) -> Option<u64> {
    let is_report = match incoming {
        Incoming::Message(envelope) => matches!(envelope.message, Message::Completion(_)),
        Incoming::Document(_) => true,
        Incoming::Ignored => return None,
        Incoming::Refused(_) | Incoming::Unknown { .. } => false,
    };
    facts.earlier.checked_sub(if is_report { REPORTS_MAX } else { MESSAGES_MAX })
}

/// Refuses a message of a run that floods. The first one is in the record, and then fewer and fewer:
/// the record would be flooded as well.
fn drown(incoming: &Incoming, facts: &Facts, over: u64) -> Decision {
    let of = match (incoming, &facts.token) {
        (Incoming::Message(envelope), _) => Some(envelope.task.clone()),
        (_, Token::Run { task, .. }) => Some(task.clone()),
        (_, Token::None | Token::Unknown) => None,
    };
    let reason = Reason::TooManyRequests;
    if over == 0 || over.is_power_of_two() {
        let what = format!("{} of this run came before", facts.earlier);
        return Draft::new(Actor::Router, of).reject(reason, vec![Problem::new("", what)]);
    }
    Decision { answer: Answer::rejected(reason, of), events: vec![], effects: vec![] }
}

fn judge(world: &World, incoming: &Incoming, facts: &Facts, now: Time) -> Decision {
    match incoming {
        Incoming::Ignored => ignore(),
        Incoming::Refused(refusal) => refuse(world, refusal),
        Incoming::Unknown { kind, task, from } => {
            let mut draft = Draft::new(Actor::Agent(from.clone()), Some(task.clone()));
            if let Some(task) = world.task(task) {
                draft.on(task);
            }
            draft.push(Event::MessageUnknown { kind: kind.clone() });
            draft.end(Verdict::Unknown, Some(Reason::UnknownType))
        }
        Incoming::Message(envelope) => route(world, envelope, facts),
        Incoming::Document(sent) => document::decide(world, sent, facts, now),
    }
}

fn ignore() -> Decision {
    Decision { answer: Answer::plain(Verdict::Ignored), events: vec![], effects: vec![] }
}

/// What a run left in a file and is refused is kept for a person to look at, once.
fn keep_refused(decision: &mut Decision, facts: &Facts) {
    let (Some(left), Token::Run { task, .. }) = (&facts.left, &facts.token) else { return };
    let reason = decision.answer.reason.filter(|_| decision.answer.verdict == Verdict::Rejected);
    let is_kept = |happened: &Happened| matches!(happened.event, Event::RunSalvaged { .. });
    let Some(reason) = reason.filter(|_| !decision.events.iter().any(is_kept)) else { return };
    let (file, text) = (left.file.clone(), Some(left.text.clone()));
    let event = Event::RunSalvaged { file, reason, text };
    decision.events.push(Happened { actor: Actor::Router, task: Some(task.clone()), event });
}

fn refuse(world: &World, refusal: &Refusal) -> Decision {
    let actor = refusal.from.clone().filter(|from| !from.is_reserved());
    let named = refusal.document.as_ref().and_then(|(_, id)| world.resolve(id.as_deref()?));
    let known = named.filter(|id| world.task(id).is_some());
    let id = refusal.task.clone().or(known);
    let mut draft = Draft::new(actor.map_or(Actor::Router, Actor::Agent), id.clone());
    if let Some(task) = id.as_ref().and_then(|id| world.task(id)) {
        draft.on(task);
    }
    draft.reject(refusal.reason, refusal.problems.clone())
}

fn route(world: &World, envelope: &Envelope, facts: &Facts) -> Decision {
    let actor = Actor::Agent(envelope.from.clone());
    let mut draft = Draft::new(actor, Some(envelope.task.clone()));
    let task = match find(world, &envelope.task) {
        Ok(task) => {
            draft.on(task);
            Ok(task)
        }
        Err(reason) => Err(reason),
    };
    if !facts.escapes.is_empty() {
        let escape = |path: &String| Problem::new(path, "leads outside its folder by a link");
        return draft.reject(Reason::InvalidEnvelope, facts.escapes.iter().map(escape).collect());
    }
    draft.push(Event::MessageReceived {
        kind: envelope.message.kind(),
        to: envelope.to.clone(),
        sent_at: envelope.sent_at.clone(),
    });
    for warning in &envelope.warnings {
        draft.warn(Reason::InvalidAcceptanceCriteria, warning.to_string());
    }
    if let Message::HandoffRequest(handoff) = &envelope.message {
        return handoff::request(world, draft, task, envelope, handoff, facts);
    }
    if task.is_ok_and(|task| is_repeated(task, envelope, facts)) {
        return draft.end(Verdict::Noop, None);
    }
    match task.and_then(|task| may_speak(world, task, envelope, facts).map(|()| task)) {
        Ok(task) => speak(world, draft, task, envelope, facts),
        Err(reason @ Reason::StaleRun) => {
            salvage(draft.reject(reason, vec![]), &envelope.task, envelope)
        }
        Err(reason) => draft.reject(reason, vec![]),
    }
}

/// The same token again after its own completion says nothing new.
fn is_repeated(task: &Task, envelope: &Envelope, facts: &Facts) -> bool {
    let Token::Run { task: of, fence } = &facts.token else { return false };
    let reported = *of == task.id && task.reported_fence == Some(*fence);
    reported && task.lease().is_none() && matches!(envelope.message, Message::Completion(_))
}

/// What an older run of a task says changes nothing, and is kept for a person to look at.
pub(super) fn salvage(mut rejected: Decision, of: &TaskId, envelope: &Envelope) -> Decision {
    let (file, reason) = (MESSAGE_FILE.to_owned(), Reason::StaleRun);
    let event = Event::RunSalvaged { file, reason, text: Some(envelope.text()) };
    let actor = Actor::Agent(envelope.from.clone());
    rejected.events.push(Happened { actor, task: Some(of.clone()), event });
    rejected
}

fn speak(world: &World, draft: Draft, task: &Task, envelope: &Envelope, facts: &Facts) -> Decision {
    match &envelope.message {
        Message::Completion(report) => {
            completion::report(draft, task, envelope, report, facts, world.policy())
        }
        Message::Status(update) => {
            status_update::update(draft, task, envelope, update, world.policy())
        }
        Message::HandoffAccepted => handoff::accepted(draft),
        Message::HandoffRejected(reason) => handoff::rejected(draft, reason.as_deref()),
        Message::HandoffRequest(_) => draft.end(Verdict::Noop, None),
    }
}

/// Finds a task that can be decided on.
pub(super) fn find<'w>(world: &'w World, id: &TaskId) -> Result<&'w Task, Reason> {
    match world.task(id) {
        Some(task) => Ok(task),
        None if world.unreadable().contains(id) => Err(Reason::TaskUnreadable),
        None => Err(Reason::TaskNotFound),
    }
}

/// Checks the token first: what an older run says counts for nothing, whoever it says it is.
pub(super) fn may_speak(
    world: &World,
    task: &Task,
    envelope: &Envelope,
    facts: &Facts,
) -> Result<(), Reason> {
    check_token(world, task, &facts.token)?;
    match task.speaker() {
        Some(speaker) if *speaker != envelope.from => Err(Reason::UnauthorizedAgent),
        _ => Ok(()),
    }
}

pub(super) fn check_token(world: &World, task: &Task, token: &Token) -> Result<(), Reason> {
    let current = task.lease().map(|lease| lease.fence);
    let last = task.last_run.as_ref().map(|run| run.fence);
    match token {
        Token::None if world.policy().require_token => Err(Reason::TokenRequired),
        Token::Unknown => Err(Reason::UnknownToken),
        Token::Run { task: of, .. } if *of != task.id => Err(Reason::UnknownToken),
        Token::Run { fence, .. } if current.or(last).is_some_and(|now| *fence < now) => {
            Err(Reason::StaleRun)
        }
        Token::None | Token::Run { .. } => Ok(()),
    }
}
