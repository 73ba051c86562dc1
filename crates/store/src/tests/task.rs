//! Sample tasks: one with only the required fields, and one with every field.

use adjutant_model::completion::WorkOutcome;
use adjutant_model::merge_mode::MergeMode;
use adjutant_model::review::ReviewPolicy;
use adjutant_model::run::RunRef;
use adjutant_model::run_history::{BlockedBy, ExpiredRun, FailedAttempt, RunHistory};
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::task::{Lease, TaskRouting, TaskState};
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::usage::{AgentSession, DailyUsage, RefusedHost, TaskUsage, UsageBudget};
use adjutant_model::work::{PendingMerge, RefusedMerge, TaskWork, WorkClaim};
use adjutant_model::{Actor, Priority, Status, Task};
use serde_json::{Value, json};

use super::samples::{
    ATTEMPT, FENCE, agent, bare_parked, choices, full_parked, full_position, id, node,
    permission_request, question, time, usage,
};

pub(crate) fn bare_task(status: Status) -> Task {
    let new = Task::new(id(1), "Mend the parser", &Actor::human("alice"), time("20:00:00.000"));
    Task { state: TaskState::entered(status), ..new }
}

/// Written out without `..`, so that a new field needs a sample.
pub(crate) fn full_task() -> Task {
    Task {
        id: id(1),
        title: "Mend \"it\": all # of it".into(),
        state: TaskState::InProgress(Some(lease())),
        priority: Priority::High,
        created_at: time("20:00:00.000"),
        updated_at: time("20:11:00.001"),
        last_transition_at: time("20:10:00.000"),
        created_by: "human:alice".into(),
        routing: TaskRouting {
            agent: Some(agent("swe")),
            mode: Some("code".into()),
            role: Some("backend".into()),
            tags: vec!["rust".into(), "no".into(), "1.0".into()],
            ..TaskRouting::default()
        },
        parent: Some(id(2)),
        depends_on: vec![id(3), id(4)],
        resource: Some("staging".into()),
        due_by: Some(time("23:00:00.000")),
        review: ReviewPolicy::NotNeeded,
        depth: 1,
        last_run: Some(RunRef { nonce: None, agent: agent("old"), attempt: 1, fence: 6 }),
        reported_by: Some(agent("old")),
        reported_fence: Some(6),
        feedback: Some("Again:\nwith tests".into()),
        history: full_run_history(),
        origin: Some(Box::new(full_origin())),
    }
}

fn lease() -> Lease {
    Lease {
        nonce: Some(RunNonce::from_random(0x5eed)),
        agent: agent("swe"),
        acquired_at: time("20:10:00.000"),
        expires_at: time("20:15:00.000"),
        renew_count: 3,
        attempt: ATTEMPT,
        fence: FENCE,
    }
}

fn full_run_history() -> RunHistory {
    let failure = |attempt, reason: &str| FailedAttempt { attempt, reason: reason.into() };
    RunHistory {
        open: Some(RunRef {
            nonce: Some(RunNonce::from_random(0x5eed)),
            agent: agent("swe"),
            attempt: ATTEMPT,
            fence: FENCE,
        }),
        node: Some(node("mac")),
        failures: vec![failure(1, "stale_heartbeat"), failure(2, "exit code 1: \"no\"\nlast")],
        not_before: Some(time("20:20:00.000")),
        expired: Some(ExpiredRun { at: time("20:05:00.000"), reason: "stale_heartbeat".into() }),
        blocked_by: Some(BlockedBy::Dependency),
        reason: Some("waits for: it".into()),
        answer: Some("Yes.\n- and no".into()),
        question: Some(Box::new(question(Some("Take A")))),
        permit: Some(Box::new(permission_request(choices()))),
        account: Some(Box::new(full_usage())),
        checks: Some(["make test".into(), "cargo clippy".into()].into()),
        accepted_checks: Some(["make test".into()].into()),
        work: Some(Box::new(TaskWork {
            claim: Some(WorkClaim {
                attempt: ATTEMPT,
                fence: FENCE,
                outcome: WorkOutcome::Done,
                reason: "All done".into(),
            }),
            evidence: Some("2 of 2 checks passed".into()),
            unsettled: Some("the disk is full".into()),
            merge: Some(MergeMode::Squash),
            merging: Some(PendingMerge {
                note: "Looks good".into(),
                waits: Some("the work tree is not clean".into()),
            }),
            refused: Some(RefusedMerge {
                reason: "merge conflict".into(),
                files: vec!["src/a.rs".into()],
            }),
            protected: vec![".ai/step-rules.yaml".into()],
            allowed: vec![".ai/step-rules.yaml".into()],
        })),
    }
}

