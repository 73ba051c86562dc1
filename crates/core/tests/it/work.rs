//! Claims of finished work: they are checked before they count, and merged before the task is done.

use adjutant_core::input::{RunFacts, TickFacts};
use adjutant_core::schedule::{AttentionKind, InboxAction, hold_reasons, inbox, task_notes};
use adjutant_core::{Decision, Input, World, decide};
use adjutant_model::command::CommandCaller;
use adjutant_model::completion::WorkOutcome;
use adjutant_model::effect::StopReason;
use adjutant_model::evidence::{CheckResult, WorkEvidence};
use adjutant_model::merge_mode::MergeMode;
use adjutant_model::policy::{AgentPolicy, OnExitOk, Policy, WorkspaceKind};
use adjutant_model::review::ReviewPolicy;
use adjutant_model::run::{RunExit, RunHeartbeat, RunLiveness, RunRef};
use adjutant_model::run_history::FailedAttempt;
use adjutant_model::usage::AgentTelemetry;
use adjutant_model::work::MergeResult;
use adjutant_model::{Command, Effect, Status, Task, Time};

use crate::support::{
    TaskBuilder, after, agent, completion, events, id, now, operator, send, task, verdict, world,
};

/// A policy with one agent, whose work is checked and merged as given.
fn crew(place: WorkspaceKind, merge: MergeMode) -> Policy {
    let swe = AgentPolicy { place, on_exit_ok: OnExitOk::Done, ..AgentPolicy::default() };
    let checks = vec!["make test".into()];
    Policy { agents: [(agent("swe"), swe)].into(), checks, merge, ..Policy::default() }
}

fn running() -> Task {
    let mut task = task(1, Status::Ready).leased_to("swe", 1);
    task.history.open = Some(RunRef { nonce: None, agent: agent("swe"), attempt: 1, fence: 1 });
    task
}

fn at_work(task: Task) -> World {
    world([task]).with_policy(crew(WorkspaceKind::Worktree, MergeMode::Rebase))
}

fn exited(world: &World, exit: RunExit) -> Decision {
    let (task, tail) = (id(1), String::new());
    let found = None;
    let (fence, workspace, jitter, telemetry) = (1, None, 7, Box::<AgentTelemetry>::default());
    let ended = Input::RunExited { task, fence, exit, tail, found, workspace, jitter, telemetry };
    decide(world, &ended, now())
}

fn claimed(task: Task, outcome: WorkOutcome) -> World {
    let world = at_work(task);
    let world = after(&world, &send(&world, &completion(1, "swe", outcome)));
    after(&world, &exited(&world, RunExit::Code(0)))
}

fn evidence(code: i32) -> WorkEvidence {
    let (tail, log) = ("it broke".to_owned(), "checks/1.log".to_owned());
    let check = CheckResult {
        command: "make test".into(),
        exit: RunExit::Code(code),
        duration_ms: 1,
        tail,
        log,
    };
    WorkEvidence { checks: vec![check], ..WorkEvidence::default() }
}

fn checked(world: &World, evidence: WorkEvidence) -> Decision {
    let (task, evidence) = (id(1), Box::new(evidence));
    decide(world, &Input::WorkChecked { task, fence: 1, evidence, jitter: 7 }, now())
}

fn merged(world: &World, merged: MergeResult) -> Decision {
    decide(world, &Input::WorkMerged { task: id(1), merged: Box::new(merged) }, now())
}

fn run(world: &World, command: Command) -> Decision {
    let by = CommandCaller::Operator(operator());
    decide(world, &Input::Command { by, command }, now())
}

fn status(world: &World) -> Status {
    world.task(&id(1)).expect("it is there").status()
}

