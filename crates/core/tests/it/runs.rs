//! Runs: how they are assigned, how they end, and where their tasks go.

use WorkOutcome::{Blocked, Done, NeedsReview, Partial};
use adjutant_core::input::{
    FileChange, FoundResult, MessageFacts, RunFacts, TickFacts, TokenOwner,
};
use adjutant_core::protocols::aof;
use adjutant_core::schedule::{
    AttentionKind, ScheduleAction, hold_reasons, inbox, is_idle, next_wake_time, plan,
    tasks_to_inspect,
};
use adjutant_core::{Decision, Input, World, decide, invariants};
use adjutant_model::answer::FieldProblem;
use adjutant_model::command::CommandCaller;
use adjutant_model::completion::WorkOutcome;
use adjutant_model::effect::StopReason;
use adjutant_model::policy::{AgentPolicy, OnExitOk, SchedulerPolicy};
use adjutant_model::review::ReviewPolicy;
use adjutant_model::run::{RunExit, RunHeartbeat, RunLiveness, RunRef};
use adjutant_model::run_history::{BlockedBy, ExpiredRun, FailedAttempt};
use adjutant_model::usage::{DailyUsage, TaskUsage, TokenUsage, UsageBudget};
use adjutant_model::{Actor, Command, Effect, Event, Policy, Priority, Status, Task, Time};
use serde_json::json;

use crate::support::{
    TaskBuilder, after, agent, commit, completion, events, id, message_with, now, operator, send,
    task, time, verdict, world,
};

/// A policy with one agent that has one slot.
fn crew(on_exit_ok: OnExitOk) -> Policy {
    let swe = AgentPolicy { on_exit_ok, ..AgentPolicy::default() };
    Policy { agents: [(agent("swe"), swe)].into(), ..Policy::default() }
}

fn with_crew(tasks: impl IntoIterator<Item = Task>) -> World {
    world(tasks).with_policy(crew(OnExitOk::NoReport))
}

/// A task that `swe` runs locally under fence 1.
fn running(number: u64) -> Task {
    let mut task = task(number, Status::Ready).leased_to("swe", 1);
    task.history.open = Some(RunRef { nonce: None, agent: agent("swe"), attempt: 1, fence: 1 });
    task
}

fn tick(world: &World) -> Decision {
    decide(world, &Input::Tick { facts: TickFacts::default() }, now())
}

fn tick_with(world: &World, seen: RunFacts) -> Decision {
    let facts = TickFacts { runs: [(id(1), seen)].into(), jitter: 7, ..TickFacts::default() };
    decide(world, &Input::Tick { facts }, now())
}

fn exited(world: &World, exit: RunExit, found: Option<FoundResult>) -> Decision {
    exited_saying(world, exit, found, "last line")
}

fn exited_saying(world: &World, exit: RunExit, found: Option<FoundResult>, tail: &str) -> Decision {
    let (task, tail) = (id(1), tail.to_owned());
    decide(
        world,
        &Input::RunExited {
            task,
            fence: 1,
            exit,
            tail,
            found,
            telemetry: Box::default(),
            workspace: None,
            jitter: 7,
        },
        now(),
    )
}

fn run(world: &World, command: Command) -> Decision {
    let by = CommandCaller::Operator(operator());
    decide(world, &Input::Command { by, command }, now())
}

fn found(outcome: WorkOutcome) -> FoundResult {
    let mut value = completion(1, "swe", outcome)["payload"].clone();
    value["taskId"] = json!(id(1).as_str());
    value["agentId"] = json!("swe");
    value["completedAt"] = json!("2026-02-09T21:10:00.000Z");
    FoundResult::Result(Box::new(aof::parse_run_result(&id(1), &value).expect("a good result")))
}

fn minutes(minutes: i64) -> Time {
    Time::from_millis(now().as_millis() + minutes * 60_000)
}

fn beat(expires_in_minutes: i64) -> RunHeartbeat {
    RunHeartbeat { expires_at: minutes(expires_in_minutes) }
}

fn stale(found: Option<FoundResult>) -> RunFacts {
    RunFacts { heartbeat: Some(beat(-1)), found, life: RunLiveness::NotOurs }
}

