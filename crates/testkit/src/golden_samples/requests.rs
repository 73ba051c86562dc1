//! Samples of every request in every shape.

use std::collections::BTreeMap;
use std::time::Duration;

use adjutant_engine::engine::{EngineRequest, Request};
use adjutant_model::command::{
    CommandCaller, ImportedTask, InitialStatus, NewTask, OperatorAction, TaskChanges, TaskImport,
};
use adjutant_model::constraints::WorkspaceFacts;
use adjutant_model::document::DocumentKind;
use adjutant_model::evidence::WorkEvidence;
use adjutant_model::request::{
    AskedPermission, DeliveryResult as Delivery, IdempotencyKey, MessageOrigin, NoticeDelivery,
    RefusedAccess, StoryFacts,
};
use adjutant_model::review::ReviewPolicy;
use adjutant_model::run::RunExit;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::story::{
    Step, StepFailReason as StoryReason, StoryHold, StoryId, StoryPosition,
};
use adjutant_model::task::TaskRouting;
use adjutant_model::time_limits::{DurationLimit, TaskTimeLimits};
use adjutant_model::usage::{AgentTelemetry, AgentTrouble, TokenUsage, UsageBudget};
use adjutant_model::work::MergeResult;
use adjutant_model::{Actor, Command, EventId, Priority, Reason, Status};
use adjutant_store::EffectId;
use adjutant_test_support::assert_every_variant;

use super::{agent, alice, choices, evidence, node, other_task, task, time};

const TOKEN: &str = "3-0123456789abcdef0123456789abcdef";

/// Returns every command, each in every shape.
pub fn every_command() -> Vec<Command> {
    let (id, reason) = (task(), "because \"so\"".to_owned());
    let edit = |changes| Command::Edit { id: task(), changes: Box::new(changes) };
    let mut all = vec![
        Command::Add(Box::new(NewTask { title: "Mend it".into(), ..NewTask::default() })),
        Command::Add(Box::new(full_task())),
        Command::Import(full_import()),
        edit(TaskChanges::default()),
        edit(full_changes()),
        edit(clearing_changes()),
        Command::Approve { id: id.clone(), note: "Looks good".into() },
        Command::ApproveProtected { id: id.clone(), note: "Looks good".into() },
        Command::AcceptChecks { id: id.clone(), checks: Some(vec!["make test".into()]) },
        Command::AcceptChecks { id: id.clone(), checks: None },
        Command::Reject { id: id.clone(), reason: reason.clone() },
        Command::Cancel { id: id.clone(), reason: reason.clone() },
        Command::Retry { id: id.clone() },
        Command::Reopen { id: id.clone(), reason: reason.clone() },
        Command::Copy { id: id.clone(), start: InitialStatus::Ready, content: None },
        Command::Answer { id: id.clone(), text: "Take A.\nIt is faster.".into() },
        Command::Take { agent: agent(), nonce: None },
        Command::Free { agent: agent() },
        Command::ApplySalvage { id: id.clone(), name: "7-message.json".into(), text: None },
    ];
    let to = |to| Command::Move { id: id.clone(), to, reason: reason.clone() };
    all.extend(Status::ALL.map(to));
    all.extend(OperatorAction::ALL.map(Command::Chore));
    assert_every_variant!(
        &all,
        Command {
            Add,
            Import,
            Edit,
            Move,
            Approve,
            ApproveProtected,
            AcceptChecks,
            Reject,
            Cancel,
            Retry,
            Reopen,
            Copy,
            Chore,
            Answer,
            Take,
            Free,
            ApplySalvage,
        }
    );
    assert_every_variant!(
        &OperatorAction::ALL,
        OperatorAction {
            Mend,
            Tick,
            Up,
            Down,
            Open,
            Test,
            AllowHost,
            Fetch,
            Export,
            Undo,
            Restore,
            NodeKey,
            Story,
            Trust
        }
    );
    all
}

