//! Sample tasks and events for the suite.

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
use adjutant_model::task::{Lease, Task, TaskRouting, TaskState};
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::usage::{
    AgentSession, DailyUsage, ParkedAgent, RefusedHost, TaskUsage, TokenUsage, UsageBudget,
};
use adjutant_model::work_log::WorkLogEntry;
use adjutant_model::{
    Actor, AgentId, Event, EventId, NodeId, Priority, Status, TaskId, Time, Timestamp,
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

fn stamp(text: &str) -> Timestamp {
    Timestamp::parse(text).expect("a good time")
}

/// Returns a task with only the required fields.
pub(super) fn task(number: u64, status: Status) -> Task {
    let made = time("2026-02-09T20:00:00.000Z");
    let made_by = Actor::Human("alice".into());
    let new = Task::new(id(number), &format!("Task {number}"), &made_by, made);
    Task { state: TaskState::entered(status), ..new }
}

/// Returns a task in progress that has every field.
pub(super) fn full_task(number: u64) -> Task {
    Task {
        title: "Mend \"it\": all # of it".into(),
        state: TaskState::InProgress(Some(Lease {
            nonce: Some(RunNonce::from_random(0x5eed)),
            agent: agent("swe"),
            acquired_at: time("2026-02-09T20:10:00.000Z"),
            expires_at: time("2026-02-09T20:15:00.000Z"),
            renew_count: 3,
            attempt: 2,
            fence: 7,
        })),
        priority: Priority::High,
        routing: TaskRouting {
            agent: Some(agent("swe")),
            mode: Some("code".into()),
            role: Some("backend".into()),
            tags: vec!["rust".into(), "no".into()],
            ..TaskRouting::default()
        },
        parent: Some(id(1)),
        depends_on: vec![id(1), id(2)],
        resource: Some("staging".into()),
        due_by: Some(time("2026-02-10T12:00:00.000Z")),
        review: ReviewPolicy::NotNeeded,
        depth: 1,
        last_run: Some(RunRef { nonce: None, agent: agent("old"), attempt: 1, fence: 6 }),
        reported_by: Some(agent("old")),
        reported_fence: Some(6),
        feedback: Some("Again:\nwith tests".into()),
        history: full_run_history(),
        origin: Some(Box::new(task_origin())),
        ..task(number, Status::InProgress)
    }
}

/// Returns a run history with every field that the scheduler writes.
fn full_run_history() -> RunHistory {
    let failure = |attempt, reason: &str| FailedAttempt { attempt, reason: reason.into() };
    RunHistory {
        open: Some(RunRef {
            nonce: Some(RunNonce::from_random(0x5eed)),
            agent: agent("swe"),
            attempt: 2,
            fence: 7,
        }),
        node: Some(node("mac")),
        failures: vec![
            failure(1, "stale_heartbeat"),
            failure(2, "exit code 1: \"no\"\nlast: line"),
        ],
        not_before: Some(time("2026-02-09T20:20:00.000Z")),
        expired: Some(ExpiredRun { at: time("2026-02-09T20:05:00.000Z"), reason: "a: b".into() }),
        blocked_by: Some(BlockedBy::Dependency),
        reason: Some("waits for: it".into()),
        answer: Some("Yes.\n- and no".into()),
        question: Some(Box::new(AgentQuestion {
            text: "Which: a or b?".into(),
            suggestion: Some("Ask".into()),
        })),
        permit: Some(Box::new(permission_request())),
        checks: None,
        accepted_checks: None,
        work: None,
        account: Some(Box::new(full_usage())),
    }
}

/// Returns a permission request of a waiting run.
fn permission_request() -> PermissionRequest {
    let choice =
        |id: &str, kind| PermissionChoice { id: id.into(), name: format!("{id}: so"), kind };
    PermissionRequest {
        attempt: 2,
        fence: 7,
        number: 3,
        since: time("2026-02-09T20:10:00.000Z"),
        text: "Run: \"rm -r x\"\nnow".into(),
        choices: vec![choice("yes", ChoiceKind::AllowOnce), choice("no", ChoiceKind::RejectOnce)],
    }
}

/// Returns usage data with every field.
fn full_usage() -> TaskUsage {
    let usage = TokenUsage { input: 1_200, output: 30, cached: 1_000, cost: 263_805 };
    TaskUsage {
        session: Some(AgentSession {
            agent: agent("swe"),
            id: "c7d4-\"0\"".into(),
            node: Some(node("mac")),
        }),
        parked: vec![parked_agent()],
        spent: vec![DailyUsage { day: "2026-02-09".into(), agent: agent("swe"), usage }],
        budget: UsageBudget { tokens: Some(100_000), cost: Some(2_500_000) },
        refused_hosts: vec![RefusedHost { agent: agent("swe"), host: "evil.example:443".into() }],
    }
}

fn parked_agent() -> ParkedAgent {
    ParkedAgent {
        agent: agent("swe"),
        until: Some(time("2026-02-09T23:00:00.000Z")),
        reason: "limit: reached".into(),
        settings: 0xfe,
        node: Some(node("mac")),
    }
}

fn evidence() -> Box<WorkEvidence> {
    Box::new(WorkEvidence {
        branch: Some("adjutant/x".into()),
        base: Some("main".into()),
        commit: Some("0123".into()),
        dirty: true,
        changes: Some(DiffStat { files: 1, insertions: 2, deletions: 3 }),
        protected: vec![".ai/step-rules.yaml".into()],
        checks: vec![CheckResult {
            command: "make \"test\"".into(),
            exit: RunExit::Code(2),
            duration_ms: 12,
            tail: "no\nnot at all".into(),
            log: "checks/1.log".into(),
        }],
        flaw: Some("odd".into()),
        unsettled: true,
    })
}

/// Returns every event about work, its checks and its merge.
fn work_events() -> Vec<Event> {
    let (attempt, fence, not_before) = (2, 7, time("2026-02-09T21:35:00.000Z"));
    vec![
        Event::RunAsked { permit: Box::new(permission_request()) },
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
            outcome: WorkOutcome::Partial,
            reason: "so far".into(),
            merge: Some(MergeMode::Rebase),
        },
        Event::WorkChecked { attempt, fence, evidence: evidence() },
        Event::WorkSaved { reference: "refs/adjutant/salvage/x/2".into(), commit: "0123".into() },
        Event::ProtectedAllowed { files: vec![".ai/step-rules.yaml".into()] },
        Event::ChecksAccepted { checks: Some(vec!["make \"test\"".into()]) },
        Event::ChecksAccepted { checks: None },
        Event::MergeRequested { note: "approved".into() },
        Event::MergeWaiting { reason: "a.txt is changed".into() },
        Event::MergeRefused { reason: "conflict".into(), files: vec!["a\nb.txt".into()] },
        Event::WorkMerged { base: "main".into(), commit: "45".into(), evidence: evidence() },
    ]
}

