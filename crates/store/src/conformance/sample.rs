//! Tasks and events for the suite.

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
use adjutant_core::pipeline::Position;
use adjutant_core::policy::Merge;
use adjutant_core::run::{Exit, Place};
use adjutant_core::task::{LastRun, Lease, Review, Routing, State, Task};
use adjutant_core::trials::{BlockedBy, Expired, Failure, OpenRun, Question, Trials};
use adjutant_core::worklog::Entry;
use adjutant_core::{
    Actor, AgentId, Event, EventId, NodeId, Priority, Stamp, Status, TaskId, Time,
};
use serde_json::json;

pub(super) fn id(number: u64) -> TaskId {
    TaskId::parse(&format!("TASK-2026-02-09-{number:03}")).expect("a good id")
}

pub(super) fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a good name")
}

pub(super) fn path(text: &str) -> RelPath {
    RelPath::parse(text).expect("a good path")
}

fn time(text: &str) -> Time {
    Time::parse(text).expect("a good time")
}

fn stamp(text: &str) -> Stamp {
    Stamp::parse(text).expect("a good time")
}

/// A task with no more than it needs.
pub(super) fn task(number: u64, status: Status) -> Task {
    let made = time("2026-02-09T20:00:00.000Z");
    let made_by = Actor::Human("alice".into());
    let new = Task::new(id(number), &format!("Task {number}"), &made_by, made);
    Task { state: State::entered(status), ..new }
}

/// A task with all it can have, in progress.
pub(super) fn full_task(number: u64) -> Task {
    Task {
        title: "Mend \"it\": all # of it".into(),
        state: State::InProgress(Some(Lease {
            agent: agent("swe"),
            acquired_at: time("2026-02-09T20:10:00.000Z"),
            expires_at: time("2026-02-09T20:15:00.000Z"),
            renew_count: 3,
            attempt: 2,
            fence: 7,
        })),
        priority: Priority::High,
        routing: Routing {
            agent: Some(agent("swe")),
            mode: Some("code".into()),
            role: Some("backend".into()),
            tags: vec!["rust".into(), "no".into()],
        },
        parent: Some(id(1)),
        depends_on: vec![id(1), id(2)],
        resource: Some("staging".into()),
        due_by: Some(time("2026-02-10T12:00:00.000Z")),
        review: Review::NotNeeded,
        depth: 1,
        last_run: Some(LastRun { agent: agent("old"), attempt: 1, fence: 6 }),
        reported_by: Some(agent("old")),
        reported_fence: Some(6),
        feedback: Some("Again:\nwith tests".into()),
        trials: full_trials(),
        foreign: Some(Box::new(foreign())),
        ..task(number, Status::InProgress)
    }
}

/// Everything the scheduler can note.
fn full_trials() -> Trials {
    let failure = |attempt, reason: &str| Failure { attempt, reason: reason.into() };
    Trials {
        open: Some(OpenRun { agent: agent("swe"), attempt: 2, fence: 7 }),
        node: Some(node("mac")),
        failures: vec![
            failure(1, "stale_heartbeat"),
            failure(2, "exit code 1: \"no\"\nlast: line"),
        ],
        not_before: Some(time("2026-02-09T20:20:00.000Z")),
        expired: Some(Expired { at: time("2026-02-09T20:05:00.000Z"), reason: "a: b".into() }),
        blocked_by: Some(BlockedBy::Dependency),
        reason: Some("waits for: it".into()),
        answer: Some("Yes.\n- and no".into()),
        question: Some(Box::new(Question {
            text: "Which: a or b?".into(),
            suggestion: Some("Ask".into()),
        })),
        permit: Some(Box::new(permit())),
        checks: None,
        work: None,
        account: Some(Box::new(full_account())),
    }
}

/// A question a run waits with.
fn permit() -> Permit {
    let choice = |id: &str, kind| Choice { id: id.into(), name: format!("{id}: so"), kind };
    Permit {
        attempt: 2,
        fence: 7,
        number: 3,
        since: time("2026-02-09T20:10:00.000Z"),
        text: "Run: \"rm -r x\"\nnow".into(),
        choices: vec![choice("yes", ChoiceKind::AllowOnce), choice("no", ChoiceKind::RejectOnce)],
    }
}