/// Written out without `..`, so that a new field needs a sample.
fn full_task() -> NewTask {
    NewTask {
        title: "Mend it".into(),
        body: "Do it\nwell".into(),
        priority: Priority::High,
        routing: TaskRouting {
            agent: Some(agent()),
            mode: Some("code".into()),
            role: Some("backend".into()),
            tags: vec!["rust".into()],
            ..TaskRouting::default()
        },
        parent: Some(other_task()),
        depends_on: vec![other_task()],
        resource: Some("staging".into()),
        due_by: Some(time()),
        review: ReviewPolicy::NotNeeded,
        start: InitialStatus::Ready,
        checks: vec!["make test".into()],
        budget: UsageBudget { tokens: Some(100_000), cost: Some(2_500_000) },
        limits: TaskTimeLimits { timeout: Some(hour()), idle_timeout: Some(DurationLimit::Off) },
    }
}

fn full_import() -> TaskImport {
    let first = NewTask { title: "First".into(), ..NewTask::default() };
    let first = ImportedTask { line: 3, task: first, parent: None, depends_on: vec![1] };
    let second = ImportedTask { line: 4, task: full_task(), parent: Some(0), depends_on: vec![] };
    TaskImport { tasks: vec![first, second], repeat: true }
}

fn hour() -> DurationLimit {
    DurationLimit::After(Duration::from_hours(1))
}

fn full_changes() -> TaskChanges {
    TaskChanges {
        title: Some("Mend it".into()),
        body: Some("Do it".into()),
        priority: Some(Priority::Low),
        agent: Some(Some(agent())),
        tags: Some(vec!["rust".into()]),
        depends_on: Some(vec![other_task()]),
        parent: Some(Some(other_task())),
        resource: Some(Some("staging".into())),
        due_by: Some(Some(time())),
        review: Some(ReviewPolicy::NotNeeded),
        mode: Some(Some("code".into())),
        role: Some(Some("backend".into())),
        checks: Some(vec!["make test".into()]),
        budget_tokens: Some(Some(100_000)),
        budget_cost: Some(Some(2_500_000)),
        timeout: Some(Some(hour())),
        idle_timeout: Some(Some(DurationLimit::Off)),
    }
}

/// Changes that clear every field that can be cleared.
fn clearing_changes() -> TaskChanges {
    TaskChanges {
        agent: Some(None),
        tags: Some(vec![]),
        depends_on: Some(vec![]),
        parent: Some(None),
        resource: Some(None),
        due_by: Some(None),
        review: Some(ReviewPolicy::Required),
        mode: Some(None),
        role: Some(None),
        checks: Some(vec![]),
        budget_tokens: Some(None),
        budget_cost: Some(None),
        timeout: Some(None),
        idle_timeout: Some(None),
        ..TaskChanges::default()
    }
}

/// Returns every request that a command sends to a daemon.
pub fn every_socket_request() -> Vec<EngineRequest> {
    let (by, token) = (alice(), TOKEN.to_owned());
    let asked = |choices| Request::PermissionAsked {
        task: task(),
        by: Actor::Agent(agent()),
        token: TOKEN.into(),
        asked: AskedPermission { number: 3, text: "Run `make`".into(), choices },
    };
    let mut all = vec![
        message(MessageOrigin::Outside, b"AOF/1 {\"type\": \"status.update\"}"),
        message(MessageOrigin::Outside, &[b'a', 0xff, 0]),
        message(MessageOrigin::InsideRun { task: task(), token: token.clone() }, b"AOF/1 {}"),
        Request::SessionEnd(None),
        Request::SessionEnd(Some(task())),
        Request::Stories { by: by.clone(), told: None, facts: vec![] },
        Request::LifeSign { task: task(), by: by.clone(), token },
        asked(vec![]),
        asked(choices()),
    ];
    let callers = [CommandCaller::Operator(by.clone()), CommandCaller::InsideRun(by.clone())];
    assert_every_variant!(&callers, CommandCaller { Operator, InsideRun });
    let free = Command::Free { agent: agent() };
    all.extend(callers.map(|by| Request::Command { by, command: free.clone() }));
    let by = CommandCaller::Operator(by);
    let command = |command| Request::Command { by: by.clone(), command };
    all.extend(every_command().into_iter().map(command));
    all.into_iter().map(EngineRequest::from).collect()
}

