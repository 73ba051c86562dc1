//! The record: every type of event, as it is really written.

use std::collections::BTreeSet;

use adjutant_core::account::{Account, Budget, Parked, Session, Spent, Usage};
use adjutant_core::answer::{Problem, Reason};
use adjutant_core::aof::Kind;
use adjutant_core::completion::{Completion, Outcome, RunResult, TestReport};
use adjutant_core::dialect::DocumentKind;
use adjutant_core::event::{Channel, Happened, Manner};
use adjutant_core::evidence::{Changes, Check, Evidence};
use adjutant_core::foreign::Foreign;
use adjutant_core::handoff::Handoff;
use adjutant_core::mission::EpicId;
use adjutant_core::notice;
use adjutant_core::path::RelPath;
use adjutant_core::permit::{Choice, ChoiceKind, Permit};
use adjutant_core::pipeline::{
    Hold, Position, Reason as StoryReason, Status as StepStatus, Step, StoryId,
};
use adjutant_core::policy::Merge;
use adjutant_core::run::{Exit, Place};
use adjutant_core::task::{LastRun, Lease, Review, Routing, State};
use adjutant_core::trials::{BlockedBy, Expired, Failure, OpenRun, Question, Trials};
use adjutant_core::work::{Claim, Merging, Work};
use adjutant_core::worklog::Entry;
use adjutant_core::{
    Actor, AgentId, Event, EventId, NodeId, Recorded, Stamp, Status, Task, TaskId, Time,
};
use adjutant_store::hash::Hash;
use adjutant_store::record::encode;
use serde_json::{Value, json};

use crate::schema::support::{adjutant, complaints, schema, validator};

fn id(number: u32) -> TaskId {
    TaskId::parse(&format!("TASK-2026-02-09-{number:03}")).expect("a good id")
}

fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a good name")
}

fn stamp() -> Stamp {
    Stamp::parse("2026-02-09T23:10:00+02:00").expect("a good time")
}

fn time() -> Time {
    stamp().time()
}

/// A task with nothing but what every task has.
fn bare() -> Task {
    let new = Task::new(id(1), "x", &Actor::System, time());
    Task { state: State::entered(Status::Ready), created_by: "".into(), ..new }
}

/// A task with everything a task can have.
fn full() -> Task {
    let lease = Lease {
        agent: agent("swe"),
        acquired_at: time(),
        expires_at: time(),
        renew_count: 1,
        attempt: 2,
        fence: 3,
    };
    Task {
        created_by: "human:alice".into(),
        state: State::InProgress(Some(lease)),
        routing: Routing {
            agent: Some(agent("swe")),
            mode: Some("code".into()),
            role: Some("dev".into()),
            tags: vec!["rust".into()],
        },
        parent: Some(id(2)),
        depends_on: vec![id(3)],
        resource: Some("db".into()),
        due_by: Some(time()),
        review: Review::NotNeeded,
        depth: 1,
        last_run: Some(LastRun { agent: agent("swe"), attempt: 1, fence: 2 }),
        reported_by: Some(agent("swe")),
        reported_fence: Some(2),
        feedback: Some("again".into()),
        trials: full_trials(),
        foreign: Foreign::read(
            Some(&json!({"task_id": "T1", "epic_id": "E1", "prd_id": "PRD-1"})),
            Some(&json!({"taskId": "A-1"})),
            Some(&Value::Object(position().object())),
        )
        .map(Box::new),
        ..bare()
    }
}

fn position() -> Position {
    let story = |text: &str| StoryId::parse(text).expect("a good name");
    Position {
        story: story("US-005"),
        step: Step::Impl,
        attempt: 2,
        max_attempts: 5,
        status: StepStatus::NeedsHuman,
        reason: Some(StoryReason::ScopeWarning),
        hold: Some(Hold::Stuck),
        auto: true,
        waits_for: vec![story("US-003")],
        fence: Some(7),
        error: Some("two tests fail".into()),
        node: Some(NodeId::parse("mini").expect("a name")),
    }
}

