//! A sample of every request in every shape.

use std::collections::BTreeMap;

use adjutant_core::account::{Told, Trouble, Usage};
use adjutant_core::command::{Caller, Changes, Chore, NewTask, Start};
use adjutant_core::constraints::WorkspaceFacts;
use adjutant_core::dialect::DocumentKind;
use adjutant_core::evidence::Evidence;
use adjutant_core::input::{Asked, Notified, Refused, StoryFacts, Told as Delivery};
use adjutant_core::notice;
use adjutant_core::pipeline::{Hold, Position, Reason as StoryReason, Step, StoryId};
use adjutant_core::run::Exit;
use adjutant_core::task::{Review, Routing};
use adjutant_core::work::Merged;
use adjutant_core::{Actor, Command, EventId, Priority, Reason, Status, pipeline};
use adjutant_store::EffectId;
use adjutant_test_support::assert_every_variant;

use super::samples::{agent, alice, choices, evidence, node, other_task, task, time};
use crate::engine::Request;

const TOKEN: &str = "3-0123456789abcdef0123456789abcdef";

/// Returns every command, each in every shape.
pub(crate) fn every_command() -> Vec<Command> {
    let (id, reason) = (task(), "because \"so\"".to_owned());
    let edit = |changes| Command::Edit { id: task(), changes: Box::new(changes) };
    let mut all = vec![
        Command::Add(Box::new(NewTask { title: "Mend it".into(), ..NewTask::default() })),
        Command::Add(Box::new(full_task())),
        edit(Changes::default()),
        edit(full_changes()),
        edit(clearing_changes()),
        Command::Approve { id: id.clone(), note: "Looks good".into() },
        Command::Reject { id: id.clone(), reason: reason.clone() },
        Command::Cancel { id: id.clone(), reason: reason.clone() },
        Command::Retry { id: id.clone() },
        Command::Answer { id: id.clone(), text: "Take A.\nIt is faster.".into() },
        Command::Take { agent: agent() },
        Command::Free { agent: agent() },
        Command::ApplySalvage { id: id.clone(), name: "7-message.json".into(), text: None },
    ];
    let to = |to| Command::Move { id: id.clone(), to, reason: reason.clone() };
    all.extend(Status::ALL.map(to));
    all.extend(Chore::ALL.map(Command::Chore));
    assert_every_variant!(
        &all,
        Command {
            Add,
            Edit,
            Move,
            Approve,
            Reject,
            Cancel,
            Retry,
            Chore,
            Answer,
            Take,
            Free,
            ApplySalvage,
        }
    );
    assert_every_variant!(
        &Chore::ALL,
        Chore { Mend, Tick, Up, Down, Test, Fetch, Export, Undo, Restore }
    );
    all
}

/// Written out without `..`, so that a new field needs a sample. The mode is not sent.
fn full_task() -> NewTask {
    NewTask {
        title: "Mend it".into(),
        body: "Do it\nwell".into(),
        priority: Priority::High,
        routing: Routing {
            agent: Some(agent()),
            mode: None,
            role: Some("backend".into()),
            tags: vec!["rust".into()],
        },
        parent: Some(other_task()),
        depends_on: vec![other_task()],
        resource: Some("staging".into()),
        due_by: Some(time()),
        review: Review::NotNeeded,
        start: Start::Ready,
        checks: vec!["make test".into()],
    }
}

fn full_changes() -> Changes {
    Changes {
        title: Some("Mend it".into()),
        body: Some("Do it".into()),
        priority: Some(Priority::Low),
        agent: Some(Some(agent())),
        tags: Some(vec!["rust".into()]),
        depends_on: Some(vec![other_task()]),
        parent: Some(Some(other_task())),
        resource: Some(Some("staging".into())),
        due_by: Some(Some(time())),
        review: Some(Review::NotNeeded),
    }
}

