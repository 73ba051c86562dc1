//! The event schema, compared with events of every type as they are written.

use std::collections::BTreeSet;

use adjutant_model::answer::{FieldProblem, Reason};
use adjutant_model::completion::{
    CompletionReport, HandoffRef, RunResult, TestReport, WorkOutcome,
};
use adjutant_model::document::DocumentKind;
use adjutant_model::event::{NewEvent, ReceivedMessage, ReportChannel, TransitionCause};
use adjutant_model::evidence::{CheckResult, DiffStat, WorkEvidence};
use adjutant_model::handoff::TaskHandoff;
use adjutant_model::merge_mode::MergeMode;
use adjutant_model::message_type::MessageType;
use adjutant_model::mission::EpicId;
use adjutant_model::permission::{ChoiceKind, PermissionChoice, PermissionRequest};
use adjutant_model::relative_path::RelPath;
use adjutant_model::review::ReviewPolicy;
use adjutant_model::run::{RunExit, RunPlace, RunRef};
use adjutant_model::run_history::{
    AgentQuestion, BlockedBy, ExpiredRun, FailedAttempt, RunHistory,
};
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_model::story::{
    Step, StepFailReason as StoryReason, StepStatus, StoryHold, StoryId, StoryPosition,
};
use adjutant_model::task::{Lease, TaskRouting, TaskState};
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::usage::{
    AgentSession, DailyUsage, ParkedAgent, RefusedHost, TaskUsage, TokenUsage, UsageBudget,
};
use adjutant_model::work::{PendingMerge, RefusedMerge, TaskWork, WorkClaim};
use adjutant_model::work_log::WorkLogEntry;
use adjutant_model::{
    Actor, AgentId, Event, EventId, NodeId, RecordedEvent, Status, Task, TaskId, Time, Timestamp,
};
use adjutant_store::event_log::encode;
use adjutant_store::hash::ShortHash;
use serde_json::{Value, json};

use crate::schema::support::{adjutant, complaints, schema, validator};

fn id(number: u32) -> TaskId {
    TaskId::parse(&format!("TASK-2026-02-09-{number:03}")).expect("a good id")
}

fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a good name")
}

fn stamp() -> Timestamp {
    Timestamp::parse("2026-02-09T23:10:00+02:00").expect("a good time")
}

fn time() -> Time {
    stamp().time()
}

/// A task with only the required fields.
fn bare() -> Task {
    let new = Task::new(id(1), "x", &Actor::System, time());
    Task { state: TaskState::entered(Status::Ready), created_by: "".into(), ..new }
}

/// A task with every optional field set.
fn full() -> Task {
    let lease = Lease {
        nonce: Some(RunNonce::from_random(0x5eed)),
        agent: agent("swe"),
        acquired_at: time(),
        expires_at: time(),
        renew_count: 1,
        attempt: 2,
        fence: 3,
    };
    Task {
        created_by: "human:alice".into(),
        state: TaskState::InProgress(Some(lease)),
        routing: TaskRouting {
            agent: Some(agent("swe")),
            mode: Some("code".into()),
            role: Some("dev".into()),
            tags: vec!["rust".into()],
            ..TaskRouting::default()
        },
        parent: Some(id(2)),
        depends_on: vec![id(3)],
        resource: Some("db".into()),
        due_by: Some(time()),
        review: ReviewPolicy::NotNeeded,
        depth: 1,
        last_run: Some(RunRef { nonce: None, agent: agent("swe"), attempt: 1, fence: 2 }),
        reported_by: Some(agent("swe")),
        reported_fence: Some(2),
        feedback: Some("again".into()),
        history: full_trials(),
        origin: TaskOrigin::read(
            Some(&json!({"task_id": "T1", "epic_id": "E1", "prd_id": "PRD-1"})),
            Some(&json!({"taskId": "A-1"})),
            Some(&json!(position())),
        )
        .map(Box::new),
        ..bare()
    }
}

fn position() -> StoryPosition {
    let story = |text: &str| StoryId::parse(text).expect("a good name");
    StoryPosition {
        story: story("US-005"),
        step: Step::Impl,
        attempt: 2,
        max_attempts: 5,
        status: StepStatus::NeedsHuman,
        reason: Some(StoryReason::ScopeWarning),
        hold: Some(StoryHold::Stuck),
        auto: true,
        unaccepted: false,
        waits_for: vec![story("US-003")],
        fence: Some(7),
        error: Some("two tests fail".into()),
        said: Some("Which currency is meant?".into()),
        node: Some(NodeId::parse("mini").expect("a name")),
    }
}

