//! What a run says is a claim: it is looked into before it counts, and merged before it is done.

use crate::support::{
    Given, after, agent, completion, events, id, now, operator, send, task, verdict, world,
};
use adjutant_core::account::Told;
use adjutant_core::command::Caller;
use adjutant_core::completion::Outcome;
use adjutant_core::effect::Stop;
use adjutant_core::evidence::{Check, Evidence};
use adjutant_core::input::TickFacts;
use adjutant_core::policy::{AgentPolicy, Merge, OnExitOk, Place, Policy};
use adjutant_core::run::{Exit, Heartbeat, Life, RunFacts};
use adjutant_core::schedule::{inbox, why};
use adjutant_core::task::Review;
use adjutant_core::trials::{Failure, OpenRun};
use adjutant_core::work::Merged;
use adjutant_core::{Command, Decision, Effect, Input, Status, Task, Time, World, decide};

/// A crew of one agent, whose work is checked, and merged if that is said.
fn crew(place: Place, merge: Merge) -> Policy {
    let swe = AgentPolicy { place, on_exit_ok: OnExitOk::Done, ..AgentPolicy::default() };
    let checks = vec!["make test".into()];
    Policy { agents: [(agent("swe"), swe)].into(), checks, merge, ..Policy::default() }
}

fn running() -> Task {
    let mut task = task(1, Status::Ready).leased_to("swe", 1);
    task.trials.open = Some(OpenRun { agent: agent("swe"), attempt: 1, fence: 1 });
    task
}

fn at_work(task: Task) -> World {
    world([task]).with_policy(crew(Place::Worktree, Merge::Rebase))
}

fn exited(world: &World, exit: Exit) -> Decision {
    let (task, tail) = (id(1), String::new());
    let found = None;
    let (fence, workspace, jitter, told) = (1, None, 7, Box::<Told>::default());
    let ended = Input::RunExited { task, fence, exit, tail, found, workspace, jitter, told };
    decide(world, &ended, now())
}

fn claimed(task: Task, outcome: Outcome) -> World {
    let world = at_work(task);
    let world = after(&world, &send(&world, &completion(1, "swe", outcome)));
    after(&world, &exited(&world, Exit::Code(0)))
}

fn evidence(code: i32) -> Evidence {
    let (tail, log) = ("it broke".to_owned(), "checks/1.log".to_owned());
    let check =
        Check { command: "make test".into(), exit: Exit::Code(code), duration_ms: 1, tail, log };
    Evidence { checks: vec![check], ..Evidence::default() }
}

fn checked(world: &World, evidence: Evidence) -> Decision {
    let (task, evidence) = (id(1), Box::new(evidence));
    decide(world, &Input::WorkChecked { task, fence: 1, evidence, jitter: 7 }, now())
}

fn merged(world: &World, merged: Merged) -> Decision {
    decide(world, &Input::WorkMerged { task: id(1), merged: Box::new(merged) }, now())
}

fn run(world: &World, command: Command) -> Decision {
    let by = Caller::Operator(operator());
    decide(world, &Input::Command { by, command }, now())
}

fn status(world: &World) -> Status {
    world.task(&id(1)).expect("it is there").status()
}

#[test]
fn a_report_is_held_until_its_run_is_over_and_somebody_has_looked() {
    let world = at_work(running());
    let said = send(&world, &completion(1, "swe", Outcome::Done));
    assert_eq!(events(&said), "received work.claimed completed");
    assert_eq!(said.effects, [Effect::StopRun { task: id(1), fence: 1, reason: Stop::Reported }]);
    let world = after(&world, &said);
    assert_eq!(status(&world), Status::InProgress);
    let again = send(&world, &completion(1, "swe", Outcome::Blocked));
    assert_eq!((verdict(&again), events(&again)), ("noop".into(), "received".into()));
    let over = exited(&world, Exit::Code(0));
    assert_eq!(events(&over), "run.exited");
    assert_eq!(over.effects, [Effect::CheckWork { task: id(1), attempt: 1, fence: 1 }]);
    let world = after(&world, &over);
    assert!(why(&world, &id(1), now())[0].text.contains("is being looked into"));
    let good = checked(&world, evidence(0));
    assert_eq!(events(&good), "work.checked transitioned(in-progress->review)");
    let world = after(&world, &good);
    assert!(inbox(&world, now())[0].text.contains("1 check passed"), "{:?}", inbox(&world, now()));
    assert_eq!(verdict(&checked(&world, evidence(0))), "noop stale_run", "once is enough");
}

#[test]
fn an_exit_that_says_done_is_looked_into_at_once() {
    let world = at_work(running());
    let over = exited(&world, Exit::Code(0));
    assert_eq!(events(&over), "run.exited work.claimed");
    assert_eq!(over.effects, [Effect::CheckWork { task: id(1), attempt: 1, fence: 1 }]);
}