/// Changes that take every field away that can be taken away.
fn clearing_changes() -> Changes {
    Changes {
        agent: Some(None),
        tags: Some(vec![]),
        depends_on: Some(vec![]),
        parent: Some(None),
        resource: Some(None),
        due_by: Some(None),
        review: Some(Review::Required),
        ..Changes::default()
    }
}

/// Returns every request that a command sends to a daemon.
pub(crate) fn every_socket_request() -> Vec<Request> {
    let (by, token) = (alice(), TOKEN.to_owned());
    let asked = |choices| Request::PermissionAsked {
        task: task(),
        by: Actor::Agent(agent()),
        token: TOKEN.into(),
        asked: Asked { number: 3, text: "Run `make`".into(), choices },
    };
    let mut all = vec![
        Request::Message(b"AOF/1 {\"type\": \"status.update\"}".to_vec()),
        Request::Message(vec![b'a', 0xff, 0]),
        Request::Inside { task: task(), token: token.clone(), raw: b"AOF/1 {}".to_vec() },
        Request::SessionEnd(None),
        Request::SessionEnd(Some(task())),
        Request::Stories { by: by.clone(), told: None, facts: vec![] },
        Request::LifeSign { task: task(), by: by.clone(), token },
        asked(vec![]),
        asked(choices()),
    ];
    let callers = [Caller::Operator(by.clone()), Caller::InsideRun(by.clone())];
    assert_every_variant!(&callers, Caller { Operator, InsideRun });
    let free = Command::Free { agent: agent() };
    all.extend(callers.map(|by| Request::Command { by, command: free.clone() }));
    let by = Caller::Operator(by);
    let command = |command| Request::Command { by: by.clone(), command };
    all.extend(every_command().into_iter().map(command));
    all
}

/// Returns every request of an engine. All but a tick are also sent between nodes.
pub(crate) fn every_request() -> Vec<Request> {
    let mut all = every_socket_request();
    all.extend(run_requests());
    all.extend(report_requests());
    all.extend(work_requests());
    all.extend(story_requests());
    all.push(Request::Tick { lives: BTreeMap::new() });
    assert_every_variant!(
        &all,
        Request {
            Message,
            Line,
            Inside,
            FromRun,
            Seen,
            SessionEnd,
            RunExited,
            Beat,
            LifeSign,
            PermissionAsked,
            Tick,
            Keyed,
            Refused,
            Notified,
            Stories,
            WorkChecked,
            WorkMerged,
            WorkSaved,
            Command,
        }
    );
    all
}

fn line(kind: Option<DocumentKind>, flaw: Option<&str>) -> Request {
    Request::Line {
        task: task(),
        attempt: 2,
        fence: 3,
        seq: 4,
        text: "AOF/1 {}".into(),
        kind,
        flaw: flaw.map(str::to_owned),
    }
}

fn run_requests() -> Vec<Request> {
    let mut all = vec![line(None, None)];
    all.extend(DocumentKind::ALL.map(|kind| line(Some(kind), Some("it is cut off"))));
    all.push(Request::FromRun { task: task(), token: TOKEN.into(), raw: b"{}".to_vec() });
    all.push(Request::Beat { task: task(), fence: 3 });
    let exited = |exit, told| Request::RunExited {
        task: task(),
        fence: 3,
        exit,
        tail: "last line".into(),
        told: Box::new(told),
    };
    let exits = [
        Exit::Code(0),
        Exit::Signal(9),
        Exit::TimedOut,
        Exit::Idle,
        Exit::OverBudget,
        Exit::Stopped,
        Exit::Lost,
        Exit::NotStarted("no such file".into()),
        Exit::NoWorkspace("no git".into()),
    ];
    assert_every_variant!(
        &exits,
        Exit { Code, Signal, TimedOut, Idle, OverBudget, Stopped, Lost, NotStarted, NoWorkspace }
    );
    all.extend(exits.map(|exit| exited(exit, Told::default())));
    let told = |trouble| Told {
        session: Some("c7d4-11".into()),
        usage: Usage { input: 1200, output: 340, cached: 800, cost: 1_234_567 },
        trouble: Some(trouble),
        warning: Some("version 9 was not tried".into()),
    };
    let limited = |until| Trouble::Limited { until, reason: "usage limit reached".into() };
    let unusable = Trouble::Unusable { reason: "not logged in".into() };
    let troubles = [limited(None), limited(Some(time())), unusable];
    assert_every_variant!(&troubles, Trouble { Limited, Unusable });
    all.extend(troubles.map(|trouble| exited(Exit::Code(1), told(trouble))));
    all
}

