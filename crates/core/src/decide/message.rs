//! Decides what an AOF/1 message does: checks whether the sender may report, then calls the handler
//! of the message's type.

use adjutant_model::actor::Actor;
use adjutant_model::answer::{Answer, AnswerVerdict, FieldProblem, Reason};
use adjutant_model::event::{Event, NewEvent, ReceivedMessage};
use adjutant_model::task::Task;
use adjutant_model::task_id::TaskId;
use adjutant_model::time::Time;

use super::draft::DecisionDraft;
use super::{completion, document, handoff, heartbeat, status_update};
use crate::decision::Decision;
use crate::input::{MessageFacts, TokenOwner};
use crate::protocols::aof::{AofEnvelope, AofMessage, IncomingText, MessageRefusal};
use crate::world::World;

/// The file name under which a late message is salvaged.
const SALVAGED_MESSAGE_FILE: &str = "message.json";

/// Further messages of one run are refused, except for completion reports.
const MESSAGES_MAX: u64 = 1_000;
/// After this many messages of one run, ever fewer of its lines without a token are logged.
const LOGGED_LINES: u64 = 16;
/// Further completion reports of one run are refused too.
const REPORTS_MAX: u64 = 2_000;

pub(super) fn decide(
    world: &World,
    incoming: &IncomingText,
    facts: &MessageFacts,
    now: Time,
) -> Decision {
    if let Some(over) = excess_messages(incoming, facts) {
        return refuse_flood(incoming, facts, over);
    }
    if facts.token_missing {
        return ignore_printed_line(world, facts);
    }
    let mut decision = decide_incoming(world, incoming, facts, now);
    salvage_refused_file(&mut decision, facts);
    renew_lease(world, &mut decision, incoming, facts, now);
    decision
}

/// Renews the lease of the run that sent a message, unless the message ends it. Every message is a
/// heartbeat of its run.
fn renew_lease(
    world: &World,
    decision: &mut Decision,
    incoming: &IncomingText,
    facts: &MessageFacts,
    now: Time,
) {
    if decision.answer.verdict == AnswerVerdict::Ignored {
        return;
    }
    let Some(task) = leased_task(world, decision, incoming, facts) else { return };
    let is_moved = |happened: &NewEvent| {
        let is_move = matches!(happened.event, Event::TaskTransitioned { .. });
        is_move && happened.task.as_ref() == Some(&task.id)
    };
    if !decision.events.iter().any(is_moved) {
        decision.events.extend(heartbeat::due_renewal(world, task, now));
    }
}

/// Returns the task whose lease the sender of a message holds. The token of a run proves that, also
/// in a refused message; without one, the sender must have been allowed to report.
fn leased_task<'w>(
    world: &'w World,
    decision: &Decision,
    incoming: &IncomingText,
    facts: &MessageFacts,
) -> Option<&'w Task> {
    match (&facts.token, incoming) {
        (TokenOwner::Run { task, fence, nonce }, _) => {
            let task = world.task(task)?;
            task.lease().filter(|lease| lease.is_of(*fence, *nonce)).map(|_| task)
        }
        (TokenOwner::None, IncomingText::Message(envelope))
            if decision.answer.verdict != AnswerVerdict::Rejected =>
        {
            let task = world.task(&envelope.task)?;
            task.lease().filter(|lease| lease.agent == envelope.from).map(|_| task)
        }
        (TokenOwner::None | TokenOwner::Unknown, _) => None,
    }
}

/// Returns how far a run is beyond its message limit: `Some(0)` is the first refused message,
/// `None` is within the limit.
fn excess_messages(incoming: &IncomingText, facts: &MessageFacts) -> Option<u64> {
    let is_report = match incoming {
        IncomingText::Message(envelope) => matches!(envelope.message, AofMessage::Completion(_)),
        IncomingText::Document(_) => true,
        IncomingText::Ignored => return None,
        IncomingText::Refused(_) | IncomingText::Unknown { .. } => false,
    };
    facts.earlier_messages.checked_sub(if is_report { REPORTS_MAX } else { MESSAGES_MAX })
}

/// Refuses a message from a run that floods. Only the first refusal and then ever fewer are logged,
/// or the event log would be flooded too.
fn refuse_flood(incoming: &IncomingText, facts: &MessageFacts, over: u64) -> Decision {
    let of = match (incoming, &facts.token) {
        (IncomingText::Message(envelope), _) => Some(envelope.task.clone()),
        (_, TokenOwner::Run { task, .. }) => Some(task.clone()),
        (_, TokenOwner::None | TokenOwner::Unknown) => None,
    };
    let reason = Reason::TooManyRequests;
    if over == 0 || over.is_power_of_two() {
        let what = format!("this run has already sent {} messages", facts.earlier_messages);
        return DecisionDraft::new(Actor::Router, of)
            .reject(reason, vec![FieldProblem::new("", what)]);
    }
    Decision { answer: Answer::rejected(reason, of), events: vec![], effects: vec![] }
}