/// Returns the ids and the story that a task has in other protocols.
fn task_origin() -> TaskOrigin {
    let mission = json!({"task_id": "T042", "epic_id": "E005", "prd_id": "PRD-001"});
    let delegation = json!({"taskId": "API-SPEC-001"});
    let story = json!({
        "id": "US-005", "step": "impl", "attempt": 2, "maxAttempts": 5, "status": "failing",
        "auto": true, "reason": "scope_warning", "waitsFor": ["US-003"], "fence": 7,
        "lastError": "two: tests fail", "node": "mini",
    });
    let read = TaskOrigin::read(Some(&mission), Some(&delegation), Some(&story));
    read.expect("it says something")
}

/// Returns the event of a story that moved to the review step.
pub(super) fn story_moved(number: u64) -> NewEvent {
    let story = json!({"id": "US-005", "step": "review", "attempt": 1, "maxAttempts": 1,
        "status": "needs_human", "auto": true, "waitingFor": "review"});
    let position = serde_json::from_value(story).expect("it makes sense");
    new_event(number, Event::StoryMoved { position: Box::new(position) })
}

pub(super) fn new_event(number: u64, event: Event) -> NewEvent {
    NewEvent { actor: Actor::human("alice"), task: Some(id(number)), event }
}

pub(super) fn created(task: Task, body: &str) -> NewEvent {
    let number = task.id.number().expect("a task of the suite has a number");
    new_event(
        number,
        Event::TaskCreated { task: Box::new(task), body: Some(body.to_owned()), limits: None },
    )
}

pub(super) fn edited(task: Task, changed: &[&str], body: Option<&str>) -> NewEvent {
    let number = task.id.number().expect("a task of the suite has a number");
    let changed = changed.iter().map(ToString::to_string).collect();
    let body = body.map(str::to_owned);
    new_event(number, Event::TaskEdited { task: Box::new(task), changed, body, limits: None })
}

