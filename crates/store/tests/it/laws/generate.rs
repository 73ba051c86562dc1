//! Generators of random tasks: every field with any valid value.

use adjutant_model::completion::WorkOutcome;
use adjutant_model::merge_mode::MergeMode;
use adjutant_model::permission::{ChoiceKind, PermissionChoice, PermissionRequest};
use adjutant_model::review::ReviewPolicy;
use adjutant_model::run::RunRef;
use adjutant_model::run_history::{
    AgentQuestion, BlockedBy, ExpiredRun, FailedAttempt, RunHistory,
};
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::story::{Step, StepFailReason, StepStatus, StoryHold, StoryId, StoryPosition};
use adjutant_model::task::{Lease, Task, TaskRouting, TaskState};
use adjutant_model::task_origin::TaskOrigin;
use adjutant_model::usage::{
    AgentSession, DailyUsage, ParkedAgent, TaskUsage, TokenUsage, UsageBudget,
};
use adjutant_model::work::{PendingMerge, RefusedMerge, TaskWork, WorkClaim};
use adjutant_model::{AgentId, NodeId, Priority, Status, TaskId, Time};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

/// Generates arbitrary texts, and texts that are special in YAML and JSON.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[-a-cyYnN0-9eExX_.:#,T+~ '\"\\[\\]{}&*!|>%@?=<\\\\\n\r\t\u{85}]{0,12}",
        "[a-z]{1,8}( [a-z]{1,8}){0,4}",
    ]
}

/// Generates texts that are not blank.
pub(crate) fn title() -> impl Strategy<Value = String> {
    text().prop_filter("a title says something", |text| !text.trim().is_empty())
}

pub(crate) fn id() -> impl Strategy<Value = TaskId> {
    let numbered = (1..400_u32).prop_map(|number| format!("TASK-2026-02-09-{number:03}"));
    let named = "[A-Za-z0-9_-]{8}".prop_map(|name| format!("TASK-2026-02-09-{name}"));
    prop_oneof![3 => numbered, 1 => named]
        .prop_map(|text| TaskId::parse(&text).expect("an id of either form"))
}

/// Generates agent names that are not reserved.
pub(crate) fn agent() -> impl Strategy<Value = AgentId> {
    let name = prop_oneof!["[a-z]{1,8}(-[a-z]{1,8})?", "\\PC{1,20}"];
    name.prop_filter_map("no name", |name| {
        AgentId::parse(&name).ok().filter(|agent| !agent.is_reserved())
    })
}

/// Generates times between 1900 and 2100.
pub(crate) fn time() -> impl Strategy<Value = Time> {
    (-2_208_988_800_000..4_102_444_800_000_i64).prop_map(Time::from_millis)
}

pub(crate) fn status() -> impl Strategy<Value = Status> {
    select(&Status::ALL)
}

pub(crate) fn nonce() -> impl Strategy<Value = Option<RunNonce>> {
    option::of(any::<u64>().prop_map(RunNonce::from_random))
}

fn lease() -> impl Strategy<Value = Lease> {
    (agent(), time(), time(), any::<u32>(), any::<u32>(), any::<u64>(), nonce()).prop_map(
        |(agent, acquired_at, expires_at, renew_count, attempt, fence, nonce)| Lease {
            nonce,
            agent,
            acquired_at,
            expires_at,
            renew_count,
            attempt,
            fence,
        },
    )
}

fn state() -> impl Strategy<Value = TaskState> {
    let leased = lease().prop_map(|lease| TaskState::InProgress(Some(lease)));
    prop_oneof![3 => status().prop_map(TaskState::entered), 1 => leased]
}

fn routing() -> impl Strategy<Value = TaskRouting> {
    let words = (option::of(text()), option::of(text()));
    (option::of(agent()), words, vec(text(), 0..3)).prop_map(|(agent, (mode, role), tags)| {
        TaskRouting {
            agent,
            mode: mode.map(Into::into),
            role: role.map(Into::into),
            tags: tags.into_iter().map(Into::into).collect(),
            ..TaskRouting::default()
        }
    })
}

fn last_run() -> impl Strategy<Value = RunRef> {
    (agent(), any::<u32>(), any::<u64>(), nonce())
        .prop_map(|(agent, attempt, fence, nonce)| RunRef { agent, attempt, fence, nonce })
}