fn reason(decision: &Decision) -> String {
    let mut moves = decision.events.iter().filter_map(|happened| match &happened.event {
        Event::TaskTransitioned { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    moves.next_back().unwrap_or_default()
}

fn codes(world: &World, number: u64) -> Vec<&'static str> {
    hold_reasons(world, &id(number), now()).into_iter().map(|hold| hold.code).collect()
}

#[test]
fn ready_task_is_leased_moved_and_started_in_one_decision() {
    let world = with_crew([task(1, Status::Ready).last_run_by("old", 4)]);
    let decision = tick(&world);
    assert_eq!(events(&decision), "transitioned(ready->in-progress) run.started");
    let (task, agent, attempt, fence) = (id(1), agent("swe"), 2, 5);
    let start = Effect::StartRun { nonce: None, task, agent: agent.clone(), attempt, fence };
    assert_eq!(decision.effects, [start]);
    let after = after(&world, &decision);
    let lease = after.task(&id(1)).and_then(Task::lease).expect("a lease");
    assert_eq!((&lease.agent, lease.attempt, lease.fence), (&agent, 2, 5));
    assert_eq!(lease.expires_at, minutes(5));
    assert_eq!(verdict(&tick(&after)), "noop", "the one slot is taken");
}

#[test]
fn task_first_in_rank_is_assigned_first() {
    let rank = |number, priority, due: Option<&str>, made: &str| Task {
        priority,
        due_by: due.map(time),
        created_at: time(made),
        ..task(number, Status::Ready)
    };
    let tasks = [
        rank(1, Priority::Low, None, "2026-02-09T10:00:00Z"),
        rank(2, Priority::Normal, None, "2026-02-09T12:00:00Z"),
        rank(3, Priority::Normal, None, "2026-02-09T11:00:00Z"),
        rank(4, Priority::Normal, Some("2026-02-12T00:00:00Z"), "2026-02-09T13:00:00Z"),
        rank(5, Priority::Critical, None, "2026-02-09T14:00:00Z"),
        rank(6, Priority::Normal, None, "2026-02-09T11:00:00Z"),
    ];
    let mut world = with_crew(tasks);
    let mut order = Vec::new();
    while let [action] = &plan(&world, &TickFacts::default(), now())[..] {
        order.push(action.task().number().expect("a numbered task"));
        let decision = tick(&world);
        commit(&mut world, &decision);
        let decision = run(&world, cancel(order[order.len() - 1]));
        commit(&mut world, &decision);
        let number = order[order.len() - 1];
        let fence = world.task(&id(number)).and_then(|task| task.history.open.clone());
        let input = Input::RunExited {
            task: id(number),
            fence: fence.expect("it runs until it was stopped").fence,
            exit: RunExit::Stopped,
            tail: String::new(),
            found: None,
            telemetry: Box::default(),
            workspace: None,
            jitter: 0,
        };
        let decision = decide(&world, &input, now());
        commit(&mut world, &decision);
    }
    assert_eq!(order, [5, 4, 3, 6, 2, 1]);
}

fn cancel(number: u64) -> Command {
    Command::Cancel { id: id(number), reason: "enough".into() }
}

#[test]
fn resource_has_one_user_and_slots_are_respected() {
    let on = |number: u64, resource: &str| Task {
        resource: Some(resource.into()),
        ..task(number, Status::Ready)
    };
    let mut policy = crew(OnExitOk::NoReport);
    policy.scheduler = SchedulerPolicy { concurrency: 3, ..policy.scheduler };
    for name in ["qa", "ops"] {
        policy.agents.insert(agent(name), AgentPolicy { slots: 2, ..AgentPolicy::default() });
    }
    let tasks =
        [on(1, "db"), on(2, "db"), on(3, "net"), task(4, Status::Ready), task(5, Status::Ready)];
    let world = world(tasks).with_policy(policy);
    let shown: Vec<String> = plan(&world, &TickFacts::default(), now())
        .iter()
        .map(|action| format!("{} {}", action.kind(), action.task()))
        .collect();
    assert_eq!(
        shown,
        ["assign TASK-2026-02-09-001", "assign TASK-2026-02-09-003", "assign TASK-2026-02-09-004"]
    );
    let world = after(&world, &tick(&world));
    assert_eq!(codes(&world, 2), ["resource_busy", "concurrency"]);
    assert_eq!(codes(&world, 5), ["concurrency"]);
}

#[test]
fn agent_that_failed_at_a_task_is_assigned_it_last() {
    let agents = ["broken", "whole"].map(|name| (agent(name), AgentPolicy::default()));
    let policy = Policy { agents: agents.into(), ..Policy::default() };
    let given = |task: Task| {
        let world = world([task]).with_policy(policy.clone());
        let world = after(&world, &tick(&world));
        world.task(&id(1)).and_then(Task::lease).map(|lease| lease.agent.to_string())
    };
    let mut failed = task(1, Status::Ready).last_run_by("broken", 1);
    assert_eq!(given(failed.clone()).as_deref(), Some("broken"), "nothing is held against it yet");
    failed.history.failures = vec![FailedAttempt { attempt: 1, reason: "exit code 127".into() }];
    assert_eq!(given(failed.clone()).as_deref(), Some("whole"));
    assert_eq!(
        given(failed.routed_to("broken")).as_deref(),
        Some("broken"),
        "if it is for nobody else"
    );
}

#[test]
fn stale_heartbeat_with_result_follows_the_result() {
    let check = |outcome, review, moves: &str, why: &str| {
        let world = world([task(1, Status::Ready).leased_to("swe", 1).review(review)]);
        let decision = tick_with(&world, stale(Some(found(outcome))));
        assert_eq!(events(&decision), format!("completed {moves}"), "{outcome}");
        assert_eq!(reason(&decision), why);
        assert_eq!(decision.effects.iter().filter(|it| is_stop(it)).count(), 0, "not ours");
    };
    let review = "transitioned(in-progress->review)";
    check(Partial, ReviewPolicy::Required, review, "stale_heartbeat_partial");
    check(NeedsReview, ReviewPolicy::Required, review, "stale_heartbeat_needs_review");
    check(Done, ReviewPolicy::Required, review, "stale_heartbeat_done");
    let done = format!("{review} transitioned(review->done)");
    check(Done, ReviewPolicy::NotNeeded, &done, "stale_heartbeat_done");
    let blocked = "transitioned(in-progress->blocked)";
    let why = "stale_heartbeat_blocked: Awaiting API key; Need credentials";
    check(Blocked, ReviewPolicy::Required, blocked, why);
}

fn is_stop(effect: &Effect) -> bool {
    matches!(effect, Effect::StopRun { .. })
}

#[test]
fn stale_heartbeat_without_result_reclaims_task_with_backoff() {
    for status in [task(1, Status::InProgress), task(1, Status::Ready).leased_to("swe", 1)] {
        let world = world([status]);
        let decision = tick_with(&world, stale(None));
        assert_eq!(events(&decision), "run.failed transitioned(in-progress->ready)");
        assert_eq!(reason(&decision), "stale_heartbeat_reclaim");
        let after = after(&world, &decision);
        let trials = &after.task(&id(1)).expect("a task").history;
        let expired = trials.expired.as_ref().expect("it is marked");
        assert_eq!((expired.at, &*expired.reason), (now(), "stale_heartbeat"));
        let until = trials.not_before.expect("it waits");
        assert!(until > now() && until <= minutes(1), "{until}");
    }
}

#[test]
fn backoff_that_is_over_does_not_wake_the_scheduler() {
    let resting = |number: u64, until: i64| {
        let mut task = task(number, Status::Ready);
        task.history.not_before = Some(minutes(until));
        task
    };
    let busy = with_crew([running(1), resting(2, -1)]);
    assert_eq!(next_wake_time(&busy, now()), None, "it waits for a slot, not for a time");
    let both = with_crew([running(1), resting(2, -1), resting(3, 4)]);
    assert_eq!(next_wake_time(&both, now()), Some(minutes(4)));
    let nobody = world([resting(1, -1)]);
    assert!(is_idle(&nobody, now()), "nobody is there for it");
    assert!(!is_idle(&world([resting(1, 4)]), now()));
}

#[test]
fn task_over_budget_does_not_block_others_with_its_resource() {
    let mut first = task(1, Status::Ready);
    let spent = DailyUsage {
        day: now().day().into(),
        agent: agent("swe"),
        usage: TokenUsage { cost: 1, ..TokenUsage::default() },
    };
    let budget = UsageBudget { tokens: None, cost: Some(1) };
    let account = TaskUsage { spent: vec![spent], budget, ..TaskUsage::default() };
    first.history.account = Some(Box::new(account));
    first.resource = Some("net".into());
    let mut second = task(2, Status::Ready);
    second.resource = Some("net".into());
    let world = with_crew([first, second]);
    let given = plan(&world, &TickFacts::default(), now());
    assert!(
        matches!(&given[..], [ScheduleAction::Assign { task, .. }] if *task == id(2)),
        "{given:?}"
    );
}

#[test]
fn backoff_started_in_the_future_by_another_clock_is_over() {
    let resting = |failed: i64, until: i64| {
        let mut task = task(1, Status::Ready);
        task.history.not_before = Some(minutes(until));
        task.history.expired = Some(ExpiredRun { at: minutes(failed), reason: "lost".into() });
        with_crew([task])
    };
    let given = |world: &World| events(&tick(world)).contains("run.started");
    assert!(!given(&resting(-1, 4)), "it waits as long as it is told to");
    assert!(given(&resting(-9, -1)), "and no longer");
    // The clock that wrote these times was two hours ahead of this one.
    let ahead = resting(120, 124);
    assert!(given(&ahead));
    assert_eq!(hold_reasons(&ahead, &id(1), now()), []);
    assert_eq!(hold_reasons(&resting(-1, 4), &id(1), now())[0].code, "back_off");
}

#[test]
fn invalid_result_is_salvaged_and_counts_as_none() {
    let world = world([task(1, Status::Ready).leased_to("swe", 1)]);
    let invalid = FoundResult::Invalid(vec![FieldProblem::new("outcome", "is required")]);
    let decision = tick_with(&world, stale(Some(invalid)));
    assert_eq!(
        events(&decision),
        "rejected(invalid_run_result) salvaged(invalid_run_result) run.failed \
         transitioned(in-progress->ready)"
    );
}

/// The action of a tick on a run under a valid lease, and under an expired one.
#[test]
fn run_end_is_judged_by_process_or_else_by_heartbeat() {
    let kinds = |task: Task, seen: RunFacts| {
        let world = world([task]);
        let facts = TickFacts { runs: [(id(1), seen)].into(), jitter: 0, ..TickFacts::default() };
        let actions = plan(&world, &facts, now());
        actions.first().map_or("nothing", ScheduleAction::kind)
    };
    let fresh = || task(1, Status::Ready).leased_to("swe", 1);
    let over = || fresh().expired();
    let by_hand = || task(1, Status::InProgress);
    let seen = |life, heartbeat| RunFacts { heartbeat, found: None, life };
    let rows: Vec<String> = [RunLiveness::Alive, RunLiveness::Gone, RunLiveness::NotOurs]
        .into_iter()
        .flat_map(|life| [(life, Some(beat(1))), (life, Some(beat(0))), (life, None)])
        .map(|(life, beat)| {
            let cells = [by_hand(), fresh(), over()].map(|task| kinds(task, seen(life, beat)));
            format!("{life:?} {}", cells.join(" "))
        })
        .collect();
    assert_eq!(
        rows,
        [
            "Alive nothing nothing renew_lease",
            "Alive nothing nothing renew_lease",
            "Alive nothing nothing renew_lease",
            "Gone run_lost run_lost run_lost",
            "Gone run_lost run_lost run_lost",
            "Gone run_lost run_lost run_lost",
            "NotOurs nothing nothing renew_lease",
            "NotOurs stale_heartbeat stale_heartbeat stale_heartbeat",
            "NotOurs nothing nothing expire_lease",
        ]
    );
}

#[test]
fn deadletter_after_too_many_failed_attempts_names_every_reason() {
    let mut given = running(1);
    given.history.failures = vec![
        FailedAttempt { attempt: 5, reason: "stale_heartbeat".into() },
        FailedAttempt { attempt: 6, reason: "lease_expired".into() },
    ];
    let mut world = with_crew([given]);
    let decision = exited(&world, RunExit::Code(3), None);
    assert_eq!(events(&decision), "run.exited run.failed transitioned(in-progress->deadletter)");
    let all = "3 failed attempts; attempt 5: stale_heartbeat; attempt 6: lease_expired; \
               attempt 1: exit code 3: last line";
    assert_eq!(reason(&decision), all);
    commit(&mut world, &decision);
    assert_eq!(codes(&world, 1)[0], "deadletter");
    let retried = after(&world, &run(&world, Command::Retry { id: id(1) }));
    let task = retried.task(&id(1)).expect("a task");
    assert_eq!((task.history.failures.len(), task.history.not_before), (0, None));
    assert_eq!(task.next_attempt(), 2, "the numbers go on");
}

#[test]
fn exit_without_report_is_judged_by_exit_and_policy() {
    let check = |on_exit_ok, exit: RunExit, expected: &str, why: &str| {
        let world = world([running(1)]).with_policy(crew(on_exit_ok));
        let decision = exited(&world, exit, None);
        assert_eq!(events(&decision), expected);
        assert_eq!(reason(&decision), why);
        assert_eq!(after(&world, &decision).task(&id(1)).expect("a task").history.open, None);
        assert!(!decision.effects.iter().any(is_stop), "there is nothing left to stop");
    };
    let failed = "run.exited run.failed transitioned(in-progress->ready)";
    let none = OnExitOk::NoReport;
    check(none, RunExit::Code(0), failed, "exited without a report: last line");
    check(none, RunExit::Code(1), failed, "exit code 1: last line");
    check(none, RunExit::Signal(9), failed, "killed by signal 9: last line");
    check(none, RunExit::TimedOut, failed, "timed out and was stopped: last line");
    check(none, RunExit::Idle, failed, "printed nothing for too long and was stopped: last line");
    check(none, RunExit::Lost, failed, "disappeared; its exit status is unknown: last line");
    let missing = RunExit::NotStarted("no such file".into());
    let deferred = "run.exited transitioned(in-progress->ready) run.deferred";
    check(none, missing, deferred, "could not be started: no such file");
    let back = "run.exited transitioned(in-progress->ready)";
    check(none, RunExit::Stopped, back, "was stopped");
    let review = "run.exited transitioned(in-progress->review)";
    let said = "exited without a report; on_exit_ok = needs_review";
    check(OnExitOk::NeedsReview, RunExit::Code(0), review, said);
    check(OnExitOk::NeedsReview, RunExit::Code(1), failed, "exit code 1: last line");
    let said = "exited without a report; on_exit_ok = done";
    check(OnExitOk::Done, RunExit::Code(0), review, said);
}

#[test]
fn exit_reason_skips_protocol_messages() {
    let world = with_crew([running(1)]);
    let said = "AOF/1 {\"type\":\"status.update\"}\nno oil\nAOF/1 {}";
    let told = exited_saying(&world, RunExit::Code(3), None, said);
    assert_eq!(told.events, exited_saying(&world, RunExit::Code(3), None, "no oil").events);
}

#[test]
fn result_file_counts_when_its_run_ends() {
    let world = with_crew([running(1)]);
    let decision = exited(&world, RunExit::Code(1), Some(found(Partial)));
    assert_eq!(events(&decision), "run.exited completed transitioned(in-progress->review)");
    assert_eq!(reason(&decision), "Core logic is there");
}

#[test]
fn reported_run_keeps_its_slot_and_task_until_it_is_gone() {
    let world = with_crew([running(1), task(2, Status::Ready)]);
    let reported = send(&world, &completion(1, "swe", Partial));
    let (task, fence) = (id(1), 1);
    let stop = Effect::StopRun { task, fence, reason: StopReason::Reported };
    assert!(reported.effects.contains(&stop), "{:?}", reported.effects);
    let world = after(&world, &reported);
    let world = after(&world, &run(&world, Command::Reject { id: id(1), reason: "no".into() }));
    assert_eq!(verdict(&tick(&world)), "noop");
    assert_eq!(codes(&world, 1), ["run_open", "agent_busy"]);
    assert_eq!(codes(&world, 2), ["agent_busy"]);
    assert_eq!(tasks_to_inspect(&world), [id(1)]);
    let gone = exited(&world, RunExit::Code(0), None);
    assert_eq!(events(&gone), "run.exited");
    let world = after(&world, &gone);
    assert_eq!(events(&tick(&world)), "transitioned(ready->in-progress) run.started");
    assert_eq!(verdict(&exited(&world, RunExit::Code(0), None)), "noop stale_run", "told twice");
}

#[test]
fn run_is_stopped_when_its_task_is_taken_away() {
    let world = with_crew([running(1)]);
    let stops = |decision: &Decision| -> Vec<StopReason> {
        let stop = |effect: &Effect| match effect {
            Effect::StopRun { reason, .. } => Some(*reason),
            Effect::Notify { .. }
            | Effect::NoteTaken { .. }
            | Effect::TellRun { .. }
            | Effect::CheckWork { .. }
            | Effect::MergeWork { .. }
            | Effect::StartRun { .. } => None,
        };
        decision.effects.iter().filter_map(stop).collect()
    };
    assert_eq!(stops(&run(&world, cancel(1))), [StopReason::Cancelled]);
    let back = Command::Move { id: id(1), to: Status::Ready, reason: String::new() };
    assert_eq!(stops(&run(&world, back)), [StopReason::Moved]);
    assert_eq!(stops(&tick_with(&world, stale(None))), [StopReason::LeaseLost]);
    let see = |change| decide(&world, &Input::FileChanged(change), now());
    assert_eq!(stops(&see(FileChange::Removed(id(1)))), [StopReason::Moved]);
    let unleased = Box::new(task(1, Status::InProgress));
    assert_eq!(stops(&see(FileChange::Changed(unleased))), [StopReason::LeaseLost]);
    let moved = Box::new(task(1, Status::Backlog));
    assert_eq!(stops(&see(FileChange::Changed(moved))), [StopReason::Moved]);
}

#[test]
fn run_that_may_be_alive_is_not_replaced_before_it_stopped() {
    let world = with_crew([running(1)]);
    let mut world = after(&world, &tick_with(&world, stale(None)));
    let later = minutes(10);
    assert_eq!(plan(&world, &TickFacts::default(), later), []);
    let stopped = exited(&world, RunExit::Stopped, None);
    assert_eq!(events(&stopped), "run.exited");
    commit(&mut world, &stopped);
    let [action] = &plan(&world, &TickFacts::default(), later)[..] else { panic!("one action") };
    assert_eq!(action.kind(), "assign");
}

#[test]
fn late_report_of_a_reclaimed_run_still_counts() {
    let given_back = || {
        let world = with_crew([task(1, Status::Ready).leased_to("swe", 1)]);
        after(&world, &tick_with(&world, stale(None)))
    };
    let world = given_back();
    let decision = send(&world, &completion(1, "swe", Partial));
    assert_eq!(
        events(&decision),
        "received completed transitioned(ready->in-progress) transitioned(in-progress->review)"
    );
    let other = send(&world, &completion(1, "qa", Partial));
    assert_eq!(events(&other), "received completed warned(invalid_transition)", "it never ran it");
    let mut given_up = task(1, Status::Ready).leased_to("swe", 1);
    given_up.history.failures = vec![FailedAttempt { attempt: 1, reason: "x".into() }; 2];
    let world = with_crew([given_up]);
    let world = after(&world, &tick_with(&world, stale(None)));
    assert_eq!(world.task(&id(1)).map(Task::status), Some(Status::Deadletter));
    let heard = after(&world, &send(&world, &completion(1, "swe", Partial)));
    assert_eq!(heard.task(&id(1)).map(Task::status), Some(Status::Review));
    assert_eq!(heard.task(&id(1)).expect("a task").history.failures, []);
}

#[test]
fn heartbeat_renews_a_lease_past_half_of_its_time() {
    let lease_for = |minutes_left: i64| {
        let mut task = running(1);
        if let adjutant_model::task::TaskState::InProgress(Some(lease)) = &mut task.state {
            lease.expires_at = minutes(minutes_left);
        }
        with_crew([task])
    };
    let beat = |world: &World, fence| decide(world, &Input::RunAlive { task: id(1), fence }, now());
    let world = lease_for(4);
    assert_eq!(verdict(&beat(&world, 1)), "noop");
    let world = lease_for(2);
    let decision = beat(&world, 1);
    assert_eq!(events(&decision), "run.heartbeat");
    let after = after(&world, &decision);
    let lease = after.task(&id(1)).and_then(Task::lease).expect("a lease");
    assert_eq!((lease.expires_at, lease.renew_count), (minutes(5), 1));
    assert_eq!(verdict(&beat(&world, 9)), "noop stale_run");
    let hear = |token| {
        let (task, by) = (id(1), Actor::Agent(agent("swe")));
        let decision = decide(&world, &Input::ExternalHeartbeat { task, by, token }, now());
        format!("{}; {}", verdict(&decision), events(&decision))
    };
    assert_eq!(
        hear(TokenOwner::Run { nonce: None, task: id(1), fence: 1 }),
        "applied; run.heartbeat"
    );
    let stale = "rejected stale_run; refused(beat: stale_run)";
    assert_eq!(hear(TokenOwner::Run { nonce: None, task: id(1), fence: 9 }), stale);
    let unknown = "rejected unknown_token; refused(beat: unknown_token)";
    for token in [
        TokenOwner::None,
        TokenOwner::Unknown,
        TokenOwner::Run { nonce: None, task: id(2), fence: 1 },
    ] {
        assert_eq!(hear(token), unknown);
    }
    assert_eq!(events(&beat(&lease_for(65), 1)), "run.heartbeat", "the clock was set back");
}

#[test]
fn dead_dependency_blocks_task_until_it_is_done() {
    let waits =
        |number: u64, on: u64, status| Task { depends_on: vec![id(on)], ..task(number, status) };
    let world = world([
        task(1, Status::Deadletter),
        waits(2, 1, Status::Ready),
        waits(3, 1, Status::Blocked),
        waits(4, 9, Status::Ready),
    ]);
    let decision = tick(&world);
    assert_eq!(events(&decision), "transitioned(ready->blocked)");
    let mut world = after(&world, &decision);
    let held = world.task(&id(2)).expect("a task");
    assert_eq!(held.history.blocked_by, Some(BlockedBy::Dependency));
    let waiting: Vec<(AttentionKind, u64)> = inbox(&world, now())
        .iter()
        .map(|item| (item.kind, item.task.number().unwrap_or(0)))
        .collect();
    assert_eq!(
        waiting,
        [
            (AttentionKind::Blocked, 3),
            (AttentionKind::Deadletter, 1),
            (AttentionKind::HeldBack, 4),
            (AttentionKind::HeldBack, 2)
        ]
    );
    let answer = run(&world, Command::Answer { id: id(2), text: "go".into() });
    assert_eq!(verdict(&answer), "rejected held_back");
    let done = decide(
        &world,
        &Input::FileChanged(FileChange::Changed(Box::new(task(1, Status::Done)))),
        now(),
    );
    commit(&mut world, &done);
    let decision = tick(&world);
    assert_eq!(events(&decision), "transitioned(blocked->ready)");
    let world = after(&world, &decision);
    assert_eq!(world.task(&id(2)).expect("a task").history.blocked_by, None);
    assert_eq!(world.task(&id(3)).map(Task::status), Some(Status::Blocked), "a person blocked it");
}

#[test]
fn dependency_cycle_in_edited_file_is_flagged_and_held_back() {
    let waits =
        |number: u64, on: u64| Task { depends_on: vec![id(on)], ..task(number, Status::Ready) };
    let world = with_crew([waits(1, 2), task(2, Status::Ready)]);
    let edit = Input::FileChanged(FileChange::Changed(Box::new(waits(2, 1))));
    let decision = decide(&world, &edit, now());
    assert_eq!(events(&decision), "edited(dependsOn) dispatch.refused");
    let world = after(&world, &decision);
    assert_eq!(verdict(&tick(&world)), "noop");
    assert_eq!(codes(&world, 1), ["dependency_open", "dependency_cycle"]);
    let kinds: Vec<AttentionKind> = inbox(&world, now()).iter().map(|item| item.kind).collect();
    assert_eq!(kinds, [AttentionKind::HeldBack, AttentionKind::HeldBack]);
}

#[test]
fn self_dependent_task_that_is_done_blocks_no_other_task() {
    let waits = |number: u64, status| Task { depends_on: vec![id(3)], ..task(number, status) };
    let world = with_crew([waits(1, Status::Ready), waits(3, Status::Done)]);
    assert_eq!(invariants::find_violations(&world), Vec::<String>::new());
    let [action] = &plan(&world, &TickFacts::default(), now())[..] else { panic!("one action") };
    assert_eq!((action.kind(), action.task()), ("assign", &id(1)));
}

#[test]
fn answer_unblocks_task_and_is_kept_for_the_next_run() {
    let world = with_crew([task(1, Status::Blocked), task(2, Status::Ready)]);
    let answer =
        |number, text: &str| run(&world, Command::Answer { id: id(number), text: text.into() });
    let decision = answer(1, "Use the blue one.");
    assert_eq!(events(&decision), "answered transitioned(blocked->ready)");
    let kept = after(&world, &decision).task(&id(1)).and_then(|task| task.history.answer.clone());
    assert_eq!(kept.as_deref(), Some("Use the blue one."));
    assert_eq!(verdict(&answer(1, " ")), "rejected invalid_argument");
    assert_eq!(verdict(&answer(2, "yes")), "rejected invalid_transition");
}

#[test]
fn stale_run_report_is_salvaged_without_token_and_can_be_applied() {
    let world = world([task(1, Status::Ready).leased_to("swe", 2)]);
    let message = completion(1, "swe", Partial);
    let mut sent = message.clone();
    sent["runToken"] = "1-secret".into();
    let token = TokenOwner::Run { nonce: None, task: id(1), fence: 1 };
    let facts = MessageFacts { token, ..MessageFacts::default() };
    let decision = decide(&world, &message_with(&sent, facts), now());
    assert_eq!(verdict(&decision), "rejected stale_run");
    let kept = decision.events.iter().find_map(|happened| match &happened.event {
        Event::RunSalvaged { text, .. } => text.clone(),
        _ => None,
    });
    let kept = kept.expect("it is kept");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&kept).ok(), Some(message.clone()));
    let apply = |text: Option<String>| {
        let name = "17-message.json".to_owned();
        run(&world, Command::ApplySalvage { id: id(1), name, text })
    };
    let applied = apply(Some(kept));
    assert_eq!(events(&applied), "completed run.salvage.applied transitioned(in-progress->review)");
    let ready = with_crew([task(1, Status::Deadletter)]);
    let name = "17-message.json".to_owned();
    let text = Some(message.to_string());
    let let_count = run(&ready, Command::ApplySalvage { id: id(1), name, text });
    assert_eq!(after(&ready, &let_count).task(&id(1)).map(Task::status), Some(Status::Review));
    assert_eq!(verdict(&apply(None)), "rejected salvage_not_found");
    assert_eq!(verdict(&apply(Some("{}".into()))), "rejected salvage_unusable");
}