/// Everything that agents can have told.
fn full_account() -> Account {
    let usage = Usage { input: 1_200, output: 30, cached: 1_000, cost: 263_805 };
    Account {
        session: Some(Session {
            agent: agent("swe"),
            id: "c7d4-\"0\"".into(),
            node: Some(node("mac")),
        }),
        parked: vec![parked()],
        spent: vec![Spent { day: "2026-02-09".into(), agent: agent("swe"), usage }],
        budget: Budget { tokens: Some(100_000), cost: Some(2_500_000) },
    }
}

fn parked() -> Parked {
    Parked {
        agent: agent("swe"),
        until: Some(time("2026-02-09T23:00:00.000Z")),
        reason: "limit: reached".into(),
        settings: 0xfe,
        node: Some(node("mac")),
    }
}

/// What was found out about work.
fn evidence() -> Box<Evidence> {
    Box::new(Evidence {
        branch: Some("adjutant/x".into()),
        base: Some("main".into()),
        commit: Some("0123".into()),
        dirty: true,
        changes: Some(Changes { files: 1, insertions: 2, deletions: 3 }),
        checks: vec![Check {
            command: "make \"test\"".into(),
            exit: Exit::Code(2),
            duration_ms: 12,
            tail: "no\nnot at all".into(),
            log: "checks/1.log".into(),
        }],
        flaw: Some("odd".into()),
    })
}

/// Everything that can happen to work.
fn work() -> Vec<Event> {
    let (attempt, fence, not_before) = (2, 7, time("2026-02-09T21:35:00.000Z"));
    vec![
        Event::RunAsked { permit: Box::new(permit()) },
        Event::RunAnswered {
            attempt,
            fence,
            number: 3,
            choice: Some("yes".into()),
            allowed: true,
            note: "once".into(),
        },
        Event::RunDeferred { attempt, fence, reason: "no: git".into(), not_before },
        Event::WorkClaimed {
            attempt,
            fence,
            outcome: Outcome::Partial,
            reason: "so far".into(),
            merge: Some(Merge::Rebase),
        },
        Event::WorkChecked { attempt, fence, evidence: evidence() },
        Event::WorkSaved { reference: "refs/adjutant/salvage/x/2".into(), commit: "0123".into() },
        Event::MergeRequested { note: "approved".into() },
        Event::MergeWaiting { reason: "a.txt is changed".into() },
        Event::MergeRefused { reason: "conflict".into(), files: vec!["a\nb.txt".into()] },
        Event::WorkMerged { base: "main".into(), commit: "45".into(), evidence: evidence() },
    ]
}

/// Ids that others know a task by.
fn foreign() -> Foreign {
    let mission = json!({"task_id": "T042", "epic_id": "E005", "prd_id": "PRD-001"});
    let delegation = json!({"taskId": "API-SPEC-001"});
    let story = json!({
        "id": "US-005", "step": "impl", "attempt": 2, "maxAttempts": 5, "status": "failing",
        "auto": true, "reason": "scope_warning", "waitsFor": ["US-003"], "fence": 7,
        "lastError": "two: tests fail", "node": "mini",
    });
    let read = Foreign::read(Some(&mission), Some(&delegation), Some(&story));
    read.expect("it says something")
}

/// The story of a task came elsewhere.
pub(super) fn story_moved(number: u64) -> Happened {
    let story = json!({"id": "US-005", "step": "review", "attempt": 1, "maxAttempts": 1,
        "status": "needs_human", "auto": true, "waitingFor": "review"});
    let position = Position::read(&story).expect("it makes sense");
    happened(number, Event::StoryMoved { position: Box::new(position) })
}

pub(super) fn happened(number: u64, event: Event) -> Happened {
    Happened { actor: Actor::human("alice"), task: Some(id(number)), event }
}

pub(super) fn created(task: Task, body: &str) -> Happened {
    let number = task.id.number().expect("a task of the suite has a number");
    happened(number, Event::TaskCreated { task: Box::new(task), body: Some(body.to_owned()) })
}

pub(super) fn edited(task: Task, changed: &[&str], body: Option<&str>) -> Happened {
    let number = task.id.number().expect("a task of the suite has a number");
    let changed = changed.iter().map(ToString::to_string).collect();
    let body = body.map(str::to_owned);
    happened(number, Event::TaskEdited { task: Box::new(task), changed, body })
}

pub(super) fn moved(number: u64, from: Status, to: Status) -> Happened {
    let (reason, manner) = ("because".to_owned(), Manner::Ruled);
    happened(number, Event::TaskTransitioned { from, to, reason, manner })
}