#[test]
fn report_waits_for_the_end_of_its_run_and_its_checks() {
    let world = at_work(running());
    let said = send(&world, &completion(1, "swe", WorkOutcome::Done));
    assert_eq!(events(&said), "received work.claimed completed");
    assert_eq!(
        said.effects,
        [Effect::StopRun { task: id(1), fence: 1, reason: StopReason::Reported }]
    );
    let world = after(&world, &said);
    assert_eq!(status(&world), Status::InProgress);
    let again = send(&world, &completion(1, "swe", WorkOutcome::Blocked));
    assert_eq!((verdict(&again), events(&again)), ("noop".into(), "received".into()));
    let over = exited(&world, RunExit::Code(0));
    assert_eq!(events(&over), "run.exited");
    assert_eq!(over.effects, [Effect::CheckWork { task: id(1), attempt: 1, fence: 1 }]);
    let world = after(&world, &over);
    assert!(hold_reasons(&world, &id(1), now())[0].text.contains("is being checked"));
    let good = checked(&world, evidence(0));
    assert_eq!(events(&good), "work.checked transitioned(in-progress->review)");
    let world = after(&world, &good);
    let item = &inbox(&world, now())[0];
    assert!(item.text.contains("1 check passed"), "{item:?}");
    assert!(item.actions.contains(&InboxAction::ShowDiff), "{item:?}");
    assert_eq!(verdict(&checked(&world, evidence(0))), "noop stale_run", "once is enough");
}

#[test]
fn exit_that_means_done_is_checked_at_once() {
    let world = at_work(running());
    let over = exited(&world, RunExit::Code(0));
    assert_eq!(events(&over), "run.exited work.claimed");
    assert_eq!(over.effects, [Effect::CheckWork { task: id(1), attempt: 1, fence: 1 }]);
}

#[test]
fn failed_check_counts_as_failed_attempt() {
    let world = claimed(running(), WorkOutcome::Done);
    let bad = checked(&world, evidence(2));
    assert_eq!(events(&bad), "work.checked run.failed transitioned(in-progress->ready)");
    let world = after(&world, &bad);
    let trials = &world.task(&id(1)).expect("it is there").history;
    let reason = "check failed: `make test`: exit code 2: it broke";
    assert_eq!(trials.failures, [FailedAttempt { attempt: 1, reason: reason.into() }]);
    assert!(trials.not_before > Some(now()));
    // Failed checks count towards the attempt limit, together with earlier failures.
    let mut third = running();
    third.history.failures =
        (0..2).map(|n| FailedAttempt { attempt: n, reason: "no".into() }).collect();
    let world = claimed(third, WorkOutcome::Done);
    let bad = checked(&world, evidence(2));
    assert_eq!(events(&bad), "work.checked run.failed transitioned(in-progress->deadletter)");
}

#[test]
fn passed_check_resets_failed_attempts() {
    let mut second = running();
    second.history.failures = vec![FailedAttempt { attempt: 1, reason: "no".into() }];
    let world = claimed(second, WorkOutcome::Done);
    let world = after(&world, &checked(&world, evidence(0)));
    assert_eq!(world.task(&id(1)).expect("it is there").history.failures, []);
}

#[test]
fn outcome_other_than_done_counts_even_if_checks_fail() {
    for outcome in [WorkOutcome::NeedsReview, WorkOutcome::Partial] {
        let world = claimed(running(), outcome);
        let bad = checked(&world, evidence(2));
        assert_eq!(events(&bad), "work.checked transitioned(in-progress->review)", "{outcome}");
    }
    let world = at_work(running());
    let stuck = send(&world, &completion(1, "swe", WorkOutcome::Blocked));
    assert_eq!(events(&stuck), "received completed transitioned(in-progress->blocked)");
}

#[test]
fn work_that_cannot_be_checked_needs_review() {
    let world = claimed(running().review(ReviewPolicy::NotNeeded), WorkOutcome::Done);
    let flaw = Some("its branch is gone".to_owned());
    let odd = checked(&world, WorkEvidence { flaw, ..WorkEvidence::default() });
    assert_eq!(events(&odd), "work.checked transitioned(in-progress->review)");
    // A report after the end of its run cannot be checked either.
    let late = task(1, Status::Review).last_run_by("swe", 1).review(ReviewPolicy::NotNeeded);
    let world = at_work(late);
    let said = send(&world, &completion(1, "swe", WorkOutcome::Done));
    assert_eq!(events(&said), "received completed warned(constraint_breached)");
}