fn full_trials() -> RunHistory {
    RunHistory {
        open: Some(RunRef {
            nonce: Some(RunNonce::from_random(0x5eed)),
            agent: agent("swe"),
            attempt: 2,
            fence: 3,
        }),
        node: Some(NodeId::parse("mac").expect("a good name")),
        failures: vec![FailedAttempt { attempt: 1, reason: "stale_heartbeat".into() }],
        not_before: Some(time()),
        expired: Some(ExpiredRun { at: time(), reason: "stale_heartbeat".into() }),
        blocked_by: Some(BlockedBy::Dependency),
        reason: Some("waits".into()),
        answer: Some("yes".into()),
        question: Some(Box::new(AgentQuestion {
            text: "which?".into(),
            suggestion: Some("b".into()),
        })),
        permit: Some(Box::new(permit())),
        checks: Some(["make".into()].into()),
        accepted_checks: Some(["make".into()].into()),
        work: Some(Box::new(TaskWork {
            claim: Some(WorkClaim {
                attempt: 2,
                fence: 3,
                outcome: WorkOutcome::Done,
                reason: "r".into(),
            }),
            evidence: Some("1 check passed".into()),
            unsettled: Some("u".into()),
            merge: Some(MergeMode::Ff),
            merging: Some(PendingMerge { note: "n".into(), waits: Some("w".into()) }),
            refused: Some(RefusedMerge { reason: "r".into(), files: vec!["f".into()] }),
            protected: vec!["p".into()],
            allowed: vec!["p".into()],
        })),
        account: Some(Box::new(full_account())),
    }
}

fn full_account() -> TaskUsage {
    TaskUsage {
        session: Some(AgentSession {
            agent: agent("swe"),
            id: "c7d4".into(),
            node: NodeId::parse("mac").ok(),
        }),
        parked: vec![parked(), ParkedAgent { node: None, ..parked() }],
        spent: vec![DailyUsage { day: "2026-02-09".into(), agent: agent("swe"), usage: usage() }],
        budget: UsageBudget { tokens: Some(1), cost: Some(2_500_000) },
        refused_hosts: vec![RefusedHost { agent: agent("swe"), host: "evil.example:443".into() }],
    }
}

fn parked() -> ParkedAgent {
    ParkedAgent {
        agent: agent("swe"),
        until: Some(time()),
        reason: "limit".into(),
        settings: 1,
        node: NodeId::parse("mac").ok(),
    }
}

fn usage() -> TokenUsage {
    TokenUsage { input: 10, output: 2, cached: 1, cost: 7 }
}

fn evidence() -> Box<WorkEvidence> {
    Box::new(WorkEvidence {
        branch: Some("adjutant/x".into()),
        base: Some("main".into()),
        commit: Some("0".into()),
        dirty: true,
        changes: Some(DiffStat { files: 1, insertions: 2, deletions: 3 }),
        protected: vec!["p".into()],
        checks: vec![CheckResult {
            command: "make".into(),
            exit: RunExit::NotStarted("no".into()),
            duration_ms: 1,
            tail: "t".into(),
            log: "checks/1.log".into(),
        }],
        flaw: Some("f".into()),
        unsettled: true,
    })
}