pub(super) fn moved_by_hand(number: u64, from: Status, to: Status) -> Happened {
    let (reason, manner) = ("moved by hand".to_owned(), Manner::ByHand);
    happened(number, Event::TaskTransitioned { from, to, reason, manner })
}

pub(super) fn logged(number: u64, progress: &str) -> Happened {
    let entry = Entry {
        at: stamp("2026-02-09T23:05:00+02:00"),
        progress: Some(progress.to_owned()),
        notes: None,
        blockers: vec![],
    };
    happened(number, Event::TaskLogged { entry })
}

pub(super) fn removed(number: u64) -> Happened {
    happened(number, Event::TaskRemoved)
}

pub(super) fn result(number: u64, notes: &str) -> RunResult {
    RunResult {
        task: id(number),
        agent: agent("swe"),
        completed_at: stamp("2026-02-09T21:10:00.000Z"),
        completion: Completion {
            outcome: Outcome::Done,
            summary_ref: path("outputs/summary.md"),
            deliverables: vec![path("src/a.rs")],
            tests: TestReport { total: 10, passed: 9, failed: 1 },
            blockers: vec!["a key".into()],
            notes: notes.to_owned(),
        },
    }
}

pub(super) fn completed(number: u64, notes: &str) -> Happened {
    let (result, channel) = (Box::new(result(number, notes)), Channel::Message);
    happened(number, Event::TaskCompleted { result, channel })
}

pub(super) fn completed_by_file(number: u64, notes: &str) -> Happened {
    let (result, channel) = (Box::new(result(number, notes)), Channel::LeftBehind);
    happened(number, Event::TaskCompleted { result, channel })
}

pub(super) fn handed_on(child: u64, parent: u64) -> Happened {
    let handoff = Handoff {
        task: id(child),
        parent: id(parent),
        from: agent("swe"),
        to: agent("qa"),
        acceptance_criteria: vec!["All tests pass".into()],
        expected_outputs: vec![path("tests/report.md")],
        context_refs: vec![],
        constraints: vec!["No new dependencies".into()],
        due_by: stamp("2026-02-10T12:00:00.000Z"),
    };
    happened(child, Event::DelegationRequested { handoff: Box::new(handoff) })
}

pub(super) fn salvaged(number: u64) -> Happened {
    let (file, reason) = ("run_result.json".to_owned(), Reason::InvalidRunResult);
    happened(number, Event::RunSalvaged { file, reason, text: None })
}

pub(super) fn came_too_late(number: u64, text: &str) -> Happened {
    let (file, reason) = ("message.json".to_owned(), Reason::StaleRun);
    happened(number, Event::RunSalvaged { file, reason, text: Some(text.to_owned()) })
}

fn node(name: &str) -> NodeId {
    NodeId::parse(name).expect("a good name")
}

/// Everything that can happen to a run, from a ready task back to one.
pub(super) fn run(number: u64) -> Vec<Happened> {
    let (agent, attempt, fence) = (agent("swe"), 1, 1);
    let sender = agent.clone();
    let expires_at = time("2026-02-09T21:30:00.000Z");
    let (exit, reason) = (Exit::NotStarted("no: file".into()), "tail\nof it".to_owned());
    let all = [
        Event::RunStarted { agent: agent.clone(), attempt, fence, expires_at, place: Place::Here },
        Event::RunStarted {
            agent: agent.clone(),
            attempt,
            fence,
            expires_at,
            place: Place::Elsewhere,
        },
        Event::RunStarted { agent, attempt, fence, expires_at, place: Place::Node(node("mac")) },
        Event::RunHeartbeat { fence, expires_at: time("2026-02-09T21:35:00.000Z") },
        Event::RunExited { attempt, fence, exit, reason: reason.clone() },
        Event::RunFailed { attempt, fence, reason, not_before: Some(expires_at) },
        Event::RunUsage {
            agent: sender.clone(),
            attempt,
            fence,
            session: Some("c7d4".into()),
            usage: Usage { input: 10, output: 2, cached: 1, cost: 7 },
            warning: Some("version 9 was not tried".into()),
        },
        Event::RunParked {
            attempt,
            fence,
            parked: Box::new(Parked { until: None, ..parked() }),
            not_before: None,
        },
        Event::AgentFreed { agent: sender },
        Event::TaskRetried,
        Event::RunSalvaged { file: "message.json".into(), reason: Reason::StaleRun, text: None },
        Event::TaskAnswered { text: "Yes.\nDo it.".into() },
        Event::TaskAsked {
            question: Box::new(Question { text: "Which?".into(), suggestion: None }),
        },
        Event::EpicNoted {
            epic: EpicId::parse("E005").expect("a good id"),
            at: stamp("2026-02-09T23:05:00+02:00"),
            text: "Use\nbcrypt".into(),
        },
    ];
    let mut run = vec![moved(number, Status::Ready, Status::InProgress)];
    run.extend(all.into_iter().map(|event| happened(number, event)));
    run.push(moved(number, Status::InProgress, Status::Ready));
    run
}