#[test]
fn claim_of_ended_run_never_becomes_stale() {
    let world = claimed(running(), WorkOutcome::Done);
    let hours = Time::from_millis(now().as_millis() + 48 * 3_600_000);
    let stale = RunHeartbeat { expires_at: now() };
    for life in [RunLiveness::Gone, RunLiveness::NotOurs] {
        let seen = RunFacts { heartbeat: Some(stale), found: None, life };
        let facts = TickFacts { runs: [(id(1), seen)].into(), jitter: 7, ..TickFacts::default() };
        assert_eq!(events(&decide(&world, &Input::Tick { facts }, hours)), "");
    }
}

#[test]
fn lost_run_that_reported_is_checked() {
    let world = at_work(running());
    let world = after(&world, &send(&world, &completion(1, "swe", WorkOutcome::Done)));
    let seen = RunFacts { heartbeat: None, found: None, life: RunLiveness::Gone };
    let facts = TickFacts { runs: [(id(1), seen)].into(), jitter: 7, ..TickFacts::default() };
    let lost = decide(&world, &Input::Tick { facts }, now());
    assert_eq!(events(&lost), "run.exited");
    assert_eq!(lost.effects, [Effect::CheckWork { task: id(1), attempt: 1, fence: 1 }]);
}

#[test]
fn check_result_does_not_override_a_cancelled_task() {
    let world = claimed(running(), WorkOutcome::Done);
    let reason = "not now".to_owned();
    let world = after(&world, &run(&world, Command::Cancel { id: id(1), reason }));
    assert_eq!(verdict(&checked(&world, evidence(0))), "noop stale_run");
}

#[test]
fn task_checks_take_precedence_over_agent_and_project() {
    let policy = crew(WorkspaceKind::Folder, MergeMode::None);
    let mut own = running();
    assert_eq!(policy.checks_of(&own), ["make test".into()]);
    own.history.set_checks(Some([].into()));
    assert!(!policy.looks_into(&own));
    let world = world([own]).with_policy(policy.clone());
    let said = send(&world, &completion(1, "swe", WorkOutcome::Done));
    assert_eq!(events(&said), "received completed transitioned(in-progress->review)");
    let mut agents = policy.clone();
    let swe = agents.agents.get_mut(&agent("swe")).expect("it is there");
    swe.checks = Some(vec!["make lint".into()]);
    assert_eq!(agents.checks_of(&running()), ["make lint".into()]);
}

#[test]
fn run_without_workspace_spends_no_attempt() {
    let world = at_work(running());
    let none = exited(&world, RunExit::NoWorkspace("there is no git".into()));
    assert_eq!(events(&none), "run.exited transitioned(in-progress->ready) run.deferred");
    let world = after(&world, &none);
    let trials = &world.task(&id(1)).expect("it is there").history;
    assert_eq!((trials.failures.len(), trials.not_before > Some(now())), (0, true));
    assert!(inbox(&world, now())[0].text.contains("there is no git"));
    assert_eq!(hold_reasons(&world, &id(1), now())[0].code, "deferred");
}

fn in_review(review: ReviewPolicy) -> World {
    at_work(task(1, Status::Review).last_run_by("swe", 1).review(review))
}

fn approve() -> Command {
    Command::Approve { id: id(1), note: "good".into() }
}

#[test]
fn approve_merges_before_done_if_configured() {
    let world = in_review(ReviewPolicy::Required);
    let asked = run(&world, approve());
    assert_eq!(events(&asked), "merge.requested");
    assert_eq!(asked.effects, [Effect::MergeWork { task: id(1), attempt: 1 }]);
    let world = after(&world, &asked);
    assert_eq!(verdict(&run(&world, approve())), "noop", "it is asked for once");
    let done = MergeResult::Done {
        base: "main".into(),
        commit: "0".into(),
        evidence: WorkEvidence::default(),
    };
    assert_eq!(events(&merged(&world, done)), "work.merged transitioned(review->done)");
    let plain = world.with_policy(crew(WorkspaceKind::Folder, MergeMode::Rebase));
    let fresh = after(&plain, &run(&plain, Command::Reject { id: id(1), reason: "no".into() }));
    assert_eq!(status(&fresh), Status::Ready, "a merge that was asked for can be given up");
}

