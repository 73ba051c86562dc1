//! Builders for tasks, worlds and messages, and a minimal engine.

use adjutant_core::input::MessageFacts;
use adjutant_core::protocols::aof;
use adjutant_core::{Decision, Input, World, decide};
use adjutant_model::completion::WorkOutcome;
use adjutant_model::event::NewEvent;
use adjutant_model::notice::{NoticeKind, NotifyRule};
use adjutant_model::review::ReviewPolicy;
use adjutant_model::run::RunRef;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::task::{Lease, TaskState};
use adjutant_model::{
    Actor, AgentId, Effect, Event, EventId, Policy, RecordedEvent, Status, Task, TaskId, Time,
};
use serde_json::{Value, json};

/// The time of every decision in these tests.
pub(crate) fn now() -> Time {
    time("2026-02-09T22:00:00.000Z")
}

pub(crate) fn time(text: &str) -> Time {
    Time::parse(text).expect("a good time")
}

pub(crate) fn id(number: u64) -> TaskId {
    TaskId::numbered(now(), number)
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a good name")
}

/// Makes a task that any agent may report on and that needs review.
pub(crate) fn task(number: u64, status: Status) -> Task {
    let made = time("2026-02-09T20:00:00.000Z");
    let made_by = Actor::Human("alice".into());
    let new = Task::new(id(number), &format!("Task {number}"), &made_by, made);
    Task { state: TaskState::entered(status), ..new }
}

/// Builder methods for tasks.
pub(crate) trait TaskBuilder: Sized {
    /// Puts the task in progress under a valid lease.
    fn leased_to(self, name: &str, fence: u64) -> Self;
    /// Lets the lease expire before [`now`].
    fn expired(self) -> Self;
    fn routed_to(self, name: &str) -> Self;
    fn last_run_by(self, name: &str, fence: u64) -> Self;

    /// Gives the lease and the last run this nonce.
    fn with_nonce(self, number: u64) -> Self;
    fn reported_by(self, name: &str) -> Self;
    fn review(self, review: ReviewPolicy) -> Self;
    fn depth(self, depth: u32) -> Self;
    fn child_of(self, number: u64) -> Self;
}

impl TaskBuilder for Task {
    fn leased_to(mut self, name: &str, fence: u64) -> Self {
        self.state = TaskState::InProgress(Some(Lease {
            nonce: None,
            agent: agent(name),
            acquired_at: time("2026-02-09T21:00:00.000Z"),
            expires_at: time("2026-02-09T22:04:00.000Z"),
            renew_count: 0,
            attempt: 1,
            fence,
        }));
        self
    }

    fn expired(mut self) -> Self {
        if let TaskState::InProgress(Some(lease)) = &mut self.state {
            lease.expires_at = time("2026-02-09T21:30:00.000Z");
        }
        self
    }

    fn routed_to(mut self, name: &str) -> Self {
        self.routing.agent = Some(agent(name));
        self
    }

    fn last_run_by(mut self, name: &str, fence: u64) -> Self {
        let agent = agent(name);
        self.last_run = Some(RunRef { nonce: None, agent, attempt: 1, fence });
        self
    }

    fn with_nonce(mut self, number: u64) -> Self {
        let nonce = Some(RunNonce::from_random(number));
        if let TaskState::InProgress(Some(lease)) = &mut self.state {
            lease.nonce = nonce;
        }
        if let Some(run) = &mut self.last_run {
            run.nonce = nonce;
        }
        self
    }

    fn reported_by(mut self, name: &str) -> Self {
        self.reported_by = Some(agent(name));
        self
    }

    fn review(mut self, review: ReviewPolicy) -> Self {
        self.review = review;
        self
    }

    fn depth(mut self, depth: u32) -> Self {
        self.depth = depth;
        self
    }

    fn child_of(mut self, number: u64) -> Self {
        self.parent = Some(id(number));
        self
    }
}

pub(crate) fn world(tasks: impl IntoIterator<Item = Task>) -> World {
    World::load(tasks, EventId(16))
}

pub(crate) fn operator() -> Actor {
    Actor::human("alice")
}

/// Puts a payload into a valid envelope.
pub(crate) fn envelope(kind: &str, task: &TaskId, from: &str, payload: &Value) -> Value {
    json!({
        "protocol": "aof",
        "version": 1,
        "type": kind,
        "taskId": task.as_str(),
        "fromAgent": from,
        "toAgent": "dispatcher",
        "sentAt": "2026-02-09T21:10:00.000Z",
        "payload": payload,
    })
}

pub(crate) fn completion(number: u64, from: &str, outcome: WorkOutcome) -> Value {
    let payload = json!({
        "outcome": outcome.as_str(),
        "summaryRef": "outputs/summary.md",
        "deliverables": ["src/users.rs"],
        "tests": {"total": 10, "passed": 8, "failed": 2},
        "blockers": ["Awaiting API key", "Need credentials"],
        "notes": "Core logic is there",
    });
    envelope("completion.report", &id(number), from, &payload)
}

/// A status update with progress, which asks for a status if `to` is given.
pub(crate) fn status_update(number: u64, from: &str, to: Option<Status>) -> Value {
    let mut payload = json!({
        "taskId": id(number).as_str(),
        "agentId": from,
        "progress": "Half way",
    });
    if let Some(to) = to {
        payload["status"] = json!(to.as_str());
    }
    envelope("status.update", &id(number), from, &payload)
}