fn full_usage() -> TaskUsage {
    let spent = |day: &str| DailyUsage { day: day.into(), agent: agent("swe"), usage: usage() };
    TaskUsage {
        session: Some(AgentSession {
            agent: agent("swe"),
            id: "c7d4-11".into(),
            node: Some(node("mac")),
        }),
        parked: vec![full_parked(), bare_parked()],
        spent: vec![spent("2026-02-08"), spent("2026-02-09")],
        budget: UsageBudget { tokens: Some(100_000), cost: Some(2_500_000) },
        refused_hosts: vec![RefusedHost { agent: agent("swe"), host: "evil.example:443".into() }],
    }
}

/// The origin of a task in every dialect, with every field of their documents.
fn full_origin() -> TaskOrigin {
    let mission = full_mission();
    let delegation = full_delegation();
    let story = serde_json::json!(full_position());
    let foreign = TaskOrigin::read(Some(&mission), Some(&delegation), Some(&story));
    let foreign = foreign.expect("documents that can be read");
    assert!(foreign.mission().is_some() && foreign.new_task().is_some(), "whole documents");
    foreign
}

fn full_mission() -> Value {
    json!({
        "version": "1", "task_id": "T1", "epic_id": "E2", "prd_id": "PRD-3",
        "instruction": "Mend the parser.\nThen test it.",
        "context": {
            "dev_md": "DEV.md", "epic_file": "epics/e2.md", "task_file": "tasks/t1.md",
            "memory": "memory.md", "toolset": "tools.md",
        },
        "constraints": {"max_files": 3, "no_git_commit": true, "no_new_deps": false},
        "timeout": 600,
    })
}

fn full_delegation() -> Value {
    json!({
        "taskId": "A-1", "parentTaskId": "A-0", "delegatedToMode": "code",
        "objective": "Mend the parser", "context": "It fails on tabs",
        "inputs": [
            {"type": "code", "path": "src/a.rs", "version": "2", "description": "the parser"},
            {"path": "src/b.rs"},
        ],
        "expectedOutputs": [
            {"type": "report", "path": "out/r.md", "description": "what changed"},
            {"path": "out/s.md"},
        ],
        "constraintsAndRules": ["no new dependencies"],
        "acceptanceCriteria": ["tests pass"],
        "priority": "high",
        "deadlineHint": "2026-02-10T12:00:00.000Z",
    })
}

/// The full task with every list or choice in its other form: one item instead of several, and the
/// ids of documents instead of whole documents.
pub(crate) fn varied_task() -> Task {
    let mut task = full_task();
    task.state = TaskState::entered(Status::Blocked);
    task.history.question = Some(Box::new(question(None)));
    task.history.permit = Some(Box::new(permission_request(vec![])));
    task.history.checks = Some([].into());
    task.history.keep(|account| {
        account.parked.truncate(1);
        account.budget = UsageBudget { tokens: None, cost: Some(500_000) };
        account.session.as_mut().expect("it has a session").node = None;
    });
    task.history.change_work(|work| {
        *work = TaskWork {
            claim: None,
            evidence: None,
            unsettled: None,
            merge: Some(MergeMode::None),
            merging: Some(PendingMerge { note: "".into(), waits: None }),
            refused: Some(RefusedMerge { reason: "".into(), files: vec![] }),
            protected: vec![],
            allowed: vec![],
        };
    });
    let (mission, delegation) = (json!({"epic_id": "E2"}), json!({"taskId": "A-1"}));
    task.origin = TaskOrigin::read(Some(&mission), Some(&delegation), None).map(Box::new);
    task
}
