//! What agents tell of themselves, by table: limits, keys that are not taken, sessions, budgets.

use crate::support::{Given, agent, commit, events, id, now, operator, task, world};
use adjutant_core::account::{Budget, Parked, Session, Told, Trouble, Usage};
use adjutant_core::command::Caller;
use adjutant_core::input::TickFacts;
use adjutant_core::policy::{AgentPolicy, SchedulerPolicy};
use adjutant_core::run::Exit;
use adjutant_core::schedule::{allowance, inbox, is_idle, next_time, spent_on, why};
use adjutant_core::trials::OpenRun;
use adjutant_core::{
    Command, Decision, Input, Policy, Status, Task, Time, World, decide, invariants, resume,
};

fn policy(names: &[&str]) -> Policy {
    let one = |name: &&str| (agent(name), AgentPolicy { settings: 7, ..AgentPolicy::default() });
    Policy { agents: names.iter().map(one).collect(), ..Policy::default() }
}

fn running() -> Task {
    let mut task = task(1, Status::Ready).leased_to("swe", 1);
    task.trials.open = Some(OpenRun { agent: agent("swe"), attempt: 1, fence: 1 });
    task
}

fn minutes(minutes: i64) -> Time {
    Time::from_millis(now().as_millis() + minutes * 60_000)
}

/// Ends the run of task 1, and takes that in.
fn exit(world: &mut World, exit: Exit, told: Told) -> Decision {
    let input = Input::RunExited {
        task: id(1),
        fence: 1,
        exit,
        tail: "words".into(),
        found: None,
        told: Box::new(told),
        workspace: None,
        jitter: 7,
    };
    let decision = decide(world, &input, now());
    commit(world, &decision);
    assert_eq!(invariants::broken(world), [""; 0]);
    decision
}

fn limited(until: Option<Time>) -> Told {
    let trouble = Trouble::Limited { until, reason: "limit reached".into() };
    Told { trouble: Some(trouble), ..Told::default() }
}

fn unusable() -> Told {
    let trouble = Trouble::Unusable { reason: "401".into() };
    Told { trouble: Some(trouble), ..Told::default() }
}

fn used(tokens: u64, cost: u64) -> Told {
    Told { usage: Usage { input: tokens, output: 0, cached: 0, cost }, ..Told::default() }
}

fn tick(world: &mut World, at: Time) -> String {
    let decision = decide(world, &Input::Tick { facts: TickFacts::default() }, at);
    let all = events(&decision);
    commit(world, &decision);
    all
}

fn codes(world: &World, number: u64, at: Time) -> Vec<&'static str> {
    why(world, &id(number), at).into_iter().map(|hold| hold.code).collect()
}

#[test]
fn a_limit_parks_the_task_until_the_time_the_agent_named_and_spends_no_attempt() {
    for code in [Exit::Code(0), Exit::Code(1), Exit::Idle, Exit::TimedOut] {
        let mut world = world([running(), task(2, Status::Ready)]).with_policy(policy(&["swe"]));
        let decision = exit(&mut world, code, limited(Some(minutes(90))));
        assert_eq!(events(&decision), "run.exited run.parked transitioned(in-progress->ready)");
        let parked = world.task(&id(1)).expect("it is there");
        assert!(parked.trials.failures.is_empty(), "no attempt is spent");
        assert_eq!(parked.trials.not_before, Some(minutes(90)));
        assert_eq!(codes(&world, 1, now()), ["agent_limited"]);
        assert_eq!(codes(&world, 2, now()), ["agent_limited"], "others wait for the agent too");
        assert_eq!(next_time(&world, now()), Some(minutes(90)));
        assert!(!is_idle(&world, now()), "it will go on by itself");
        assert!(inbox(&world, now()).is_empty(), "nobody has to do anything");
        assert_eq!(tick(&mut world, minutes(89)), "");
        let started = tick(&mut world, minutes(90));
        assert_eq!(started, "transitioned(ready->in-progress) run.started");
        assert_eq!(world.task(&id(1)).and_then(|task| task.lease()).map(|l| l.attempt), Some(2));
        assert_eq!(invariants::broken(&world), [""; 0]);
    }
}

#[test]
fn a_limit_without_a_time_and_one_that_makes_no_sense_have_an_end() {
    let until = |said| {
        let mut world = world([running()]).with_policy(policy(&["swe"]));
        exit(&mut world, Exit::Code(1), limited(said));
        world.task(&id(1)).and_then(|task| task.trials.not_before)
    };
    assert_eq!(until(None), Some(minutes(15)));
    assert_eq!(until(Some(minutes(-500))), Some(minutes(1)));
    assert_eq!(until(Some(Time::from_millis(i64::MAX))), Some(minutes(31 * 24 * 60)));
}