fn run_history() -> BoxedStrategy<RunHistory> {
    let failure = (any::<u32>(), text())
        .prop_map(|(attempt, reason)| FailedAttempt { attempt, reason: reason.into() });
    let expired =
        (time(), text()).prop_map(|(at, reason)| ExpiredRun { at, reason: reason.into() });
    let open = last_run();
    let question = (text(), option::of(text()))
        .prop_map(|(text, suggestion)| Box::new(AgentQuestion { text, suggestion }));
    let texts = (option::of(text()), option::of(text()), option::of(question));
    let claim = (any::<u32>(), any::<u64>(), select(WorkOutcome::ALL.to_vec()), text()).prop_map(
        |(attempt, fence, outcome, reason)| {
            let reason = reason.into();
            WorkClaim { attempt, fence, outcome, reason }
        },
    );
    let merging = (text(), option::of(text()))
        .prop_map(|(note, waits)| PendingMerge { note: note.into(), waits: waits.map(Into::into) });
    let merge = option::of(select(MergeMode::ALL.to_vec()));
    let texts_of_work = (option::of(text()), option::of(text()));
    let files = || vec(text(), 0..3).prop_map(|all| all.into_iter().map(Into::into).collect());
    let refused =
        (text(), files()).prop_map(|(reason, files)| RefusedMerge { reason: reason.into(), files });
    let files = (files(), files());
    let merges = (option::of(merging), option::of(refused));
    let work = (option::of(claim), texts_of_work, merge, merges, files).prop_map(
        |(claim, (evidence, unsettled), merge, (merging, refused), (protected, allowed))| {
            let (evidence, unsettled) = (evidence.map(Into::into), unsettled.map(Into::into));
            let work = TaskWork {
                claim,
                evidence,
                unsettled,
                merge,
                merging,
                refused,
                protected,
                allowed,
            };
            (!work.is_empty()).then(|| Box::new(work))
        },
    );
    let commands = || {
        let commands = vec("[a-z][^\\p{C}]{0,8}", 0..3);
        option::of(commands.prop_map(|each| each.into_iter().map(Into::into).collect()))
    };
    let commands = (commands(), commands());
    let texts = (texts.boxed(), commands.boxed(), work.boxed()).boxed();
    let texts = (texts, option::of(permission_request().prop_map(Box::new))).boxed();
    let waits = (option::of(time()), option::of(expired), option::of(Just(BlockedBy::Dependency)));
    let node = option::of(Just(NodeId::parse("mac-2").expect("a good name")));
    ((option::of(open), node), vec(failure, 0..3), waits, texts, task_usage())
        .prop_map(
            |(
                (open, node),
                failures,
                (not_before, expired, blocked_by),
                ((texts, (checks, accepted_checks), work), permit),
                account,
            )| {
                let (reason, answer, question) = texts;
                RunHistory {
                    open,
                    node,
                    failures,
                    not_before,
                    expired,
                    blocked_by,
                    reason: reason.map(Into::into),
                    answer: answer.map(Into::into),
                    question,
                    permit,
                    account,
                    checks,
                    accepted_checks,
                    work,
                }
            },
        )
        .boxed()
}

/// Generates permission requests with arbitrary text.
pub(crate) fn permission_request() -> impl Strategy<Value = PermissionRequest> {
    let choice = (text(), text(), select(&ChoiceKind::ALL))
        .prop_map(|(id, name, kind)| PermissionChoice { id, name, kind });
    (any::<u32>(), any::<u64>(), any::<u32>(), time(), text(), vec(choice, 0..3)).prop_map(
        |(attempt, fence, number, since, text, choices)| PermissionRequest {
            attempt,
            fence,
            number,
            since,
            text,
            choices,
        },
    )
}