fn full_trials() -> Trials {
    Trials {
        open: Some(OpenRun { agent: agent("swe"), attempt: 2, fence: 3 }),
        node: Some(NodeId::parse("mac").expect("a good name")),
        failures: vec![Failure { attempt: 1, reason: "stale_heartbeat".into() }],
        not_before: Some(time()),
        expired: Some(Expired { at: time(), reason: "stale_heartbeat".into() }),
        blocked_by: Some(BlockedBy::Dependency),
        reason: Some("waits".into()),
        answer: Some("yes".into()),
        question: Some(Box::new(Question { text: "which?".into(), suggestion: Some("b".into()) })),
        permit: Some(Box::new(permit())),
        checks: Some(["make".into()].into()),
        work: Some(Box::new(Work {
            claim: Some(Claim { attempt: 2, fence: 3, outcome: Outcome::Done, reason: "r".into() }),
            evidence: Some("1 check passed".into()),
            merge: Some(Merge::Ff),
            merging: Some(Merging { note: "n".into(), waits: Some("w".into()) }),
        })),
        account: Some(Box::new(full_account())),
    }
}

fn full_account() -> Account {
    Account {
        session: Some(Session {
            agent: agent("swe"),
            id: "c7d4".into(),
            node: NodeId::parse("mac").ok(),
        }),
        parked: vec![parked(), Parked { node: None, ..parked() }],
        spent: vec![Spent { day: "2026-02-09".into(), agent: agent("swe"), usage: usage() }],
        budget: Budget { tokens: Some(1), cost: Some(2_500_000) },
    }
}

fn parked() -> Parked {
    Parked {
        agent: agent("swe"),
        until: Some(time()),
        reason: "limit".into(),
        settings: 1,
        node: NodeId::parse("mac").ok(),
    }
}

fn usage() -> Usage {
    Usage { input: 10, output: 2, cached: 1, cost: 7 }
}

fn evidence() -> Box<Evidence> {
    Box::new(Evidence {
        branch: Some("adjutant/x".into()),
        base: Some("main".into()),
        commit: Some("0".into()),
        dirty: true,
        changes: Some(Changes { files: 1, insertions: 2, deletions: 3 }),
        checks: vec![Check {
            command: "make".into(),
            exit: Exit::NotStarted("no".into()),
            duration_ms: 1,
            tail: "t".into(),
            log: "checks/1.log".into(),
        }],
        flaw: Some("f".into()),
    })
}

fn work() -> Vec<Event> {
    let (attempt, fence) = (1, 1);
    vec![
        Event::RunDeferred { attempt, fence, reason: "no git".into(), not_before: time() },
        Event::WorkClaimed {
            attempt,
            fence,
            outcome: Outcome::Done,
            reason: "r".into(),
            merge: Some(Merge::Squash),
        },
        Event::WorkChecked { attempt, fence, evidence: evidence() },
        Event::WorkChecked { attempt, fence, evidence: Box::default() },
        Event::WorkSaved { reference: "refs/adjutant/salvage/x/1".into(), commit: "0".into() },
        Event::MergeRequested { note: "n".into() },
        Event::MergeWaiting { reason: "w".into() },
        Event::MergeRefused { reason: "r".into(), files: vec!["a".into()] },
        Event::WorkMerged { base: "main".into(), commit: "0".into(), evidence: evidence() },
    ]
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).expect("a good path")
}

fn result() -> Box<RunResult> {
    let completion = Completion {
        outcome: Outcome::NeedsReview,
        summary_ref: path("outputs/summary.md"),
        deliverables: vec![path("src/a.rs")],
        tests: TestReport { total: 3, passed: 2, failed: 1 },
        blockers: vec!["x".into()],
        notes: "n".into(),
    };
    Box::new(RunResult { task: id(1), agent: agent("swe"), completed_at: stamp(), completion })
}

fn handoff() -> Box<Handoff> {
    Box::new(Handoff {
        task: id(1),
        parent: id(2),
        from: agent("swe"),
        to: agent("qa"),
        acceptance_criteria: vec!["x".into()],
        expected_outputs: vec![path("a")],
        context_refs: vec![],
        constraints: vec!["y".into()],
        due_by: stamp(),
    })
}