pub(crate) fn handoff_request(child: u64, parent: u64, from: &str, to: &str) -> Value {
    let payload = json!({
        "taskId": id(child).as_str(),
        "parentTaskId": id(parent).as_str(),
        "fromAgent": from,
        "toAgent": to,
        "acceptanceCriteria": ["All tests pass"],
        "expectedOutputs": ["tests/report.md"],
        "contextRefs": ["src/users.rs"],
        "constraints": ["No new dependencies"],
        "dueBy": "2026-02-10T12:00:00.000Z",
    });
    envelope("handoff.request", &id(child), from, &payload)
}

pub(crate) fn handoff_accepted(number: u64, from: &str) -> Value {
    let payload = json!({"taskId": id(number).as_str(), "accepted": true});
    envelope("handoff.accepted", &id(number), from, &payload)
}

pub(crate) fn handoff_rejected(number: u64, from: &str) -> Value {
    let payload = json!({
        "taskId": id(number).as_str(),
        "accepted": false,
        "reason": "Insufficient context",
    });
    envelope("handoff.rejected", &id(number), from, &payload)
}

/// Reads a message as a channel would, with all files present and no token.
pub(crate) fn message(value: &Value) -> Input {
    message_with(value, MessageFacts::default())
}

pub(crate) fn message_with(value: &Value, facts: MessageFacts) -> Input {
    Input::Message { incoming: aof::read(value.to_string().as_bytes()), facts }
}

pub(crate) fn send(world: &World, value: &Value) -> Decision {
    decide(world, &message(value), now())
}

/// Numbers and applies the events of a decision, as the engine does.
pub(crate) fn commit(world: &mut World, decision: &Decision) -> Vec<RecordedEvent> {
    let mut record = Vec::new();
    for happened in &decision.events {
        let recorded = RecordedEvent {
            id: world.last_event().next(),
            at: now(),
            node: None,
            new_event: happened.clone(),
        };
        world.apply(&recorded);
        record.push(recorded);
    }
    record
}

/// Returns the world after a decision is committed.
pub(crate) fn after(world: &World, decision: &Decision) -> World {
    let mut after = world.clone();
    commit(&mut after, decision);
    after
}

pub(crate) fn tasks(world: &World) -> Vec<Task> {
    world.tasks().cloned().collect()
}

/// Renders the events of a decision on one line, with the details that a reviewer needs.
pub(crate) fn events(decision: &Decision) -> String {
    let shown: Vec<String> = decision.events.iter().map(event).collect();
    shown.join(" ")
}

fn event(happened: &NewEvent) -> String {
    match &happened.event {
        Event::TaskTransitioned { from, to, .. } => format!("transitioned({from}->{to})"),
        Event::MessageWarned { reason, .. } => format!("warned({reason})"),
        Event::MessageRejected { reason, .. } => format!("rejected({reason})"),
        Event::DelegationRejected { reason } => format!("delegation.rejected({reason})"),
        Event::RunSalvaged { reason, .. } => format!("salvaged({reason})"),
        Event::CommandRefused { command, reason } => format!("refused({command}: {reason})"),
        Event::TaskEdited { changed, .. } => format!("edited({})", changed.join(" ")),
        other => {
            let kind = other.kind();
            let shown = kind.strip_prefix("protocol.message.").or(kind.strip_prefix("task."));
            shown.unwrap_or(kind).to_owned()
        }
    }
}

/// Renders the verdict of a decision, and its reason if there is one.
pub(crate) fn verdict(decision: &Decision) -> String {
    match decision.answer.reason {
        Some(reason) => format!("{} {reason}", decision.answer.verdict),
        None => decision.answer.verdict.to_string(),
    }
}

/// Compares two texts, and prints only the lines that differ.
pub(crate) fn check_text(actual: &str, expected: &str) {
    let (actual, expected) = (actual.trim(), expected.trim());
    let (left, right) = (actual.lines().count(), expected.lines().count());
    let pairs = expected.lines().zip(actual.lines());
    let differing: Vec<String> = pairs
        .filter(|(expected, actual)| expected != actual)
        .map(|(expected, actual)| format!("- {expected}\n+ {actual}"))
        .collect();
    assert!(actual == expected, "{left} lines, {right} expected (-):\n{}", differing.join("\n"));
}

/// A policy that notifies of moves into review, blocked, done and deadletter.
pub(crate) fn notify_policy() -> Policy {
    let on = [NoticeKind::Review, NoticeKind::Blocked, NoticeKind::Done, NoticeKind::Deadletter];
    Policy { notify: vec![NotifyRule::immediate("ops", on)], ..Policy::default() }
}

/// Returns the status and reason of every notice of a move.
pub(crate) fn notified_moves(decision: &Decision) -> Vec<(Status, String)> {
    let moved = |effect: &Effect| match effect {
        Effect::Notify { rule, notice } => {
            assert_eq!((&**rule, &notice.task), ("ops", &Some(id(1))), "{notice:?}");
            Status::parse(notice.kind.as_str()).map(|to| (to, notice.reason.clone()))
        }
        _ => None,
    };
    decision.effects.iter().filter_map(moved).collect()
}