/// Returns every request of an engine. All but a tick are also sent between nodes.
pub fn every_request() -> Vec<EngineRequest> {
    let mut all: Vec<Request> =
        every_socket_request().into_iter().map(|sent| sent.request).collect();
    all.extend(run_requests());
    all.extend(report_requests());
    all.extend(work_requests());
    all.extend(story_requests());
    all.push(Request::Tick { lives: BTreeMap::new() });
    assert_every_variant!(
        &all,
        Request {
            Message,
            SessionEnd,
            RunExited,
            Beat,
            LifeSign,
            PermissionAsked,
            Tick,
            Refused,
            Notified,
            Stories,
            WorkChecked,
            WorkMerged,
            WorkSaved,
            Command,
        }
    );
    let origins = all.iter().filter_map(|request| match request {
        Request::Message { origin, .. } => Some(origin),
        _ => None,
    });
    assert_every_variant!(origins, MessageOrigin { Outside, InsideRun, RunConnection, RunOutput });
    let mut all: Vec<EngineRequest> = all.into_iter().map(EngineRequest::from).collect();
    all.extend(requests_with_additions());
    all
}

/// Returns requests with everything that is added on the way to the engine.
fn requests_with_additions() -> Vec<EngineRequest> {
    let full = WorkspaceFacts {
        files_changed: vec!["src/a.rs".into()],
        commits: 1,
        manifests_changed: vec!["Cargo.toml".into()],
        outputs_missing: vec!["out/r.md".into()],
        unverified_reason: Some("no git".into()),
    };
    let key = IdempotencyKey { key: "00ff".into(), digest: "ff00".into(), is_repeat: false };
    let inspected =
        |workspace| EngineRequest { workspace: Some(workspace), ..line(None, None).into() };
    vec![
        inspected(WorkspaceFacts::default()),
        inspected(full),
        EngineRequest { key: Some(key), ..Request::SessionEnd(None).into() },
    ]
}

fn message(origin: MessageOrigin, text: &[u8]) -> Request {
    Request::Message { origin, text: text.to_vec() }
}

fn line(kind: Option<DocumentKind>, flaw: Option<&str>) -> Request {
    let flaw = flaw.map(str::to_owned);
    let needs_token = kind.is_none() && flaw.is_none();
    message(run_output(kind, flaw, needs_token, false), b"AOF/1 {}")
}

fn run_output(
    kind: Option<DocumentKind>,
    flaw: Option<String>,
    needs_token: bool,
    from_socket: bool,
) -> MessageOrigin {
    let (task, attempt, fence, seq) = (task(), 2, 3, 4);
    let nonce = Some(RunNonce::from_random(0x5eed));
    MessageOrigin::RunOutput {
        task,
        attempt,
        fence,
        nonce,
        seq,
        kind,
        flaw,
        needs_token,
        from_socket,
        refused: None,
    }
}

fn run_requests() -> Vec<Request> {
    let mut all = vec![line(None, None)];
    all.extend(DocumentKind::ALL.map(|kind| line(Some(kind), Some("it is cut off"))));
    all.push(message(run_output(None, None, false, true), b"{}"));
    let connection = MessageOrigin::RunConnection { task: task(), token: TOKEN.into() };
    all.push(message(connection, b"{}"));
    all.push(Request::Beat { task: task(), fence: 3 });
    let exited = |exit, telemetry| Request::RunExited {
        task: task(),
        fence: 3,
        exit,
        tail: "last line".into(),
        telemetry: Box::new(telemetry),
    };
    let exits = [
        RunExit::Code(0),
        RunExit::Signal(9),
        RunExit::TimedOut,
        RunExit::Idle,
        RunExit::OverBudget,
        RunExit::Stopped,
        RunExit::Lost,
        RunExit::NotStarted("no such file".into()),
        RunExit::NoWorkspace("no git".into()),
    ];
    assert_every_variant!(
        &exits,
        RunExit {
            Code,
            Signal,
            TimedOut,
            Idle,
            OverBudget,
            Stopped,
            Lost,
            NotStarted,
            NoWorkspace
        }
    );
    all.extend(exits.map(|exit| exited(exit, AgentTelemetry::default())));
    let telemetry_of = |trouble| AgentTelemetry {
        session: Some("c7d4-11".into()),
        usage: TokenUsage { input: 1200, output: 340, cached: 800, cost: 1_234_567 },
        trouble: Some(trouble),
        warning: Some("version 9 was not tried".into()),
        refused_hosts: vec!["evil.example:443".into()],
    };
    let limited = |until| AgentTrouble::Limited { until, reason: "usage limit reached".into() };
    let unusable = AgentTrouble::Unusable { reason: "not logged in".into() };
    let troubles = [limited(None), limited(Some(time())), unusable];
    assert_every_variant!(&troubles, AgentTrouble { Limited, Unusable });
    all.extend(troubles.map(|trouble| exited(RunExit::Code(1), telemetry_of(trouble))));
    all
}