/// An event of every type, in every form it is written in.
fn started(place: Place) -> Event {
    Event::RunStarted { agent: agent("swe"), attempt: 1, fence: 1, expires_at: time(), place }
}

/// Every way a run can end.
fn ends() -> Vec<Event> {
    let exits = [
        Exit::Code(1),
        Exit::Signal(9),
        Exit::TimedOut,
        Exit::Idle,
        Exit::Stopped,
        Exit::Lost,
        Exit::NotStarted("no such file".into()),
        Exit::NoWorkspace("no git".into()),
    ];
    let ended =
        exits.map(|exit| Event::RunExited { attempt: 1, fence: 1, exit, reason: String::new() });
    ended.into()
}

fn samples() -> Vec<Event> {
    let (reason, to) = (Reason::StaleRun, agent("dispatcher"));
    let entry = Entry { at: stamp(), progress: None, notes: Some("n".into()), blockers: vec![] };
    let long = Entry { progress: Some("p".into()), blockers: vec!["b".into()], ..entry.clone() };
    let moved = |manner| Event::TaskTransitioned {
        from: Status::Ready,
        to: Status::Done,
        reason: String::new(),
        manner,
    };
    let problems = vec![Problem::new("payload.notes", "is required")];
    let mut all = vec![
        Event::MessageRejected { reason, problems: vec![] },
        Event::MessageRejected { reason, problems },
        Event::MessageUnknown { kind: "coffee.break".into() },
        Event::TaskCreated { task: Box::new(bare()), body: Some(String::new()) },
        Event::TaskCreated { task: Box::new(full()), body: None },
        Event::TaskEdited { task: Box::new(full()), changed: vec!["title".into()], body: None },
        Event::TaskRemoved,
        moved(Manner::Ruled),
        moved(Manner::ByHand),
        moved(Manner::AgainstTheTable),
        Event::TaskCompleted { result: result(), channel: Channel::Message },
        Event::TaskCompleted { result: result(), channel: Channel::LeftBehind },
        Event::StoryMoved { position: Box::new(position()) },
        Event::TaskLogged { entry },
        Event::TaskLogged { entry: long },
        Event::DelegationRequested { handoff: handoff() },
        Event::DelegationAccepted,
        Event::DelegationRejected { reason: "No plan".into() },
        Event::TaskAnswered { text: "yes".into() },
        Event::TaskAsked {
            question: Box::new(Question { text: "which?".into(), suggestion: None }),
        },
        Event::TaskAsked {
            question: Box::new(Question { text: "which?".into(), suggestion: Some("b".into()) }),
        },
        Event::RunAsked { permit: Box::new(permit()) },
        answered(),
        Event::EpicNoted {
            epic: EpicId::parse("E1").expect("a good id"),
            at: stamp(),
            text: "x".into(),
        },
        started(Place::Here),
        started(Place::Elsewhere),
        started(Place::Node(NodeId::parse("mac").expect("a good name"))),
        Event::RunHeartbeat { fence: 1, expires_at: time() },
        Event::RunFailed { attempt: 1, fence: 1, reason: "lease_expired".into(), not_before: None },
        Event::RunFailed {
            attempt: 1,
            fence: 1,
            reason: "stale_heartbeat".into(),
            not_before: Some(time()),
        },
        Event::RunUsage {
            agent: agent("swe"),
            attempt: 1,
            fence: 1,
            session: Some("c7d4".into()),
            usage: usage(),
            warning: Some("version 9 was not tried".into()),
        },
        Event::RunParked {
            attempt: 1,
            fence: 1,
            parked: Box::new(parked()),
            not_before: Some(time()),
        },
        Event::AgentFreed { agent: agent("swe") },
        Event::TaskRetried,
        Event::RunSalvaged { file: "run_result.json".into(), reason, text: None },
        Event::SalvageApplied { file: "7-message.json".into() },
        Event::DispatchRefused { reason, detail: "d".into() },
        moved(Manner::Held(BlockedBy::Dependency)),
        Event::CommandRefused { command: "task move".into(), reason },
        Event::AccessRefused { reason, detail: "GET /v1/tasks".into(), count: 1 },
        kept(None),
        kept(Some(id(1))),
        Event::FleetDecider { node: NodeId::parse("mac").expect("a good name") },
        Event::FolderAdopted { tasks: 0 },
    ];
    all.extend(work());
    all.extend(notified());
    all.extend(Kind::ALL.map(|kind| Event::MessageReceived {
        kind,
        to: to.clone(),
        sent_at: stamp(),
    }));
    let document = |kind| Event::DocumentReceived { kind, id: "T1".into() };
    all.extend(DocumentKind::ALL.map(document));
    all.extend(ends());
    let warned = |reason: &Reason| Event::MessageWarned { reason: *reason, detail: "d".into() };
    all.extend(Reason::ALL.iter().map(warned));
    all
}