fn decide_incoming(
    world: &World,
    incoming: &IncomingText,
    facts: &MessageFacts,
    now: Time,
) -> Decision {
    match incoming {
        IncomingText::Ignored => ignore(),
        IncomingText::Refused(refusal) => refuse(world, refusal),
        IncomingText::Unknown { kind, task, from } => {
            let mut draft = DecisionDraft::new(Actor::Agent(from.clone()), Some(task.clone()));
            if let Some(task) = world.task(task) {
                draft.load_task(task);
            }
            draft.push(Event::MessageUnknown { kind: kind.clone() });
            draft.finish(AnswerVerdict::Unknown, Some(Reason::UnknownType))
        }
        IncomingText::Message(envelope) => route(world, envelope, facts),
        IncomingText::Document(sent) => document::decide(world, sent, facts, now),
    }
}

fn ignore() -> Decision {
    Decision { answer: Answer::plain(AnswerVerdict::Ignored), events: vec![], effects: vec![] }
}

/// An agent may print text that others wrote, so a printed line counts only with the run's token.
fn ignore_printed_line(world: &World, facts: &MessageFacts) -> Decision {
    let of = match &facts.token {
        TokenOwner::Run { task, .. } => Some(task.clone()),
        TokenOwner::None | TokenOwner::Unknown => None,
    };
    let count = facts.earlier_messages;
    if count > LOGGED_LINES && !count.is_power_of_two() {
        let reason = Some(Reason::MissingToken);
        let answer = Answer { reason, task: of, ..Answer::plain(AnswerVerdict::Ignored) };
        return Decision { answer, events: vec![], effects: vec![] };
    }
    let mut draft = DecisionDraft::new(Actor::Router, of.clone());
    if let Some(task) = of.as_ref().and_then(|id| world.task(id)) {
        draft.load_task(task);
    }
    let what = "a line AOF/1 on standard output does not count: it has no `runToken`";
    draft.warn(Reason::MissingToken, what);
    draft.finish(AnswerVerdict::Ignored, Some(Reason::MissingToken))
}

/// Salvages a refused file of a run for a person to inspect, unless the decision does so already.
fn salvage_refused_file(decision: &mut Decision, facts: &MessageFacts) {
    let (Some(left), TokenOwner::Run { task, .. }) = (&facts.left_file, &facts.token) else {
        return;
    };
    let reason =
        decision.answer.reason.filter(|_| decision.answer.verdict == AnswerVerdict::Rejected);
    let is_kept = |happened: &NewEvent| matches!(happened.event, Event::RunSalvaged { .. });
    let Some(reason) = reason.filter(|_| !decision.events.iter().any(is_kept)) else { return };
    let (file, text) = (left.file.clone(), Some(left.text.clone()));
    let event = Event::RunSalvaged { file, reason, text };
    decision.events.push(NewEvent { actor: Actor::Router, task: Some(task.clone()), event });
}

fn refuse(world: &World, refusal: &MessageRefusal) -> Decision {
    let actor = refusal.from.clone().filter(|from| !from.is_reserved());
    let named = refusal.document.as_ref().and_then(|(_, id)| world.resolve(id.as_deref()?));
    let known = named.filter(|id| world.task(id).is_some());
    let id = refusal.task.clone().or(known);
    let mut draft = DecisionDraft::new(actor.map_or(Actor::Router, Actor::Agent), id.clone());
    if let Some(task) = id.as_ref().and_then(|id| world.task(id)) {
        draft.load_task(task);
    }
    draft.reject(refusal.reason, refusal.problems.clone())
}

fn route(world: &World, envelope: &AofEnvelope, facts: &MessageFacts) -> Decision {
    let actor = Actor::Agent(envelope.from.clone());
    let mut draft = DecisionDraft::new(actor, Some(envelope.task.clone()));
    let task = match find_task(world, &envelope.task) {
        Ok(task) => {
            draft.load_task(task);
            Ok(task)
        }
        Err(reason) => Err(reason),
    };
    if !facts.escaping_paths.is_empty() {
        let what = "leads outside its folder through a symbolic link";
        let escape = |path: &String| FieldProblem::new(path, what);
        return draft
            .reject(Reason::InvalidEnvelope, facts.escaping_paths.iter().map(escape).collect());
    }
    draft.push(Event::MessageReceived(ReceivedMessage::Message {
        kind: envelope.message.kind(),
        to: envelope.to.clone(),
        sent_at: envelope.sent_at.clone(),
    }));
    for warning in &envelope.warnings {
        draft.warn(Reason::InvalidAcceptanceCriteria, warning.to_string());
    }
    if let AofMessage::HandoffRequest(handoff) = &envelope.message {
        return handoff::decide_request(world, draft, task, envelope, handoff, facts);
    }
    if task.is_ok_and(|task| is_repeated(task, envelope, facts)) {
        return draft.finish(AnswerVerdict::Noop, None);
    }
    match task.and_then(|task| check_sender(world, task, envelope, facts).map(|()| task)) {
        Ok(task) => handle_message(world, draft, task, envelope, facts),
        Err(reason @ Reason::StaleRun) => {
            salvage_late_message(draft.reject(reason, vec![]), &envelope.task, envelope)
        }
        Err(reason) => draft.reject(reason, vec![]),
    }
}