fn report_requests() -> Vec<Request> {
    let refused = |task| {
        let (reason, detail) = (Reason::NotYourTask, "GET /v1/tasks".into());
        Request::Refused(RefusedAccess { by: Actor::Router, task, reason, detail, count: 2 })
    };
    let notified = |kind, task, result| Request::Notified {
        done: EffectId { event: EventId(9), place: 1 },
        notified: Box::new(NoticeDelivery {
            rule: "ops".into(),
            target: "webhook".into(),
            kind,
            about: EventId(8),
            task,
            tries: 2,
            result,
        }),
    };
    let (sent, given_up) = (Delivery::Sent, Delivery::GivenUp("no answer".into()));
    assert_every_variant!([&sent, &given_up], Delivery { Sent, GivenUp });
    let mut all = vec![
        refused(None),
        refused(Some(task())),
        notified(adjutant_model::notice::NoticeKind::Refused, None, given_up),
    ];
    let delivered = |kind| notified(kind, Some(task()), sent.clone());
    all.extend(adjutant_model::notice::NoticeKind::ALL.map(delivered));
    all
}

fn work_requests() -> Vec<Request> {
    let checked =
        |evidence| Request::WorkChecked { task: task(), fence: 3, evidence: Box::new(evidence) };
    let results = [
        MergeResult::Done {
            base: "main".into(),
            commit: "0123456789abcdef".into(),
            evidence: evidence(),
        },
        MergeResult::Refused { reason: "merge conflict".into(), files: vec!["src/a.rs".into()] },
        MergeResult::Waits { reason: "the work tree is not clean".into() },
    ];
    assert_every_variant!(&results, MergeResult { Done, Refused, Waits });
    let reference = "refs/adjutant/salvage/TASK-2026-02-09-001/2".to_owned();
    let mut all = vec![
        checked(WorkEvidence::default()),
        checked(evidence()),
        Request::WorkSaved { task: task(), reference, commit: "0123456789abcdef".into() },
    ];
    let merged = |merged| Request::WorkMerged { task: task(), merged: Box::new(merged) };
    all.extend(results.map(merged));
    all
}

fn story_requests() -> Vec<Request> {
    let story = |text: &str| StoryId::parse(text).expect("a story id");
    let full = StoryPosition {
        story: story("US-005"),
        step: Step::Impl,
        attempt: 2,
        max_attempts: 5,
        status: adjutant_model::story::StepStatus::NeedsHuman,
        reason: Some(StoryReason::ScopeWarning),
        hold: Some(StoryHold::Stuck),
        auto: true,
        unaccepted: false,
        waits_for: vec![story("US-003")],
        fence: Some(3),
        error: Some("two tests fail".into()),
        said: Some("Which currency is meant?".into()),
        node: Some(node()),
    };
    let bare = StoryPosition {
        reason: None,
        hold: None,
        waits_for: vec![],
        fence: None,
        error: None,
        said: None,
        node: None,
        ..full.clone()
    };
    let facts = vec![
        StoryFacts { position: bare, title: None, agent: None, taken_up_at: None },
        StoryFacts {
            position: full,
            title: Some("US-005 sums".into()),
            agent: Some(agent()),
            taken_up_at: Some(time()),
        },
    ];
    vec![Request::Stories { by: alice(), told: Some(task()), facts }]
}