fn report_requests() -> Vec<Request> {
    let seen = |workspace| Request::Seen { workspace, of: Box::new(line(None, None)) };
    let full = WorkspaceFacts {
        files_changed: vec!["src/a.rs".into()],
        commits: 1,
        manifests_changed: vec!["Cargo.toml".into()],
        outputs_missing: vec!["out/r.md".into()],
        unchecked: Some("no git".into()),
    };
    let refused = |task| {
        let (reason, detail) = (Reason::NotYourTask, "GET /v1/tasks".into());
        Request::Refused(Refused { by: Actor::Router, task, reason, detail, count: 2 })
    };
    let notified = |kind, task, told| Request::Notified {
        done: EffectId { event: EventId(9), place: 1 },
        notified: Box::new(Notified {
            rule: "ops".into(),
            target: "webhook".into(),
            kind,
            about: EventId(8),
            task,
            tries: 2,
            told,
        }),
    };
    let (sent, given_up) = (Delivery::Sent, Delivery::GivenUp("no answer".into()));
    assert_every_variant!([&sent, &given_up], Delivery { Sent, GivenUp });
    let mut all = vec![
        seen(WorkspaceFacts::default()),
        seen(full),
        Request::Keyed {
            key: "00ff".into(),
            digest: "ff00".into(),
            of: Box::new(Request::SessionEnd(None)),
        },
        refused(None),
        refused(Some(task())),
        notified(notice::Kind::Refused, None, given_up),
    ];
    let told = |kind| notified(kind, Some(task()), sent.clone());
    all.extend(notice::Kind::ALL.map(told));
    all
}

fn work_requests() -> Vec<Request> {
    let checked =
        |evidence| Request::WorkChecked { task: task(), fence: 3, evidence: Box::new(evidence) };
    let results = [
        Merged::Done {
            base: "main".into(),
            commit: "0123456789abcdef".into(),
            evidence: evidence(),
        },
        Merged::Refused { reason: "merge conflict".into(), files: vec!["src/a.rs".into()] },
        Merged::Waits { reason: "the work tree is not clean".into() },
    ];
    assert_every_variant!(&results, Merged { Done, Refused, Waits });
    let reference = "refs/adjutant/salvage/TASK-2026-02-09-001/2".to_owned();
    let mut all = vec![
        checked(Evidence::default()),
        checked(evidence()),
        Request::WorkSaved { task: task(), reference, commit: "0123456789abcdef".into() },
    ];
    let merged = |merged| Request::WorkMerged { task: task(), merged: Box::new(merged) };
    all.extend(results.map(merged));
    all
}

fn story_requests() -> Vec<Request> {
    let story = |text: &str| StoryId::parse(text).expect("a story id");
    let full = Position {
        story: story("US-005"),
        step: Step::Impl,
        attempt: 2,
        max_attempts: 5,
        status: pipeline::Status::NeedsHuman,
        reason: Some(StoryReason::ScopeWarning),
        hold: Some(Hold::Stuck),
        auto: true,
        waits_for: vec![story("US-003")],
        fence: Some(3),
        error: Some("two tests fail".into()),
        node: Some(node()),
    };
    let bare = Position {
        reason: None,
        hold: None,
        waits_for: vec![],
        fence: None,
        error: None,
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
