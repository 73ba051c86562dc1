//! Agents that fetch work themselves: which task they get, and that they get it once.

use adjutant_core::input::{MessageFacts, RunFacts, TickFacts, TokenOwner};
use adjutant_core::{Decision, Input, World, decide, invariants};
use adjutant_model::actor::Actor;
use adjutant_model::command::CommandCaller;
use adjutant_model::completion::WorkOutcome;
use adjutant_model::policy::{AgentPolicy, SchedulerPolicy};
use adjutant_model::run::RunHeartbeat;
use adjutant_model::{Command, Policy, Status, Task, TaskId, Time};

use crate::support::{
    TaskBuilder, after, agent, completion, envelope, events, id, message, message_with, now,
    operator, send, status_update, task, verdict, world,
};

fn take(world: &World, name: &str) -> Decision {
    take_as(world, name, CommandCaller::Operator(operator()))
}

fn take_as(world: &World, name: &str, by: CommandCaller) -> Decision {
    let command = Command::Take { nonce: None, agent: agent(name) };
    decide(world, &Input::Command { by, command }, now())
}

fn given(decision: &Decision) -> Option<TaskId> {
    decision.answer.task.clone()
}

#[test]
fn fetched_task_is_first_in_rank_and_starts_no_local_run() {
    let world = world([task(1, Status::Ready), task(2, Status::Ready)]);
    let decision = take(&world, "roamer");
    assert_eq!(events(&decision), "transitioned(ready->in-progress) run.started");
    assert_eq!(decision.effects, []);
    assert_eq!(given(&decision), Some(id(1)));
    let world = after(&world, &decision);
    let lease = world.task(&id(1)).and_then(Task::lease).expect("a lease");
    assert_eq!((lease.agent.clone(), lease.attempt, lease.fence), (agent("roamer"), 1, 1));
    assert_eq!(world.task(&id(1)).expect("a task").history.open, None, "no process of ours");
    assert_eq!(invariants::find_violations(&world), Vec::<String>::new());
}

#[test]
fn fetching_again_returns_the_same_task_until_reported() {
    let world = world([task(1, Status::Ready), task(2, Status::Ready)]);
    let world = after(&world, &take(&world, "roamer"));
    let again = take(&world, "roamer");
    assert_eq!((verdict(&again), events(&again)), ("noop".into(), String::new()));
    assert_eq!(given(&again), Some(id(1)));
    assert_eq!(given(&take(&world, "another")), Some(id(2)));
    let world = after(&world, &send(&world, &completion(1, "roamer", WorkOutcome::Done)));
    assert_eq!(given(&take(&world, "roamer")), Some(id(2)));
}

#[test]
fn fetching_skips_tasks_for_other_agents() {
    let for_a_role = |number| {
        let mut task = task(number, Status::Ready);
        task.routing.role = Some("reviewer".into());
        task
    };
    let tasks = || [task(1, Status::Ready).routed_to("swe"), for_a_role(2)];
    let for_a_mode = |number| {
        let mut task = task(number, Status::Ready);
        task.routing.mode = Some("code".into());
        task
    };
    assert_eq!(given(&take(&world([for_a_mode(1)]), "roamer")), None);
    assert_eq!(given(&take(&world([for_a_mode(1)]), "code")), Some(id(1)));
    let stranger = take(&world(tasks()), "roamer");
    assert_eq!((verdict(&stranger), given(&stranger)), ("noop nothing_to_do".into(), None));
    assert_eq!(given(&take(&world(tasks()), "swe")), Some(id(1)));
    let reviewer = AgentPolicy { role: Some("reviewer".into()), ..AgentPolicy::default() };
    let policy = Policy { agents: [(agent("eye"), reviewer)].into(), ..Policy::default() };
    assert_eq!(given(&take(&world(tasks()).with_policy(policy), "eye")), Some(id(2)));
}