#[test]
fn a_check_that_fails_is_an_attempt_without_a_result_and_counts() {
    let world = claimed(running(), Outcome::Done);
    let bad = checked(&world, evidence(2));
    assert_eq!(events(&bad), "work.checked run.failed transitioned(in-progress->ready)");
    let world = after(&world, &bad);
    let trials = &world.task(&id(1)).expect("it is there").trials;
    let reason = "check failed: `make test`: exit code 2: it broke";
    assert_eq!(trials.failures, [Failure { attempt: 1, reason: reason.into() }]);
    assert!(trials.not_before > Some(now()));
    // The count goes on over attempts that said they were done, up to the last.
    let mut third = running();
    third.trials.failures = (0..2).map(|n| Failure { attempt: n, reason: "no".into() }).collect();
    let world = claimed(third, Outcome::Done);
    let bad = checked(&world, evidence(2));
    assert_eq!(events(&bad), "work.checked run.failed transitioned(in-progress->deadletter)");
}

#[test]
fn a_claim_that_holds_starts_the_count_again() {
    let mut second = running();
    second.trials.failures = vec![Failure { attempt: 1, reason: "no".into() }];
    let world = claimed(second, Outcome::Done);
    let world = after(&world, &checked(&world, evidence(0)));
    assert_eq!(world.task(&id(1)).expect("it is there").trials.failures, []);
}

#[test]
fn what_is_not_said_to_be_done_counts_whatever_the_checks_say() {
    for outcome in [Outcome::NeedsReview, Outcome::Partial] {
        let world = claimed(running(), outcome);
        let bad = checked(&world, evidence(2));
        assert_eq!(events(&bad), "work.checked transitioned(in-progress->review)", "{outcome}");
    }
    let world = at_work(running());
    let stuck = send(&world, &completion(1, "swe", Outcome::Blocked));
    assert_eq!(events(&stuck), "received completed transitioned(in-progress->blocked)");
}

#[test]
fn work_that_cannot_be_looked_into_is_for_a_person() {
    let world = claimed(running().review(Review::NotNeeded), Outcome::Done);
    let flaw = Some("its branch is gone".to_owned());
    let odd = checked(&world, Evidence { flaw, ..Evidence::default() });
    assert_eq!(events(&odd), "work.checked transitioned(in-progress->review)");
    // A report that comes when its run is over cannot be looked into either.
    let late = task(1, Status::Review).last_run_by("swe", 1).review(Review::NotNeeded);
    let world = at_work(late);
    let said = send(&world, &completion(1, "swe", Outcome::Done));
    assert_eq!(events(&said), "received completed warned(constraint_breached)");
}

#[test]
fn a_claim_whose_run_is_over_never_grows_stale() {
    let world = claimed(running(), Outcome::Done);
    let hours = Time::from_millis(now().as_millis() + 48 * 3_600_000);
    let stale = Heartbeat { expires_at: now() };
    for life in [Life::Gone, Life::NotOurs] {
        let seen = RunFacts { heartbeat: Some(stale), found: None, life };
        let facts = TickFacts { runs: [(id(1), seen)].into(), jitter: 7, ..TickFacts::default() };
        assert_eq!(events(&decide(&world, &Input::Tick { facts }, hours)), "");
    }
}

#[test]
fn a_run_that_reported_and_is_lost_is_looked_into() {
    let world = at_work(running());
    let world = after(&world, &send(&world, &completion(1, "swe", Outcome::Done)));
    let seen = RunFacts { heartbeat: None, found: None, life: Life::Gone };
    let facts = TickFacts { runs: [(id(1), seen)].into(), jitter: 7, ..TickFacts::default() };
    let lost = decide(&world, &Input::Tick { facts }, now());
    assert_eq!(events(&lost), "run.exited");
    assert_eq!(lost.effects, [Effect::CheckWork { task: id(1), attempt: 1, fence: 1 }]);
}

#[test]
fn who_moves_the_task_meanwhile_is_not_overruled() {
    let world = claimed(running(), Outcome::Done);
    let reason = "not now".to_owned();
    let world = after(&world, &run(&world, Command::Cancel { id: id(1), reason }));
    assert_eq!(verdict(&checked(&world, evidence(0))), "noop stale_run");
}

#[test]
fn what_a_task_says_of_its_checks_counts_before_its_agent_and_the_project() {
    let policy = crew(Place::Folder, Merge::None);
    let mut own = running();
    assert_eq!(policy.checks_of(&own), ["make test".into()]);
    own.trials.checks = Some([].into());
    assert!(!policy.looks_into(&own));
    let world = world([own]).with_policy(policy.clone());
    let said = send(&world, &completion(1, "swe", Outcome::Done));
    assert_eq!(events(&said), "received completed transitioned(in-progress->review)");
    let mut agents = policy.clone();
    let swe = agents.agents.get_mut(&agent("swe")).expect("it is there");
    swe.checks = Some(vec!["make lint".into()]);
    assert_eq!(agents.checks_of(&running()), ["make lint".into()]);
}