fn notified() -> Vec<Event> {
    let (rule, target, about) = ("ops".to_owned(), "webhook".to_owned(), EventId(7));
    let (kind, reason) = (notice::Kind::Review, "no answer".to_owned());
    let sent = |kind| Event::NotifySent {
        rule: "ops".into(),
        target: "console".into(),
        kind,
        about,
        tries: 1,
    };
    let mut all: Vec<Event> = notice::Kind::ALL.map(sent).into();
    all.push(Event::NotifyFailed { rule, target, kind, about, tries: 20, reason });
    all
}

fn answered() -> Event {
    let (attempt, fence, number) = (1, 1, 1);
    Event::RunAnswered { attempt, fence, number, choice: None, allowed: false, note: "no".into() }
}

fn permit() -> Permit {
    let choices = vec![Choice { id: "a".into(), name: "A".into(), kind: ChoiceKind::AllowOnce }];
    Permit { attempt: 1, fence: 1, number: 1, since: time(), text: "x".into(), choices }
}

fn kept(about: Option<TaskId>) -> Event {
    let (key, request) = ("00ff".to_owned(), "ff00".to_owned());
    Event::RequestKept { key, request, about, events: vec![EventId(7)] }
}

/// A new type of event makes this a compile error: it needs a sample, a schema and a page.
fn is_known(event: &Event) -> bool {
    match event {
        Event::MessageReceived { .. }
        | Event::DocumentReceived { .. }
        | Event::TaskAsked { .. }
        | Event::EpicNoted { .. }
        | Event::MessageRejected { .. }
        | Event::MessageUnknown { .. }
        | Event::MessageWarned { .. }
        | Event::TaskCreated { .. }
        | Event::TaskEdited { .. }
        | Event::TaskRemoved
        | Event::TaskTransitioned { .. }
        | Event::TaskCompleted { .. }
        | Event::StoryMoved { .. }
        | Event::TaskLogged { .. }
        | Event::DelegationRequested { .. }
        | Event::DelegationAccepted
        | Event::DelegationRejected { .. }
        | Event::TaskAnswered { .. }
        | Event::RunAsked { .. }
        | Event::RunAnswered { .. }
        | Event::RunStarted { .. }
        | Event::RunHeartbeat { .. }
        | Event::RunExited { .. }
        | Event::RunFailed { .. }
        | Event::RunUsage { .. }
        | Event::RunParked { .. }
        | Event::AgentFreed { .. }
        | Event::TaskRetried
        | Event::RunDeferred { .. }
        | Event::WorkClaimed { .. }
        | Event::WorkChecked { .. }
        | Event::WorkSaved { .. }
        | Event::MergeRequested { .. }
        | Event::MergeWaiting { .. }
        | Event::MergeRefused { .. }
        | Event::WorkMerged { .. }
        | Event::RunSalvaged { .. }
        | Event::SalvageApplied { .. }
        | Event::DispatchRefused { .. }
        | Event::CommandRefused { .. }
        | Event::AccessRefused { .. }
        | Event::RequestKept { .. }
        | Event::FleetDecider { .. }
        | Event::NotifySent { .. }
        | Event::NotifyFailed { .. }
        | Event::FolderAdopted { .. } => true,
    }
}