#[test]
fn approve_without_branch_merges_nothing() {
    let review = task(1, Status::Review).last_run_by("swe", 1);
    let world = world([review]).with_policy(crew(WorkspaceKind::Folder, MergeMode::Rebase));
    assert_eq!(events(&run(&world, approve())), "transitioned(review->done)");
}

#[test]
fn merge_conflict_sends_task_back_and_names_files() {
    let world = in_review(ReviewPolicy::Required);
    let world = after(&world, &run(&world, approve()));
    let (reason, files) = ("in conflict: a.txt".to_owned(), vec!["a.txt".to_owned()]);
    let refused = MergeResult::Refused { reason, files };
    let back = merged(&world, refused.clone());
    assert_eq!(events(&back), "merge.refused transitioned(review->ready)");
    let feedback = after(&world, &back).task(&id(1)).and_then(|task| task.feedback.clone());
    assert_eq!(feedback.as_deref(), Some("in conflict: a.txt"));
    // The operator who approved it hears what became of it.
    let sent_back = after(&world, &back);
    let text = "its change was approved, but conflicts with the base branch in: a.txt; the task \
                is ready again, and its next run is told to resolve this";
    let items = inbox(&sent_back, now());
    let item = items.iter().find(|item| item.kind == AttentionKind::Merge).expect("an item");
    assert!(item.text.ends_with(text), "{}", item.text);
    let task = sent_back.task(&id(1)).expect("it is there");
    assert_eq!(task_notes(task), [format!("I{}.", &text[1..])]);
    assert_eq!(hold_reasons(&sent_back, &id(1), now()), [], "it can start");
    let again = run(&sent_back, Command::Take { agent: agent("swe"), nonce: None });
    let taken = after(&sent_back, &again);
    assert_eq!(taken.task(&id(1)).map(task_notes), Some(vec![]), "the next run settles it");
    // Without a required review, sending the task back could loop forever.
    let world = in_review(ReviewPolicy::NotNeeded);
    let world = after(&world, &run(&world, approve()));
    let stays = merged(&world, refused);
    assert_eq!(events(&stays), "merge.refused");
    let item = &inbox(&after(&world, &stays), now())[0];
    assert!(item.text.contains("passed its checks, but conflicts"), "{}", item.text);
    assert!(item.text.contains("in conflict: a.txt"), "{}", item.text);
}

#[test]
fn waiting_merge_is_reported_once() {
    let world = in_review(ReviewPolicy::Required);
    let world = after(&world, &run(&world, approve()));
    let waits = || MergeResult::Waits { reason: "main is dirty".into() };
    let first = merged(&world, waits());
    assert_eq!(events(&first), "merge.waiting");
    let world = after(&world, &first);
    assert!(inbox(&world, now())[0].text.contains("cannot be merged yet: main is dirty"));
    assert_eq!((verdict(&merged(&world, waits())), events(&merged(&world, waits()))), {
        ("noop".into(), String::new())
    });
}

#[test]
fn unreviewed_work_is_merged_before_it_is_done() {
    let world = claimed(running().review(ReviewPolicy::NotNeeded), WorkOutcome::Done);
    let good = checked(&world, evidence(0));
    let expected = "work.checked transitioned(in-progress->review) merge.requested";
    assert_eq!(events(&good), expected);
    assert!(good.effects.contains(&Effect::MergeWork { task: id(1), attempt: 1 }));
}

#[test]
fn merge_is_recorded_even_if_no_longer_requested() {
    let world = in_review(ReviewPolicy::Required);
    let done = MergeResult::Done {
        base: "main".into(),
        commit: "0".into(),
        evidence: WorkEvidence::default(),
    };
    assert_eq!(events(&merged(&world, done)), "work.merged");
}