/// Says that a person let a report count that came too late.
pub(super) fn salvage_applied(number: u64, file: &str) -> Happened {
    happened(number, Event::SalvageApplied { file: file.to_owned() })
}

/// Events that tell something and change no task.
pub(super) fn said(number: u64) -> Vec<Happened> {
    let reason = Reason::InvalidEnvelope;
    let problems = vec![Problem::new("payload.tests.total", "is required"), Problem::new("", "x")];
    let received = Event::MessageReceived {
        kind: Kind::StatusUpdate,
        to: agent("dispatcher"),
        sent_at: stamp("2026-02-09T23:05:00+02:00"),
    };
    let document = Event::DocumentReceived { kind: DocumentKind::Result, id: "T042".to_owned() };
    let about = [
        received,
        document,
        Event::MessageRejected { reason, problems },
        Event::MessageUnknown { kind: "custom.talk".into() },
        Event::MessageWarned { reason, detail: "odd \"thing\"".into() },
        Event::DelegationAccepted,
        Event::DelegationRejected { reason: "no time".into() },
        Event::CommandRefused { command: "approve".into(), reason },
        Event::DispatchRefused { reason: Reason::DependencyCycle, detail: "waits".into() },
        Event::AccessRefused { reason, detail: "GET /v1/tasks".into(), count: 2 },
        Event::RequestKept {
            key: "00ff".into(),
            request: "ff00".into(),
            about: Some(id(number)),
            events: vec![EventId(1), EventId(2)],
        },
        Event::NotifySent {
            rule: "ops".into(),
            target: "webhook".into(),
            kind: notice::Kind::Review,
            about: EventId(1),
            tries: 2,
        },
        Event::NotifyFailed {
            rule: "ops".into(),
            target: "webhook".into(),
            kind: notice::Kind::Deadletter,
            about: EventId(1),
            tries: 20,
            reason: "no answer".into(),
        },
    ];
    let mut all: Vec<Happened> = about.into_iter().map(|event| happened(number, event)).collect();
    let event = Event::FolderAdopted { tasks: 3 };
    all.push(Happened { actor: Actor::System, task: None, event });
    let event = Event::FleetDecider { node: node("mac") };
    all.push(Happened { actor: Actor::System, task: None, event });
    all
}

/// Events of every kind but a removal, about tasks 1 to 3, in an order that makes sense.
pub(super) fn every_kind() -> Vec<Happened> {
    use Status::{InProgress, Ready, Review as InReview};
    let mut all = vec![
        created(task(1, Ready), "First.\n"),
        created(task(2, Ready), ""),
        created(full_task(3), "Third.\n"),
        moved(1, Ready, InProgress),
        logged(1, "half\nway"),
        completed(1, "fine"),
        moved(1, InProgress, InReview),
        moved(1, InReview, Ready),
        completed_by_file(3, "left"),
        handed_on(2, 1),
        edited(Task { title: "Other".into(), ..task(2, Ready) }, &["title"], Some("New.\n")),
        story_moved(1),
        salvaged(1),
        came_too_late(1, "{}\n"),
    ];
    all.extend(run(1));
    all.push(salvage_applied(1, "19-message.json"));
    all.extend(work().into_iter().map(|event| happened(1, event)));
    all.extend(said(1));
    for one in &all {
        is_listed(&one.event);
    }
    all
}

/// Does nothing; a new kind of event does not compile here until it is in the list above. Only
/// a removal is not in it, because somebody must take the file away first.
fn is_listed(event: &Event) {
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
        | Event::FolderAdopted { .. } => {}
    }
}
