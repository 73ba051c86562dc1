//! Hundreds of invalid messages: each is refused for the exact reason, with every problem named,
//! and changes no task.

mod damage;
mod detection;
mod fields;
mod limits;
mod values;
mod whole;

use adjutant_core::input::MessageFacts;
use adjutant_core::protocols::aof::{self, IncomingText};
use adjutant_core::{Decision, Input, World, decide};
use adjutant_model::Status;
use adjutant_model::answer::{AnswerVerdict, FieldProblem, Reason};
use adjutant_model::completion::WorkOutcome;
use adjutant_model::event::Event;
use serde_json::{Value, json};

use crate::support::{
    TaskBuilder, after, completion, handoff_accepted, handoff_rejected, handoff_request, now,
    status_update, task, tasks, world,
};

/// A world in which every valid message would change something.
fn given() -> World {
    world([task(1, Status::InProgress).leased_to("swe", 1), task(2, Status::Ready).child_of(1)])
}

fn a_completion() -> Value {
    let mut message = completion(1, "swe", WorkOutcome::Done);
    message["payload"]["tests"] = json!({"total": 100, "passed": 1, "failed": 1});
    message
}

fn an_update() -> Value {
    let mut message = status_update(1, "swe", Some(Status::Blocked));
    message["payload"]["blockers"] = json!(["Awaiting API key"]);
    message["payload"]["notes"] = json!("Back tomorrow");
    message
}

fn a_request() -> Value {
    handoff_request(2, 1, "swe", "qa")
}

fn an_acceptance() -> Value {
    handoff_accepted(2, "qa")
}

fn a_rejection() -> Value {
    handoff_rejected(2, "qa")
}

fn valid() -> [Value; 5] {
    [a_completion(), an_update(), a_request(), an_acceptance(), a_rejection()]
}

/// Returns the value in a message at the path of a problem, such as `payload.deliverables[0]`.
fn place<'a>(message: &'a mut Value, path: &str) -> &'a mut Value {
    let pointer = path.replace('[', "/").replace(']', "").replace('.', "/");
    let (parent, key) = pointer.rsplit_once('/').unwrap_or(("", &pointer));
    let parent = if parent.is_empty() {
        message
    } else {
        message.pointer_mut(&format!("/{parent}")).expect("a place in the message")
    };
    match parent {
        Value::Array(items) => &mut items[key.parse::<usize>().expect("an index")],
        object => &mut object[key],
    }
}

/// Returns the message with another value at a path.
fn with(message: &Value, path: &str, value: impl Into<Value>) -> Value {
    let mut changed = message.clone();
    *place(&mut changed, path) = value.into();
    changed
}

/// Returns the message without the value at a path.
fn without(message: &Value, path: &str) -> Value {
    let mut changed = message.clone();
    let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
    let parent = match parent {
        "" => &mut changed,
        parent => place(&mut changed, parent),
    };
    if let Some((list, index)) = key.trim_end_matches(']').split_once('[') {
        let items = parent[list].as_array_mut().expect("a list");
        items.remove(index.parse().expect("an index"));
    } else {
        let object = parent.as_object_mut().expect("an object");
        object.remove(key).expect("a field that is there");
    }
    changed
}

fn decided(raw: &[u8]) -> Decision {
    let incoming = aof::read(raw);
    let facts = MessageFacts::default();
    decide(&given(), &Input::Message { incoming, facts }, now())
}

fn shown(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    let mut short: String = text.chars().take(600).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn lines(problems: &[FieldProblem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

/// Checks that a message is refused with exactly this reason and these problems, and
/// changes no task.
fn check_refused(raw: impl AsRef<[u8]>, reason: Reason, problems: &[&str]) {
    let raw = raw.as_ref();
    let IncomingText::Refused(refusal) = aof::read(raw) else {
        panic!("not refused: {}", shown(raw));
    };
    assert_eq!(lines(&refusal.problems), problems, "{}", shown(raw));
    assert_eq!(refusal.reason, reason, "{}", shown(raw));
    check_decided(raw, AnswerVerdict::Rejected, Some(reason), &refusal.problems);
}

/// Checks the decision on a message that is refused for its content: one event, no task changed.
fn check_decided(
    raw: &[u8],
    verdict: AnswerVerdict,
    reason: Option<Reason>,
    problems: &[FieldProblem],
) {
    let decision = decided(raw);
    assert_eq!(decision.answer.verdict, verdict, "{}", shown(raw));
    assert_eq!(decision.answer.reason, reason, "{}", shown(raw));
    assert_eq!(decision.answer.problems, problems, "{}", shown(raw));
    assert_eq!(decision.effects, [], "{}", shown(raw));
    check_harmless(raw, &decision);
    let events: Vec<Event> = decision.events.into_iter().map(|it| it.event).collect();
    let rejected =
        reason.map(|reason| Event::MessageRejected { reason, problems: problems.to_vec() });
    assert_eq!(events, Vec::from_iter(rejected), "{}", shown(raw));
}

fn check_harmless(raw: &[u8], decision: &Decision) {
    let world = given();
    assert_eq!(tasks(&after(&world, decision)), tasks(&world), "{}", shown(raw));
}

fn check_invalid(message: &Value, problems: &[&str]) {
    check_refused(message.to_string(), Reason::InvalidEnvelope, problems);
}

/// Checks that a text is not taken for a message: no event, no error.
fn check_ignored(raw: impl AsRef<[u8]>) {
    let raw = raw.as_ref();
    assert_eq!(aof::read(raw), IncomingText::Ignored, "{}", shown(raw));
    check_decided(raw, AnswerVerdict::Ignored, None, &[]);
}

/// Checks that a message is valid.
fn check_taken(raw: impl AsRef<[u8]>) {
    let raw = raw.as_ref();
    let answer = decided(raw).answer;
    assert_eq!(lines(&answer.problems), Vec::<String>::new());
    assert_eq!(answer.verdict, AnswerVerdict::Applied, "{}", shown(raw));
}

#[test]
fn valid_message_templates_are_accepted() {
    for message in valid() {
        check_taken(message.to_string());
    }
}