fn work() -> Vec<Event> {
    let (attempt, fence) = (1, 1);
    vec![
        Event::RunDeferred { attempt, fence, reason: "no git".into(), not_before: time() },
        Event::WorkClaimed {
            attempt,
            fence,
            outcome: WorkOutcome::Done,
            reason: "r".into(),
            merge: Some(MergeMode::Squash),
        },
        Event::WorkChecked { attempt, fence, evidence: evidence() },
        Event::WorkChecked { attempt, fence, evidence: Box::default() },
        Event::WorkSaved { reference: "refs/adjutant/salvage/x/1".into(), commit: "0".into() },
        Event::ProtectedAllowed { files: vec!["p".into()] },
        Event::ChecksAccepted { checks: Some(vec!["make".into()]) },
        Event::ChecksAccepted { checks: None },
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
    let completion = CompletionReport {
        outcome: WorkOutcome::NeedsReview,
        summary_ref: path("outputs/summary.md"),
        handoff_ref: HandoffRef,
        deliverables: vec![path("src/a.rs")],
        tests: TestReport { total: 3, passed: 2, failed: 1 },
        blockers: vec!["x".into()],
        notes: "n".into(),
    };
    Box::new(RunResult { task: id(1), agent: agent("swe"), completed_at: stamp(), completion })
}

fn handoff() -> Box<TaskHandoff> {
    Box::new(TaskHandoff {
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

fn started(place: RunPlace) -> Event {
    Event::RunStarted {
        agent: agent("swe"),
        attempt: 1,
        fence: 1,
        nonce: Some(RunNonce::from_random(0x5eed)),
        expires_at: time(),
        place,
        sandbox: SandboxLevel::Strict,
    }
}

/// Returns a run's exit event for every kind of exit.
fn ends() -> Vec<Event> {
    let exits = [
        RunExit::Code(1),
        RunExit::Signal(9),
        RunExit::TimedOut,
        RunExit::Idle,
        RunExit::Stopped,
        RunExit::Lost,
        RunExit::NotStarted("no such file".into()),
        RunExit::NoWorkspace("no git".into()),
    ];
    let ended =
        exits.map(|exit| Event::RunExited { attempt: 1, fence: 1, exit, reason: String::new() });
    ended.into()
}

fn refused_host() -> Event {
    let (agent, host) = (agent("swe"), "evil.example:443".to_owned());
    Event::HostRefused { agent, attempt: 1, fence: 1, host }
}

fn samples() -> Vec<Event> {
    let (reason, to) = (Reason::StaleRun, agent("dispatcher"));
    let entry =
        WorkLogEntry { at: stamp(), progress: None, notes: Some("n".into()), blockers: vec![] };
    let long =
        WorkLogEntry { progress: Some("p".into()), blockers: vec!["b".into()], ..entry.clone() };
    let moved = |manner| Event::TaskTransitioned {
        from: Status::Ready,
        to: Status::Done,
        reason: String::new(),
        manner,
    };
    let problems = vec![FieldProblem::new("payload.notes", "is required")];
    let mut all = vec![
        Event::MessageRejected { reason, problems: vec![] },
        Event::MessageRejected { reason, problems },
        Event::MessageUnknown { kind: "coffee.break".into() },
        Event::TaskCreated { task: Box::new(bare()), body: Some(String::new()), limits: None },
        Event::TaskCreated { task: Box::new(full()), body: None, limits: None },
        Event::TaskEdited {
            task: Box::new(full()),
            changed: vec!["title".into()],
            body: None,
            limits: None,
        },
        Event::TaskRemoved {},
        moved(TransitionCause::Ruled),
        moved(TransitionCause::ByHand),
        moved(TransitionCause::AgainstTheTable),
        moved(TransitionCause::Reopened),
        Event::TaskCompleted { result: result(), channel: ReportChannel::Message },
        Event::TaskCompleted { result: result(), channel: ReportChannel::LeftBehind },
        Event::StoryMoved { position: Box::new(position()) },
        Event::TaskLogged { entry },
        Event::TaskLogged { entry: long },
        Event::DelegationRequested { handoff: handoff(), sandbox: SandboxLevel::Landlock },
        Event::DelegationAccepted {},
        Event::DelegationRejected { reason: "No plan".into() },
        Event::TaskAnswered { text: "yes".into() },
        Event::TaskAsked { question: "which?".into(), suggestion: None },
        Event::TaskAsked { question: "which?".into(), suggestion: Some("b".into()) },
        Event::RunAsked { permit: Box::new(permit()) },
        answered(),
        Event::EpicNoted {
            epic: EpicId::parse("E1").expect("a good id"),
            at: stamp(),
            text: "x".into(),
        },
        started(RunPlace::Here),
        started(RunPlace::Elsewhere),
        started(RunPlace::Node(NodeId::parse("mac").expect("a good name"))),
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
        refused_host(),
        Event::RunParked {
            attempt: 1,
            fence: 1,
            parked: Box::new(parked()),
            not_before: Some(time()),
        },
        Event::AgentFreed { agent: agent("swe") },
        Event::TaskRetried {},
        Event::RunSalvaged { file: "run_result.json".into(), reason, text: None },
        Event::SalvageApplied { file: "7-message.json".into() },
        Event::DispatchRefused { reason, detail: "d".into() },
        moved(TransitionCause::Held(BlockedBy::Dependency)),
        Event::CommandRefused { command: "task move".into(), reason },
        Event::AccessRefused { reason, detail: "GET /v1/tasks".into(), count: 1 },
        kept(None),
        kept(Some(id(1))),
        Event::FleetDecider { node: NodeId::parse("mac").expect("a good name") },
        Event::FolderAdopted { tasks: 0 },
        Event::LogRestored { kept: EventId(3), missing: EventId(5) },
    ];
    all.extend(work());
    all.extend(notified());
    all.extend(MessageType::ALL.map(|kind| {
        let received = ReceivedMessage::Message { kind, to: to.clone(), sent_at: stamp() };
        Event::MessageReceived(received)
    }));
    let document =
        |kind| Event::MessageReceived(ReceivedMessage::Document { kind, id: "T1".into() });
    all.extend(DocumentKind::ALL.map(document));
    all.extend(ends());
    let warned = |reason: &Reason| Event::MessageWarned { reason: *reason, detail: "d".into() };
    all.extend(Reason::ALL.iter().map(warned));
    all
}

fn notified() -> Vec<Event> {
    let (rule, target, about) = ("ops".to_owned(), "webhook".to_owned(), EventId(7));
    let (kind, reason) = (adjutant_model::notice::NoticeKind::Review, "no answer".to_owned());
    let sent = |kind| Event::NotifySent {
        rule: "ops".into(),
        target: "console".into(),
        kind,
        about,
        tries: 1,
    };
    let mut all: Vec<Event> = adjutant_model::notice::NoticeKind::ALL.map(sent).into();
    all.push(Event::NotifyFailed { rule, target, kind, about, tries: 20, reason });
    all
}

fn answered() -> Event {
    let (attempt, fence, number) = (1, 1, 1);
    Event::RunAnswered { attempt, fence, number, choice: None, allowed: false, note: "no".into() }
}

fn permit() -> PermissionRequest {
    let choices =
        vec![PermissionChoice { id: "a".into(), name: "A".into(), kind: ChoiceKind::AllowOnce }];
    PermissionRequest { attempt: 1, fence: 1, number: 1, since: time(), text: "x".into(), choices }
}

fn kept(about: Option<TaskId>) -> Event {
    let (key, request) = ("00ff".to_owned(), "ff00".to_owned());
    Event::RequestKept { key, request, about, events: vec![EventId(7)] }
}

/// A new type of event is a compile error here: it needs a sample, a schema and a docs page.
fn is_known(event: &Event) -> bool {
    match event {
        Event::MessageReceived(_)
        | Event::TaskAsked { .. }
        | Event::EpicNoted { .. }
        | Event::MessageRejected { .. }
        | Event::MessageUnknown { .. }
        | Event::MessageWarned { .. }
        | Event::TaskCreated { .. }
        | Event::TaskEdited { .. }
        | Event::TaskRemoved {}
        | Event::TaskTransitioned { .. }
        | Event::TaskCompleted { .. }
        | Event::StoryMoved { .. }
        | Event::TaskLogged { .. }
        | Event::DelegationRequested { .. }
        | Event::DelegationAccepted {}
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
        | Event::HostRefused { .. }
        | Event::AgentFreed { .. }
        | Event::TaskRetried {}
        | Event::RunDeferred { .. }
        | Event::WorkClaimed { .. }
        | Event::WorkChecked { .. }
        | Event::WorkSaved { .. }
        | Event::ProtectedAllowed { .. }
        | Event::ChecksAccepted { .. }
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
        | Event::FolderAdopted { .. }
        | Event::LogRestored { .. } => true,
    }
}

fn line(event: Event, actor: Actor, task: Option<TaskId>, prev: Option<ShortHash>) -> Value {
    let happened = NewEvent { actor, task, event };
    let recorded = RecordedEvent { id: EventId(1), at: time(), node: None, new_event: happened };
    serde_json::from_str(&encode(&recorded, prev)).expect("a line is JSON")
}

/// Closes every object of a schema, so that an unlisted field is an error.
fn closed(mut schema: Value) -> Value {
    schema["unevaluatedProperties"] = json!(false);
    let payloads = schema["oneOf"].as_array_mut().expect("a list").iter_mut();
    payloads.for_each(|branch| close(&mut branch["properties"]["payload"]));
    schema["$defs"].as_object_mut().expect("an object").values_mut().for_each(close);
    schema
}

fn close(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    if object.get("type").is_some_and(|kind| kind == "object") {
        object.entry("additionalProperties").or_insert(json!(false));
    }
    if let Some(Value::Array(branches)) = object.get_mut("anyOf") {
        branches.iter_mut().for_each(close);
    }
}

#[test]
fn event_samples_are_valid_and_have_no_unlisted_field() {
    let closed = closed(schema("events"));
    let closed = jsonschema::draft202012::new(&closed).expect("a schema that can be used");
    let valid = validator("events");
    for event in samples() {
        assert!(is_known(&event));
        let line =
            line(event, Actor::Agent(agent("swe")), Some(id(1)), Some(ShortHash::digest(b"x")));
        assert_eq!(complaints(&valid, &line), [""; 0], "{line}");
        assert_eq!(complaints(&closed, &line), [""; 0], "{line}");
    }
}

#[test]
fn event_actor_can_be_of_any_kind() {
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
fn event_schema_lists_exactly_the_written_types() {
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
fn demo_events_are_valid() {
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
fn event_schema_refuses_lines_that_are_no_events() {
    let valid = validator("events");
    let good = line(
        Event::TaskCreated { task: Box::new(full()), body: None, limits: None },
        Actor::System,
        Some(id(1)),
        Some(ShortHash::digest(b"x")),
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