#[test]
fn why_names_every_reason_in_one_sentence_each() {
    let mut waits = Task {
        depends_on: vec![id(2), id(3), id(4), id(8)],
        resource: Some("db".into()),
        ..task(1, Status::Ready)
    };
    waits.history.not_before = Some(minutes(3));
    waits.history.failures = vec![FailedAttempt { attempt: 1, reason: "lease_expired".into() }];
    let uses = Task { resource: Some("db".into()), ..running(4) };
    let mut policy = crew(OnExitOk::NoReport);
    policy.scheduler.concurrency = 1;
    let tasks = [waits, task(2, Status::Cancelled), task(3, Status::Done), uses];
    let world = world(tasks).with_policy(policy);
    let said: Vec<String> =
        hold_reasons(&world, &id(1), now()).into_iter().map(|hold| hold.text).collect();
    assert_eq!(
        said,
        [
            "It depends on TASK-2026-02-09-002, which will not be done (cancelled).",
            "It depends on TASK-2026-02-09-004, which is in-progress.",
            "It depends on TASK-2026-02-09-008, which does not exist.",
            "It waits until 2026-02-09T22:03:00.000Z, after 1 failed attempt (lease_expired); \
             `adjutant task retry TASK-2026-02-09-001` starts it now.",
            "No slot is free: swe (1 of 1 in use).",
            "Another task is using the resource db.",
            "1 run is active, and `concurrency` allows 1.",
        ]
    );
    assert_eq!(codes(&world, 9), ["task_not_found"]);
    assert_eq!(codes(&world, 4), ["in_progress"]);
    assert_eq!(codes(&world, 3), ["done"]);
}