pub(super) fn moved(number: u64, from: Status, to: Status) -> NewEvent {
    let (reason, manner) = ("because".to_owned(), TransitionCause::Ruled);
    new_event(number, Event::TaskTransitioned { from, to, reason, manner })
}

pub(super) fn moved_by_hand(number: u64, from: Status, to: Status) -> NewEvent {
    let (reason, manner) = ("moved by hand".to_owned(), TransitionCause::ByHand);
    new_event(number, Event::TaskTransitioned { from, to, reason, manner })
}

pub(super) fn logged(number: u64, progress: &str) -> NewEvent {
    let entry = WorkLogEntry {
        at: stamp("2026-02-09T23:05:00+02:00"),
        progress: Some(progress.to_owned()),
        notes: None,
        blockers: vec![],
    };
    new_event(number, Event::TaskLogged { entry })
}

pub(super) fn removed(number: u64) -> NewEvent {
    new_event(number, Event::TaskRemoved {})
}

pub(super) fn result(number: u64, notes: &str) -> RunResult {
    RunResult {
        task: id(number),
        agent: agent("swe"),
        completed_at: stamp("2026-02-09T21:10:00.000Z"),
        completion: CompletionReport {
            outcome: WorkOutcome::Done,
            summary_ref: path("outputs/summary.md"),
            handoff_ref: HandoffRef,
            deliverables: vec![path("src/a.rs")],
            tests: TestReport { total: 10, passed: 9, failed: 1 },
            blockers: vec!["a key".into()],
            notes: notes.to_owned(),
        },
    }
}

pub(super) fn completed(number: u64, notes: &str) -> NewEvent {
    let (result, channel) = (Box::new(result(number, notes)), ReportChannel::Message);
    new_event(number, Event::TaskCompleted { result, channel })
}

pub(super) fn completed_by_file(number: u64, notes: &str) -> NewEvent {
    let (result, channel) = (Box::new(result(number, notes)), ReportChannel::LeftBehind);
    new_event(number, Event::TaskCompleted { result, channel })
}