#[test]
fn a_run_without_a_workspace_costs_no_attempt() {
    let world = at_work(running());
    let none = exited(&world, Exit::NoWorkspace("there is no git".into()));
    assert_eq!(events(&none), "run.exited transitioned(in-progress->ready) run.deferred");
    let world = after(&world, &none);
    let trials = &world.task(&id(1)).expect("it is there").trials;
    assert_eq!((trials.failures.len(), trials.not_before > Some(now())), (0, true));
    assert!(inbox(&world, now())[0].text.contains("there is no git"));
    assert_eq!(why(&world, &id(1), now())[0].code, "deferred");
}

fn in_review(review: Review) -> World {
    at_work(task(1, Status::Review).last_run_by("swe", 1).review(review))
}

fn approve() -> Command {
    Command::Approve { id: id(1), note: "good".into() }
}

#[test]
fn approving_merges_first_where_that_is_asked_for() {
    let world = in_review(Review::Required);
    let asked = run(&world, approve());
    assert_eq!(events(&asked), "merge.requested");
    assert_eq!(asked.effects, [Effect::MergeWork { task: id(1), attempt: 1 }]);
    let world = after(&world, &asked);
    assert_eq!(verdict(&run(&world, approve())), "noop", "it is asked for once");
    let done =
        Merged::Done { base: "main".into(), commit: "0".into(), evidence: Evidence::default() };
    assert_eq!(events(&merged(&world, done)), "work.merged transitioned(review->done)");
    let plain = world.with_policy(crew(Place::Folder, Merge::Rebase));
    let fresh = after(&plain, &run(&plain, Command::Reject { id: id(1), reason: "no".into() }));
    assert_eq!(status(&fresh), Status::Ready, "a merge that was asked for can be given up");
}

#[test]
fn without_a_branch_there_is_nothing_to_merge() {
    let review = task(1, Status::Review).last_run_by("swe", 1);
    let world = world([review]).with_policy(crew(Place::Folder, Merge::Rebase));
    assert_eq!(events(&run(&world, approve())), "transitioned(review->done)");
}

#[test]
fn a_conflict_sends_the_task_back_with_the_files_named() {
    let world = in_review(Review::Required);
    let world = after(&world, &run(&world, approve()));
    let (reason, files) = ("in conflict: a.txt".to_owned(), vec!["a.txt".to_owned()]);
    let refused = Merged::Refused { reason, files };
    let back = merged(&world, refused.clone());
    assert_eq!(events(&back), "merge.refused transitioned(review->ready)");
    let feedback = after(&world, &back).task(&id(1)).and_then(|task| task.feedback.clone());
    assert_eq!(feedback.as_deref(), Some("in conflict: a.txt"));
    // What nobody approved would go round for ever.
    let world = in_review(Review::NotNeeded);
    let world = after(&world, &run(&world, approve()));
    let stays = merged(&world, refused);
    assert_eq!(events(&stays), "merge.refused");
    assert!(inbox(&after(&world, &stays), now())[0].text.contains("in conflict: a.txt"));
}

#[test]
fn a_merge_that_waits_says_so_once() {
    let world = in_review(Review::Required);
    let world = after(&world, &run(&world, approve()));
    let waits = || Merged::Waits { reason: "main is dirty".into() };
    let first = merged(&world, waits());
    assert_eq!(events(&first), "merge.waiting");
    let world = after(&world, &first);
    assert!(inbox(&world, now())[0].text.contains("its merge waits: main is dirty"));
    assert_eq!((verdict(&merged(&world, waits())), events(&merged(&world, waits()))), {
        ("noop".into(), String::new())
    });
}

#[test]
fn work_that_needs_no_review_is_merged_before_it_is_done() {
    let world = claimed(running().review(Review::NotNeeded), Outcome::Done);
    let good = checked(&world, evidence(0));
    let expected = "work.checked transitioned(in-progress->review) merge.requested";
    assert_eq!(events(&good), expected);
    assert!(good.effects.contains(&Effect::MergeWork { task: id(1), attempt: 1 }));
}

#[test]
fn what_was_merged_is_in_the_record_even_if_nobody_wants_it_any_more() {
    let world = in_review(Review::Required);
    let done =
        Merged::Done { base: "main".into(), commit: "0".into(), evidence: Evidence::default() };
    assert_eq!(events(&merged(&world, done)), "work.merged");
}