fn line(event: Event, actor: Actor, task: Option<TaskId>, prev: Option<Hash>) -> Value {
    let happened = Happened { actor, task, event };
    let recorded = Recorded { id: EventId(1), at: time(), happened };
    serde_json::from_str(&encode(&recorded, prev)).expect("a line is JSON")
}

/// Closes every object of a schema, so that a field it does not list is a mistake.
fn closed(mut schema: Value) -> Value {
    schema["unevaluatedProperties"] = json!(false);
    for definition in schema["$defs"].as_object_mut().expect("an object").values_mut() {
        if definition["type"] == "object" {
            definition["additionalProperties"] = json!(false);
        }
    }
    schema
}

#[test]
fn every_type_of_event_is_valid_and_has_no_field_that_is_not_listed() {
    let closed = closed(schema("events"));
    let closed = jsonschema::draft202012::new(&closed).expect("a schema that can be used");
    let valid = validator("events");
    for event in samples() {
        assert!(is_known(&event));
        let line = line(event, Actor::Agent(agent("swe")), Some(id(1)), Some(Hash::of(b"x")));
        assert_eq!(complaints(&valid, &line), [""; 0], "{line}");
        assert_eq!(complaints(&closed, &line), [""; 0], "{line}");
    }
}

#[test]
fn whoever_caused_it_may_be_anybody() {
    let valid = validator("events");
    let actors =
        [Actor::human("alice"), Actor::human(""), Actor::Scheduler, Actor::Router, Actor::System];
    for actor in actors {
        let line = line(Event::FolderAdopted { tasks: 3 }, actor, None, None);
        assert_eq!(complaints(&valid, &line), [""; 0], "{line}");
        assert_eq!((&line["taskId"], &line["prev"]), (&Value::Null, &Value::Null));
    }
}

#[test]
fn the_schema_lists_every_type_and_no_other() {
    let written: BTreeSet<String> = samples().iter().map(|event| event.kind().to_owned()).collect();
    let listed: Vec<String> = schema("events")["oneOf"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|branch| branch["properties"]["type"]["const"].as_str().expect("a type").to_owned())
        .collect();
    assert_eq!(listed.len(), written.len());
    assert_eq!(BTreeSet::from_iter(listed), written);
}

#[test]
fn every_event_of_the_demo_is_valid() {
    let valid = validator("events");
    let mut kinds = BTreeSet::new();
    for line in adjutant(&["demo", "--json"]).lines() {
        let document: Value = serde_json::from_str(line).expect("a line is JSON");
        if document["eventId"].is_u64() {
            assert_eq!(complaints(&valid, &document), [""; 0], "{line}");
            kinds.insert(document["type"].as_str().expect("a type").to_owned());
        }
    }
    assert!(kinds.len() > 10, "{kinds:?}");
}

#[test]
fn lines_that_are_no_events_are_not_valid() {
    let valid = validator("events");
    let good = line(
        Event::TaskCreated { task: Box::new(full()), body: None },
        Actor::System,
        Some(id(1)),
        Some(Hash::of(b"x")),
    );
    assert!(valid.is_valid(&good));
    let change = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).expect("it is there") = value;
        assert!(!valid.is_valid(&bad), "{bad}");
    };
    change("/eventId", json!(0));
    change("/eventId", json!("1"));
    change("/type", json!("task.invented"));
    change("/type", json!("task.transitioned"));
    change("/timestamp", json!("2026-02-09"));
    change("/actor", json!(""));
    change("/taskId", json!(null));
    change("/prev", json!("ABC"));
    change("/payload", json!({}));
    change("/payload/byHand", json!(false));
    change("/payload/task/status", json!("finished"));
    change("/payload/task/lease/attempt", json!(-1));
    change("/payload/task/metadata/reviewRequired", json!(true));
    for field in ["eventId", "type", "timestamp", "actor", "payload"] {
        let mut less = good.clone();
        less.as_object_mut().expect("an object").shift_remove(field);
        assert!(!valid.is_valid(&less), "{field}");
    }
}