/// Generates usage data with arbitrary text.
fn task_usage() -> impl Strategy<Value = Option<Box<TaskUsage>>> {
    let usage = (0..1u64 << 40, 0..1u64 << 40, 0..1u64 << 40, 0..1u64 << 40)
        .prop_map(|(input, output, cached, cost)| TokenUsage { input, output, cached, cost });
    let session = (agent(), text()).prop_map(|(agent, id)| AgentSession {
        agent,
        id: id.into(),
        node: NodeId::parse("mini").ok(),
    });
    let parked = (agent(), option::of(time()), text(), any::<u64>()).prop_map(
        |(agent, until, reason, settings)| ParkedAgent {
            agent,
            until,
            reason: reason.into(),
            settings,
            node: None,
        },
    );
    let spent = (agent(), usage).prop_map(|(agent, usage)| DailyUsage {
        day: "2026-02-09".into(),
        agent,
        usage,
    });
    let budget = (option::of(any::<u64>()), option::of(0..1u64 << 40))
        .prop_map(|(tokens, cost)| UsageBudget { tokens, cost });
    (option::of(session), vec(parked, 0..3), vec(spent, 0..3), budget).prop_map(
        |(session, parked, spent, budget)| {
            let account = TaskUsage { session, parked, spent, budget, refused_hosts: vec![] };
            (account != TaskUsage::default()).then(|| Box::new(account))
        },
    )
}

/// Generates the documents a task was made from, with arbitrary text.
fn task_origin() -> impl Strategy<Value = Box<TaskOrigin>> {
    (text(), text(), any::<bool>()).prop_map(|(one, other, whole)| {
        let context = json!({"epic_file": "e.md", "task_file": "t.md"});
        let mission = json!({
            "version": "1", "task_id": "T1", "epic_id": "E2", "prd_id": "PRD-3",
            "instruction": format!("x{one}"), "context": context, "timeout": 3,
            "constraints": {"max_files": 1, "no_git_commit": true},
        });
        let delegation = json!({
            "taskId": "A-1", "delegatedToMode": "code", "objective": format!("x{other}"),
            "context": one, "acceptanceCriteria": [other], "inputs": [],
            "expectedOutputs": [{"path": "a.md", "description": one}],
        });
        let ids = json!({"epic_id": "E9"});
        let mission = if whole { mission } else { ids };
        let story = whole.then(|| json!(position(&one)));
        let read = TaskOrigin::read(Some(&mission), Some(&delegation), story.as_ref());
        Box::new(read.expect("it says something"))
    })
}

/// Returns a story position with the given error text.
pub(crate) fn position(error: &str) -> StoryPosition {
    let story = |text: &str| StoryId::parse(text).expect("a good name");
    StoryPosition {
        story: story("US-005"),
        step: Step::Impl,
        attempt: 2,
        max_attempts: 5,
        status: StepStatus::NeedsHuman,
        reason: Some(StepFailReason::ScopeWarning),
        hold: Some(StoryHold::Stuck),
        auto: true,
        unaccepted: true,
        waits_for: vec![story("US-003"), story("US-004")],
        fence: Some(7),
        error: Some(error.into()),
        said: None,
        node: NodeId::parse("mini").ok(),
    }
}

/// Generates tasks with arbitrary values in every field.
pub(crate) fn task() -> impl Strategy<Value = Task> {
    let times = (time(), time(), time(), option::of(time()));
    let links = (option::of(id()), vec(id(), 0..3), option::of(text()));
    let review = select(&[ReviewPolicy::Required, ReviewPolicy::NotNeeded]);
    let past = (
        option::of(last_run()),
        option::of(agent()),
        option::of(any::<u64>()),
        option::of(text()),
        (run_history(), option::of(task_origin())),
    );
    let head = (id(), title(), state(), select(&Priority::ALL), text(), routing());
    (head, times, links, (review, any::<u32>()), past).prop_map(
        |(
            (id, title, state, priority, created_by, routing),
            (created_at, updated_at, last_transition_at, due_by),
            (parent, depends_on, resource),
            (review, depth),
            (last_run, reported_by, reported_fence, feedback, (trials, foreign)),
        )| Task {
            id,
            title: title.into(),
            state,
            priority,
            created_at,
            updated_at,
            last_transition_at,
            created_by: created_by.into(),
            routing,
            parent,
            depends_on,
            resource: resource.map(Into::into),
            due_by,
            review,
            depth,
            last_run,
            reported_by,
            reported_fence,
            feedback: feedback.map(Into::into),
            history: trials,
            origin: foreign,
        },
    )
}