pub(super) fn delegated(child: u64, parent: u64) -> NewEvent {
    let handoff = TaskHandoff {
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
    new_event(
        child,
        Event::DelegationRequested { handoff: Box::new(handoff), sandbox: SandboxLevel::Landlock },
    )
}

pub(super) fn salvaged(number: u64) -> NewEvent {
    let (file, reason) = ("run_result.json".to_owned(), Reason::InvalidRunResult);
    new_event(number, Event::RunSalvaged { file, reason, text: None })
}

pub(super) fn salvaged_message(number: u64, text: &str) -> NewEvent {
    let (file, reason) = ("message.json".to_owned(), Reason::StaleRun);
    new_event(number, Event::RunSalvaged { file, reason, text: Some(text.to_owned()) })
}

fn node(name: &str) -> NodeId {
    NodeId::parse(name).expect("a good name")
}

/// Returns every event about a run, starting and ending with a ready task.
pub(super) fn run_events(number: u64) -> Vec<NewEvent> {
    let (agent, attempt, fence) = (agent("swe"), 2, 7);
    let sender = agent.clone();
    let expires_at = time("2026-02-09T21:30:00.000Z");
    let (exit, reason) = (RunExit::NotStarted("no: file".into()), "tail\nof it".to_owned());
    let all = [
        Event::RunStarted {
            nonce: Some(RunNonce::from_random(0x5eed)),
            agent: agent.clone(),
            attempt,
            fence,
            expires_at,
            place: RunPlace::Here,
            sandbox: SandboxLevel::None,
        },
        Event::RunStarted {
            nonce: Some(RunNonce::from_random(0x5eed)),
            agent: agent.clone(),
            attempt,
            fence,
            expires_at,
            place: RunPlace::Elsewhere,
            sandbox: SandboxLevel::None,
        },
        Event::RunStarted {
            nonce: Some(RunNonce::from_random(0x5eed)),
            agent,
            attempt,
            fence,
            expires_at,
            place: RunPlace::Node(node("mac")),
            sandbox: SandboxLevel::Strict,
        },
        Event::RunHeartbeat { fence, expires_at: time("2026-02-09T21:35:00.000Z") },
        Event::RunExited { attempt, fence, exit, reason: reason.clone() },
        Event::RunFailed { attempt, fence, reason, not_before: Some(expires_at) },
        Event::RunUsage {
            agent: sender.clone(),
            attempt,
            fence,
            session: Some("c7d4".into()),
            usage: TokenUsage { input: 10, output: 2, cached: 1, cost: 7 },
            warning: Some("version 9 was not tried".into()),
        },
        Event::HostRefused {
            agent: sender.clone(),
            attempt,
            fence,
            host: "evil.example:443".into(),
        },
        Event::RunParked {
            attempt,
            fence,
            parked: Box::new(ParkedAgent { until: None, ..parked_agent() }),
            not_before: None,
        },
        Event::AgentFreed { agent: sender },
        Event::TaskRetried {},
        Event::RunSalvaged { file: "message.json".into(), reason: Reason::StaleRun, text: None },
        Event::TaskAnswered { text: "Yes.\nDo it.".into() },
        Event::TaskAsked { question: "Which?".into(), suggestion: None },
        Event::EpicNoted {
            epic: EpicId::parse("E005").expect("a good id"),
            at: stamp("2026-02-09T23:05:00+02:00"),
            text: "Use\nbcrypt".into(),
        },
    ];
    let mut run = vec![moved(number, Status::Ready, Status::InProgress)];
    run.extend(all.into_iter().map(|event| new_event(number, event)));
    run.push(moved(number, Status::InProgress, Status::Ready));
    run
}

/// Returns the event of a late report that a person applied.
pub(super) fn salvage_applied(number: u64, file: &str) -> NewEvent {
    new_event(number, Event::SalvageApplied { file: file.to_owned() })
}

/// Returns events that change no task.
pub(super) fn message_events(number: u64) -> Vec<NewEvent> {
    let reason = Reason::InvalidEnvelope;
    let problems =
        vec![FieldProblem::new("payload.tests.total", "is required"), FieldProblem::new("", "x")];
    let received = Event::MessageReceived(ReceivedMessage::Message {
        kind: MessageType::StatusUpdate,
        to: agent("dispatcher"),
        sent_at: stamp("2026-02-09T23:05:00+02:00"),
    });
    let document = Event::MessageReceived(ReceivedMessage::Document {
        kind: DocumentKind::Result,
        id: "T042".to_owned(),
    });
    let about = [
        received,
        document,
        Event::MessageRejected { reason, problems },
        Event::MessageUnknown { kind: "custom.talk".into() },
        Event::MessageWarned { reason, detail: "odd \"thing\"".into() },
        Event::DelegationAccepted {},
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
            kind: adjutant_model::notice::NoticeKind::Review,
            about: EventId(1),
            tries: 2,
        },
        Event::NotifyFailed {
            rule: "ops".into(),
            target: "webhook".into(),
            kind: adjutant_model::notice::NoticeKind::Deadletter,
            about: EventId(1),
            tries: 20,
            reason: "no answer".into(),
        },
    ];
    let mut all: Vec<NewEvent> = about.into_iter().map(|event| new_event(number, event)).collect();
    let event = Event::FolderAdopted { tasks: 3 };
    all.push(NewEvent { actor: Actor::System, task: None, event });
    let event = Event::LogRestored { kept: EventId(3), missing: EventId(5) };
    all.push(NewEvent { actor: Actor::System, task: None, event });
    let event = Event::FleetDecider { node: node("mac") };
    all.push(NewEvent { actor: Actor::System, task: None, event });
    all
}

/// Returns events of every kind but `TaskRemoved`, about tasks 1 to 3, in a valid order.
pub(super) fn every_event_kind() -> Vec<NewEvent> {
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
        delegated(2, 1),
        edited(Task { title: "Other".into(), ..task(2, Ready) }, &["title"], Some("New.\n")),
        story_moved(1),
        salvaged(1),
        salvaged_message(1, "{}\n"),
    ];
    all.extend(run_events(1));
    all.push(salvage_applied(1, "19-message.json"));
    all.extend(work_events().into_iter().map(|event| new_event(1, event)));
    all.extend(message_events(1));
    for one in &all {
        check_listed(&one.event);
    }
    all
}

/// Does nothing, but fails to compile until a new kind of event is listed here; add it to the list
/// above too. `TaskRemoved` is not in that list, because a file must be removed first.
fn check_listed(event: &Event) {
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
        | Event::LogRestored { .. } => {}
    }
}