#[test]
fn fetching_respects_slots_resources_dependencies_and_concurrency() {
    let ready = |number| task(number, Status::Ready);
    let using = |task: Task| Task { resource: Some("db".into()), ..task };
    let after_one = Task { depends_on: vec![id(1)], ..ready(2) };
    let nothing = |world: &World| verdict(&take(world, "roamer")) == "noop nothing_to_do";
    assert!(nothing(&world([using(task(1, Status::Ready).leased_to("swe", 1)), using(ready(2))])));
    assert!(nothing(&world([task(1, Status::Backlog), after_one])));
    let one_run = SchedulerPolicy { concurrency: 1, ..SchedulerPolicy::default() };
    let policy = Policy { scheduler: one_run, ..Policy::default() };
    assert!(nothing(&world([ready(1).leased_to("swe", 1), ready(2)]).with_policy(policy)));
    let known = Policy {
        agents: [(agent("roamer"), AgentPolicy { slots: 0, ..AgentPolicy::default() })].into(),
        ..Policy::default()
    };
    assert!(nothing(&world([ready(1)]).with_policy(known)));
}

#[test]
fn fetching_inside_a_run_is_refused() {
    let world = world([task(1, Status::Ready)]);
    let inside = CommandCaller::InsideRun(Actor::Agent(agent("swe")));
    let decision = take_as(&world, "swe", inside);
    assert_eq!(events(&decision), "refused(next_task: operator_only)");
}

#[test]
fn fetched_task_is_reclaimed_without_heartbeats() {
    let world = world([task(1, Status::Ready)]);
    let world = after(&world, &take(&world, "roamer"));
    let at = |minutes: i64| Time::from_millis(now().as_millis() + minutes * 60_000);
    let tick = |minutes| {
        let heartbeat = Some(RunHeartbeat { expires_at: at(5) });
        let seen = RunFacts { heartbeat, ..RunFacts::default() };
        let facts = TickFacts { runs: [(id(1), seen)].into(), jitter: 0, ..TickFacts::default() };
        decide(&world, &Input::Tick { facts }, at(minutes))
    };
    assert_eq!(events(&tick(4)), "");
    assert_eq!(events(&tick(5)), "run.failed transitioned(in-progress->ready)");
}

#[test]
fn message_of_a_fetched_task_renews_its_lease() {
    let world = world([task(1, Status::Ready)]);
    let world = after(&world, &take(&world, "roamer"));
    let at = |minutes: i64| Time::from_millis(now().as_millis() + minutes * 60_000);
    let progress = message(&status_update(1, "roamer", None));
    let early = decide(&world, &progress, at(1));
    assert_eq!(events(&early), "received logged", "not every heartbeat is logged");
    let renewed = decide(&world, &progress, at(4));
    assert_eq!(events(&renewed), "received logged run.heartbeat");
    let world = after(&world, &renewed);
    let lease = world.task(&id(1)).and_then(Task::lease).expect("a lease");
    assert_eq!(lease.expires_at, at(9));
}

#[test]
fn message_with_the_token_of_a_fetched_task_renews_its_lease_even_if_refused() {
    let world = world([task(1, Status::Ready)]);
    let world = after(&world, &take(&world, "roamer"));
    let at = |minutes: i64| Time::from_millis(now().as_millis() + minutes * 60_000);
    let with_fence = |fence| MessageFacts {
        token: TokenOwner::Run { task: id(1), fence, nonce: None },
        ..MessageFacts::default()
    };
    let wrong = envelope("status.update", &id(1), "roamer", &serde_json::json!({}));
    let refused = decide(&world, &message_with(&wrong, with_fence(1)), at(4));
    assert_eq!(events(&refused), "rejected(invalid_envelope) run.heartbeat");
    let stale = decide(&world, &message_with(&wrong, with_fence(0)), at(4));
    assert_eq!(events(&stale), "rejected(invalid_envelope)");
}

#[test]
fn message_that_ends_a_run_or_comes_from_another_agent_renews_no_lease() {
    let world = world([task(1, Status::Ready)]);
    let world = after(&world, &take(&world, "roamer"));
    let late = Time::from_millis(now().as_millis() + 4 * 60_000);
    let done = decide(&world, &message(&completion(1, "roamer", WorkOutcome::Done)), late);
    assert!(!events(&done).contains("run.heartbeat"), "{}", events(&done));
    let other = decide(&world, &message(&status_update(1, "another", None)), late);
    assert_eq!(events(&other), "received rejected(unauthorized_agent)");
}