#[test]
fn another_agent_may_have_what_one_cannot_do_now() {
    let mut world = world([running()]).with_policy(policy(&["swe", "other"]));
    exit(&mut world, Exit::Code(1), limited(Some(minutes(90))));
    assert_eq!(tick(&mut world, now()), "transitioned(ready->in-progress) run.started");
    let lease = world.task(&id(1)).and_then(Task::lease).map(|lease| lease.agent.clone());
    assert_eq!(lease, Some(agent("other")));
    assert!(world.task(&id(1)).is_some_and(|task| !task.trials.parked().is_empty()));
}

#[test]
fn an_agent_that_is_not_signed_in_is_in_the_inbox_until_it_works() {
    let mut world = world([running(), task(2, Status::Ready)]).with_policy(policy(&["swe"]));
    exit(&mut world, Exit::Code(1), unusable());
    assert_eq!(codes(&world, 1, now()), ["agent_unusable"]);
    assert_eq!(tick(&mut world, minutes(10_000)), "");
    let items = inbox(&world, now());
    let texts: Vec<(&str, &str)> = items.iter().map(|i| (i.kind.as_str(), &*i.text)).collect();
    assert_eq!(texts, [("unusable", "agent swe cannot be used: 401")]);
    assert_eq!(items[0].actions[0], "agents test swe");
    let by = Caller::Operator(operator());
    let free = Input::Command { by, command: Command::Free { agent: agent("swe") } };
    let decision = decide(&world, &free, now());
    assert_eq!(events(&decision), "agent.freed");
    commit(&mut world, &decision);
    assert!(inbox(&world, now()).is_empty());
    assert_eq!(events(&decide(&world, &free, now())), "", "it may work by now");
    assert_eq!(tick(&mut world, now()), "transitioned(ready->in-progress) run.started");
}

#[test]
fn other_settings_and_a_cancelled_task_free_an_agent() {
    let mut tried = world([running(), task(2, Status::Ready)]).with_policy(policy(&["swe"]));
    exit(&mut tried, Exit::Code(1), unusable());
    let mut changed = policy(&["swe"]);
    changed.agents.get_mut(&agent("swe")).expect("it is there").settings = 8;
    let changed = tried.clone().with_policy(changed);
    assert!(inbox(&changed, now()).is_empty());
    assert_eq!(codes(&changed, 1, now()), [""; 0]);
    let by = Caller::Operator(operator());
    let command = Command::Cancel { id: id(1), reason: String::new() };
    let decision = decide(&tried, &Input::Command { by, command }, now());
    commit(&mut tried, &decision);
    assert_eq!(codes(&tried, 2, now()), [""; 0]);
}

#[test]
fn a_report_counts_whatever_trouble_there_was() {
    let mut world = world([running()]).with_policy(policy(&["swe"]));
    let mut reviewed = running();
    reviewed.state = adjutant_core::task::State::entered(Status::Review);
    world = World::load([reviewed], world.last_event()).with_policy(policy(&["swe"]));
    let decision = exit(&mut world, Exit::Code(1), unusable());
    assert_eq!(events(&decision), "run.exited");
    assert_eq!(world.task(&id(1)).map(Task::status), Some(Status::Review));
}

#[test]
fn a_session_is_kept_after_a_crash_and_not_after_a_report() {
    let session = |told: Told, reported: bool| {
        let mut task = running();
        if reported {
            task.state = adjutant_core::task::State::entered(Status::Review);
        }
        let mut world = world([task]).with_policy(policy(&["swe"]));
        exit(&mut world, Exit::Signal(9), told);
        let account = world.task(&id(1)).and_then(|task| task.trials.account().cloned());
        account.and_then(|account| account.session).map(|session| session.id.to_string())
    };
    let told = || Told { session: Some("s-1".into()), ..Told::default() };
    assert_eq!(session(told(), false).as_deref(), Some("s-1"));
    assert_eq!(session(told(), true), None);
    assert_eq!(session(Told::default(), false), None);
}

/// Ends a run that went on with the conversation `s-1`, and returns the one that is kept.
fn kept(exit_: Exit, told: Told, by: &str) -> Option<String> {
    let mut task = running();
    let session = Session { agent: agent(by), id: "s-1".into(), node: None };
    task.trials.keep(|account| account.session = Some(session));
    let mut world = world([task]).with_policy(policy(&["swe"]));
    exit(&mut world, exit_, told);
    let task = world.task(&id(1)).expect("it is there");
    resume::goes_on(task, &agent("swe")).map(str::to_owned)
}