/// A completion sent again by a run that has already reported adds nothing.
fn is_repeated(task: &Task, envelope: &AofEnvelope, facts: &MessageFacts) -> bool {
    let TokenOwner::Run { task: of, fence, nonce } = &facts.token else { return false };
    let known = *of == task.id && task.agent_of_run(*fence, *nonce).is_some();
    let reported = known && task.reported_fence == Some(*fence);
    reported && task.lease().is_none() && matches!(envelope.message, AofMessage::Completion(_))
}

/// A message from an older run changes nothing; it is salvaged for a person to inspect.
pub(super) fn salvage_late_message(
    mut rejected: Decision,
    of: &TaskId,
    envelope: &AofEnvelope,
) -> Decision {
    let (file, reason) = (SALVAGED_MESSAGE_FILE.to_owned(), Reason::StaleRun);
    let event = Event::RunSalvaged { file, reason, text: Some(envelope.to_json_text()) };
    let actor = Actor::Agent(envelope.from.clone());
    rejected.events.push(NewEvent { actor, task: Some(of.clone()), event });
    rejected
}

fn handle_message(
    world: &World,
    draft: DecisionDraft,
    task: &Task,
    envelope: &AofEnvelope,
    facts: &MessageFacts,
) -> Decision {
    match &envelope.message {
        AofMessage::Completion(report) => {
            completion::apply_report(draft, task, envelope, report, facts, world.policy())
        }
        AofMessage::Status(update) => {
            status_update::apply_update(draft, task, envelope, update, facts, world.policy())
        }
        AofMessage::HandoffAccepted | AofMessage::HandoffRejected(_)
            if task.status().is_closed() =>
        {
            draft.finish(AnswerVerdict::Noop, Some(Reason::TaskClosed))
        }
        AofMessage::HandoffAccepted => handoff::accept_handoff(draft),
        AofMessage::HandoffRejected(reason) => handoff::reject_handoff(draft, reason.as_deref()),
        AofMessage::HandoffRequest(_) => draft.finish(AnswerVerdict::Noop, None),
    }
}

/// Returns the task, or the reason why no decision can be made about it.
pub(super) fn find_task<'w>(world: &'w World, id: &TaskId) -> Result<&'w Task, Reason> {
    match world.task(id) {
        Some(task) => Ok(task),
        None if world.unreadable().contains(id) => Err(Reason::TaskUnreadable),
        None => Err(Reason::TaskNotFound),
    }
}

/// Checks the token first: a message from an older run is refused, no matter which sender it names.
pub(super) fn check_sender(
    world: &World,
    task: &Task,
    envelope: &AofEnvelope,
    facts: &MessageFacts,
) -> Result<(), Reason> {
    check_token(world, task, &facts.token)?;
    check_run_agent(task, envelope, &facts.token)?;
    match task.speaker() {
        Some(speaker) if *speaker != envelope.from => Err(Reason::UnauthorizedAgent),
        _ => Ok(()),
    }
}

/// A message that comes through a run speaks as the agent of that run, whatever name it gives.
fn check_run_agent(task: &Task, envelope: &AofEnvelope, token: &TokenOwner) -> Result<(), Reason> {
    let TokenOwner::Run { fence, nonce, .. } = token else { return Ok(()) };
    match task.agent_of_run(*fence, *nonce) {
        Some(agent) if *agent != envelope.from => Err(Reason::AgentIdMismatch),
        _ => Ok(()),
    }
}

/// A token speaks for the run that holds the lease; without a lease, for the last run. Any other
/// run is over, or belongs to a history that the store no longer has.
pub(super) fn check_token(world: &World, task: &Task, token: &TokenOwner) -> Result<(), Reason> {
    let newest = task.lease().map(|lease| (lease.fence, lease.nonce));
    let newest = newest.or(task.last_run.as_ref().map(|run| (run.fence, run.nonce)));
    match token {
        TokenOwner::None if world.policy().require_token => Err(Reason::TokenRequired),
        TokenOwner::Unknown => Err(Reason::UnknownToken),
        TokenOwner::Run { task: of, .. } if *of != task.id => Err(Reason::UnknownToken),
        TokenOwner::Run { fence, nonce, .. } if newest != Some((*fence, *nonce)) => {
            Err(Reason::StaleRun)
        }
        TokenOwner::None | TokenOwner::Run { .. } => Ok(()),
    }
}