#[test]
fn a_conversation_that_was_gone_on_with_and_came_to_nothing_is_over() {
    let named = |id: &str| Told { session: Some(id.into()), ..Told::default() };
    for exit in [Exit::Code(0), Exit::Code(1), Exit::Signal(9), Exit::Idle, Exit::Lost] {
        assert_eq!(kept(exit.clone(), named("s-1"), "swe"), None);
        assert_eq!(kept(exit.clone(), Told::default(), "swe"), None);
        // It could not be gone on with, and another was begun.
        assert_eq!(kept(exit.clone(), named("s-2"), "swe").as_deref(), Some("s-2"));
        // It was somebody else's, so that it was not gone on with.
        assert_eq!(kept(exit, named("s-1"), "other").as_deref(), Some("s-1"));
    }
}

#[test]
fn a_conversation_that_was_only_interrupted_is_gone_on_with_again() {
    let named = |told: Told| Told { session: Some("s-1".into()), ..told };
    let stays = Some("s-1".to_owned());
    assert_eq!(kept(Exit::Stopped, named(Told::default()), "swe"), stays);
    assert_eq!(kept(Exit::Code(1), named(limited(None)), "swe"), stays);
    assert_eq!(kept(Exit::Code(1), named(unusable()), "swe"), stays);
    let why = || "no room".to_owned();
    assert_eq!(kept(Exit::NoWorkspace(why()), Told::default(), "swe"), stays);
    assert_eq!(kept(Exit::NotStarted(why()), Told::default(), "swe"), stays);
}

#[test]
fn what_runs_use_adds_up_by_task_agent_and_day() {
    let mut world = world([running()]).with_policy(policy(&["swe"]));
    let decision = exit(&mut world, Exit::Code(1), used(100, 5));
    assert_eq!(
        events(&decision),
        "run.usage run.exited run.failed transitioned(in-progress->ready)"
    );
    let usage = Usage { input: 100, output: 0, cached: 0, cost: 5 };
    assert_eq!(spent_on(&world, now()), [(&agent("swe"), usage)]);
    assert_eq!(spent_on(&world, minutes(60 * 24)), []);
    let account = world.task(&id(1)).and_then(|task| task.trials.account()).expect("it was told");
    assert_eq!(account.used(), usage);
}

#[test]
fn a_budget_that_is_used_up_holds_work_back_and_says_so() {
    let tokens = |tokens| Budget { tokens: Some(tokens), cost: None };
    let with = |change: fn(&mut Policy)| {
        let mut policy = policy(&["swe"]);
        policy.scheduler = SchedulerPolicy { backoff_ms: 0, ..policy.scheduler };
        change(&mut policy);
        let mut world = world([running(), task(2, Status::Ready)]).with_policy(policy);
        exit(&mut world, Exit::OverBudget, used(100, 5));
        world
    };
    let task = with(|policy| policy.scheduler.budget_task.tokens = Some(100));
    assert_eq!(codes(&task, 1, minutes(20)), ["budget_task"]);
    assert_eq!(codes(&task, 2, minutes(20)), [""; 0]);
    assert_eq!(inbox(&task, now())[0].text, "Task 1: has used up its budget: 100 of 100 tokens");
    let own = with(|policy| {
        policy.agents.values_mut().for_each(|agent| agent.budget_day.cost = Some(5));
    });
    assert_eq!(codes(&own, 2, now()), ["budget_day"]);
    assert_eq!(codes(&own, 2, minutes(60 * 24)), [""; 0], "there is another day");
    let all = with(|policy| policy.scheduler.budget_day.tokens = Some(60));
    assert_eq!(codes(&all, 2, now()), ["budget_day"]);
    let some = with(|policy| policy.scheduler.budget_day.tokens = Some(160));
    let left = |world: &World, number| {
        let task = world.task(&id(number)).expect("it is there");
        allowance(world, task, &agent("swe"), now())
    };
    assert_eq!(left(&some, 2), tokens(60));
    assert_eq!(left(&with(|_| {}), 2), Budget::default());
}

#[test]
fn what_a_task_says_of_its_budget_counts_before_the_configuration() {
    let mut given = running();
    given.trials.keep(|account| account.budget.tokens = Some(1_000));
    let mut policy = policy(&["swe"]);
    policy.scheduler.budget_task.tokens = Some(10);
    let mut world = world([given]).with_policy(policy);
    exit(&mut world, Exit::Code(1), used(100, 5));
    assert_eq!(codes(&world, 1, now()), ["back_off"]);
}

#[test]
fn what_is_known_of_an_agent_that_is_gone_from_the_configuration_counts_for_nobody() {
    let mut given = task(1, Status::Ready);
    given.trials.keep(|account| {
        account.parked.push(Parked {
            agent: agent("old"),
            until: None,
            reason: "no".into(),
            settings: 7,
            node: None,
        });
    });
    let world = world([given]).with_policy(policy(&["swe"]));
    assert!(inbox(&world, now()).is_empty());
    assert_eq!(codes(&world, 1, now()), [""; 0]);
}
