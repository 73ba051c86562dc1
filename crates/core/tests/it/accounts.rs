//! What agents report about themselves: usage limits, refused credentials, sessions, budgets.

use adjutant_core::input::TickFacts;
use adjutant_core::schedule::{
    InboxAction, hold_reasons, inbox, is_idle, next_wake_time, remaining_run_budget, usage_on_day,
    waiting_tasks,
};
use adjutant_core::{Decision, Input, World, decide, invariants, resume};
use adjutant_model::command::CommandCaller;
use adjutant_model::policy::{AgentPolicy, SchedulerPolicy};
use adjutant_model::run::{RunExit, RunRef};
use adjutant_model::usage::{
    AgentSession, AgentTelemetry, AgentTrouble, ParkedAgent, TokenUsage, UsageBudget,
};
use adjutant_model::{Command, Policy, Status, Task, Time};

use crate::support::{TaskBuilder, agent, commit, events, id, now, operator, task, world};

fn policy(names: &[&str]) -> Policy {
    let one = |name: &&str| (agent(name), AgentPolicy { settings: 7, ..AgentPolicy::default() });
    Policy { agents: names.iter().map(one).collect(), ..Policy::default() }
}

fn running() -> Task {
    let mut task = task(1, Status::Ready).leased_to("swe", 1);
    task.history.open = Some(RunRef { nonce: None, agent: agent("swe"), attempt: 1, fence: 1 });
    task
}

fn minutes(minutes: i64) -> Time {
    Time::from_millis(now().as_millis() + minutes * 60_000)
}

/// Ends the run of task 1, and commits the decision.
fn exit(world: &mut World, exit: RunExit, telemetry: AgentTelemetry) -> Decision {
    let input = Input::RunExited {
        task: id(1),
        fence: 1,
        exit,
        tail: "words".into(),
        found: None,
        telemetry: Box::new(telemetry),
        workspace: None,
        jitter: 7,
    };
    let decision = decide(world, &input, now());
    commit(world, &decision);
    assert_eq!(invariants::find_violations(world), [""; 0]);
    decision
}

fn limited(until: Option<Time>) -> AgentTelemetry {
    let trouble = AgentTrouble::Limited { until, reason: "limit reached".into() };
    AgentTelemetry { trouble: Some(trouble), ..AgentTelemetry::default() }
}

fn unusable() -> AgentTelemetry {
    let trouble = AgentTrouble::Unusable { reason: "401".into() };
    AgentTelemetry { trouble: Some(trouble), ..AgentTelemetry::default() }
}

fn used(tokens: u64, cost: u64) -> AgentTelemetry {
    AgentTelemetry {
        usage: TokenUsage { input: tokens, output: 0, cached: 0, cost },
        ..AgentTelemetry::default()
    }
}

fn tick(world: &mut World, at: Time) -> String {
    let decision = decide(world, &Input::Tick { facts: TickFacts::default() }, at);
    let all = events(&decision);
    commit(world, &decision);
    all
}

fn codes(world: &World, number: u64, at: Time) -> Vec<&'static str> {
    hold_reasons(world, &id(number), at).into_iter().map(|hold| hold.code).collect()
}

#[test]
fn usage_limit_parks_task_until_its_end_without_spending_attempt() {
    for code in [RunExit::Code(0), RunExit::Code(1), RunExit::Idle, RunExit::TimedOut] {
        let mut world = world([running(), task(2, Status::Ready)]).with_policy(policy(&["swe"]));
        let decision = exit(&mut world, code, limited(Some(minutes(90))));
        assert_eq!(events(&decision), "run.exited run.parked transitioned(in-progress->ready)");
        let parked = world.task(&id(1)).expect("it is there");
        assert!(parked.history.failures.is_empty(), "no attempt is spent");
        assert_eq!(parked.history.not_before, Some(minutes(90)));
        assert_eq!(codes(&world, 1, now()), ["agent_limited"]);
        assert_eq!(codes(&world, 2, now()), ["agent_limited"], "others wait for the agent too");
        assert_eq!(next_wake_time(&world, now()), Some(minutes(90)));
        assert!(!is_idle(&world, now()), "it will go on by itself");
        assert!(inbox(&world, now()).is_empty(), "nobody has to do anything");
        assert_eq!(tick(&mut world, minutes(89)), "");
        let started = tick(&mut world, minutes(90));
        assert_eq!(started, "transitioned(ready->in-progress) run.started");
        assert_eq!(world.task(&id(1)).and_then(|task| task.lease()).map(|l| l.attempt), Some(2));
        assert_eq!(invariants::find_violations(&world), [""; 0]);
    }
}

#[test]
fn usage_limit_without_valid_time_still_ends() {
    let until = |said| {
        let mut world = world([running()]).with_policy(policy(&["swe"]));
        exit(&mut world, RunExit::Code(1), limited(said));
        world.task(&id(1)).and_then(|task| task.history.not_before)
    };
    assert_eq!(until(None), Some(minutes(15)));
    assert_eq!(until(Some(minutes(-500))), Some(minutes(1)));
    assert_eq!(until(Some(Time::from_millis(i64::MAX))), Some(minutes(31 * 24 * 60)));
}

#[test]
fn usage_limit_lets_another_agent_take_the_task() {
    let mut world = world([running()]).with_policy(policy(&["swe", "other"]));
    exit(&mut world, RunExit::Code(1), limited(Some(minutes(90))));
    assert_eq!(tick(&mut world, now()), "transitioned(ready->in-progress) run.started");
    let lease = world.task(&id(1)).and_then(Task::lease).map(|lease| lease.agent.clone());
    assert_eq!(lease, Some(agent("other")));
    assert!(world.task(&id(1)).is_some_and(|task| !task.history.parked().is_empty()));
}

#[test]
fn agent_without_program_gets_no_work_until_it_is_found() {
    let ready = [task(1, Status::Ready).routed_to("swe"), task(2, Status::Ready)];
    let problems = [(agent("swe"), "there is no program swe in PATH".into())].into();
    let both = || policy(&["swe", "other"]);
    let mut world = world(ready).with_policy(both().with_program_problems(&problems));
    assert_eq!(codes(&world, 1, now()), ["agent_unusable"]);
    assert_eq!(codes(&world, 2, now()), [""; 0], "another agent can do it");
    let next: Vec<_> = waiting_tasks(&world, now()).map(|task| task.id.clone()).collect();
    assert_eq!(next, [id(2)]);
    let items = inbox(&world, now());
    let texts: Vec<(&str, &str)> = items.iter().map(|i| (i.kind.as_str(), &*i.text)).collect();
    let why = "agent swe cannot be started: there is no program swe in PATH";
    assert_eq!(texts, [("unusable", why)]);
    assert_eq!(tick(&mut world, now()), "transitioned(ready->in-progress) run.started");
    assert_eq!(world.task(&id(1)).map(Task::status), Some(Status::Ready));
    let by = CommandCaller::Operator(operator());
    let take = Input::Command { by, command: Command::Take { nonce: None, agent: agent("swe") } };
    let fetched = events(&decide(&world, &take, now()));
    assert!(fetched.contains("run.started"), "an agent that asks for work runs already: {fetched}");
    let mut world = world.with_policy(both());
    assert!(inbox(&world, now()).is_empty());
    assert_eq!(tick(&mut world, now()), "transitioned(ready->in-progress) run.started");
}

#[test]
fn run_that_could_not_start_spends_no_attempt_and_leaves_scheduler_idle() {
    let mut world = world([running()]).with_policy(policy(&["swe"]));
    let why = RunExit::NotStarted("no such file".into());
    exit(&mut world, why, AgentTelemetry::default());
    let trials = &world.task(&id(1)).expect("it is there").history;
    assert_eq!((trials.failures.len(), trials.not_before > Some(now())), (0, true));
    assert!(inbox(&world, now())[0].text.contains("could not be started: no such file"));
    assert!(is_idle(&world, now()), "a person has to repair it");
    let retried = tick(&mut world, minutes(5));
    assert_eq!(retried, "transitioned(ready->in-progress) run.started");
}

#[test]
fn refused_hosts_are_in_inbox_until_next_run() {
    let hosts = ["b.example:443", "[::1]:80", "a.example:80", "b.example:443", "no host", "*"];
    let refused_hosts = hosts.map(str::to_owned).to_vec();
    let mut world = world([running()]).with_policy(policy(&["swe"]));
    let telemetry = AgentTelemetry { refused_hosts, ..AgentTelemetry::default() };
    let decision = exit(&mut world, RunExit::Code(1), telemetry);
    assert_eq!(
        events(&decision),
        "network.refused network.refused network.refused run.exited run.failed \
         transitioned(in-progress->ready)"
    );
    let items = inbox(&world, now());
    let item = items.iter().find(|item| item.kind.as_str() == "network").expect("an item");
    assert!(item.text.ends_with("swe may not connect to a.example:80, b.example:443, [::1]:80"));
    let allow = InboxAction::AllowHost { agent: agent("swe"), host: "a.example:80".into() };
    assert_eq!((item.actions.len(), &item.actions[0]), (3, &allow));
    tick(&mut world, minutes(100));
    assert!(inbox(&world, minutes(100)).is_empty());
}

#[test]
fn unusable_agent_is_in_inbox_until_freed() {
    let mut world = world([running(), task(2, Status::Ready)]).with_policy(policy(&["swe"]));
    exit(&mut world, RunExit::Code(1), unusable());
    assert_eq!(codes(&world, 1, now()), ["agent_unusable"]);
    assert_eq!(tick(&mut world, minutes(10_000)), "");
    let items = inbox(&world, now());
    let texts: Vec<(&str, &str)> = items.iter().map(|i| (i.kind.as_str(), &*i.text)).collect();
    assert_eq!(texts, [("unusable", "agent swe cannot be used: 401")]);
    assert_eq!(items[0].actions[0], InboxAction::TestAgent { agent: agent("swe") });
    let by = CommandCaller::Operator(operator());
    let free = Input::Command { by, command: Command::Free { agent: agent("swe") } };
    let decision = decide(&world, &free, now());
    assert_eq!(events(&decision), "agent.freed");
    commit(&mut world, &decision);
    assert!(inbox(&world, now()).is_empty());
    assert_eq!(events(&decide(&world, &free, now())), "", "it may work by now");
    assert_eq!(tick(&mut world, now()), "transitioned(ready->in-progress) run.started");
}

#[test]
fn unusable_agent_is_freed_by_new_settings_or_a_cancelled_task() {
    let mut tried = world([running(), task(2, Status::Ready)]).with_policy(policy(&["swe"]));
    exit(&mut tried, RunExit::Code(1), unusable());
    let mut changed = policy(&["swe"]);
    changed.agents.get_mut(&agent("swe")).expect("it is there").settings = 8;
    let changed = tried.clone().with_policy(changed);
    assert!(inbox(&changed, now()).is_empty());
    assert_eq!(codes(&changed, 1, now()), [""; 0]);
    let by = CommandCaller::Operator(operator());
    let command = Command::Cancel { id: id(1), reason: String::new() };
    let decision = decide(&tried, &Input::Command { by, command }, now());
    commit(&mut tried, &decision);
    assert_eq!(codes(&tried, 2, now()), [""; 0]);
}

#[test]
fn report_counts_even_if_the_agent_had_trouble() {
    let mut world = world([running()]).with_policy(policy(&["swe"]));
    let mut reviewed = running();
    reviewed.state = adjutant_model::task::TaskState::entered(Status::Review);
    world = World::load([reviewed], world.last_event()).with_policy(policy(&["swe"]));
    let decision = exit(&mut world, RunExit::Code(1), unusable());
    assert_eq!(events(&decision), "run.exited");
    assert_eq!(world.task(&id(1)).map(Task::status), Some(Status::Review));
}

#[test]
fn session_is_kept_after_a_crash_but_not_after_a_report() {
    let session = |told: AgentTelemetry, reported: bool| {
        let mut task = running();
        if reported {
            task.state = adjutant_model::task::TaskState::entered(Status::Review);
        }
        let mut world = world([task]).with_policy(policy(&["swe"]));
        exit(&mut world, RunExit::Signal(9), told);
        let account = world.task(&id(1)).and_then(|task| task.history.account().cloned());
        account.and_then(|account| account.session).map(|session| session.id.to_string())
    };
    let told = || AgentTelemetry { session: Some("s-1".into()), ..AgentTelemetry::default() };
    assert_eq!(session(told(), false).as_deref(), Some("s-1"));
    assert_eq!(session(told(), true), None);
    assert_eq!(session(AgentTelemetry::default(), false), None);
}

/// Ends a run that resumed the session `s-1`, and returns the session to resume next.
fn kept(exit_: RunExit, told: AgentTelemetry, by: &str) -> Option<String> {
    let mut task = running();
    let session = AgentSession { agent: agent(by), id: "s-1".into(), node: None };
    task.history.keep(|account| account.session = Some(session));
    let mut world = world([task]).with_policy(policy(&["swe"]));
    exit(&mut world, exit_, told);
    let task = world.task(&id(1)).expect("it is there");
    resume::session_to_resume(task, &agent("swe")).map(str::to_owned)
}

#[test]
fn session_resumed_without_result_is_not_resumed_again() {
    let named = |id: &str| AgentTelemetry { session: Some(id.into()), ..AgentTelemetry::default() };
    for exit in
        [RunExit::Code(0), RunExit::Code(1), RunExit::Signal(9), RunExit::Idle, RunExit::Lost]
    {
        assert_eq!(kept(exit.clone(), named("s-1"), "swe"), None);
        assert_eq!(kept(exit.clone(), AgentTelemetry::default(), "swe"), None);
        // The session could not be resumed, and the agent started another one.
        assert_eq!(kept(exit.clone(), named("s-2"), "swe").as_deref(), Some("s-2"));
        // The session belonged to another agent, so the run did not resume it.
        assert_eq!(kept(exit, named("s-1"), "other").as_deref(), Some("s-1"));
    }
}

#[test]
fn session_that_was_interrupted_is_resumed_again() {
    let named = |told: AgentTelemetry| AgentTelemetry { session: Some("s-1".into()), ..told };
    let stays = Some("s-1".to_owned());
    assert_eq!(kept(RunExit::Stopped, named(AgentTelemetry::default()), "swe"), stays);
    assert_eq!(kept(RunExit::Code(1), named(limited(None)), "swe"), stays);
    assert_eq!(kept(RunExit::Code(1), named(unusable()), "swe"), stays);
    let why = || "no room".to_owned();
    assert_eq!(kept(RunExit::NoWorkspace(why()), AgentTelemetry::default(), "swe"), stays);
    assert_eq!(kept(RunExit::NotStarted(why()), AgentTelemetry::default(), "swe"), stays);
}

#[test]
fn usage_adds_up_by_task_agent_and_day() {
    let mut world = world([running()]).with_policy(policy(&["swe"]));
    let decision = exit(&mut world, RunExit::Code(1), used(100, 5));
    assert_eq!(
        events(&decision),
        "run.usage run.exited run.failed transitioned(in-progress->ready)"
    );
    let usage = TokenUsage { input: 100, output: 0, cached: 0, cost: 5 };
    assert_eq!(usage_on_day(&world, now()), [(&agent("swe"), usage)]);
    assert_eq!(usage_on_day(&world, minutes(60 * 24)), []);
    let account = world.task(&id(1)).and_then(|task| task.history.account()).expect("it was told");
    assert_eq!(account.used(), usage);
}

#[test]
fn budget_used_up_holds_tasks_back_and_is_reported() {
    let tokens = |tokens| UsageBudget { tokens: Some(tokens), cost: None };
    let with = |change: fn(&mut Policy)| {
        let mut policy = policy(&["swe"]);
        policy.scheduler = SchedulerPolicy { backoff_ms: 0, ..policy.scheduler };
        change(&mut policy);
        let mut world = world([running(), task(2, Status::Ready)]).with_policy(policy);
        exit(&mut world, RunExit::OverBudget, used(100, 5));
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
        remaining_run_budget(world, task, &agent("swe"), now())
    };
    assert_eq!(left(&some, 2), tokens(60));
    assert_eq!(left(&with(|_| {}), 2), UsageBudget::default());
}

#[test]
fn task_budget_takes_precedence_over_configuration() {
    let mut given = running();
    given.history.keep(|account| account.budget.tokens = Some(1_000));
    let mut policy = policy(&["swe"]);
    policy.scheduler.budget_task.tokens = Some(10);
    let mut world = world([given]).with_policy(policy);
    exit(&mut world, RunExit::Code(1), used(100, 5));
    assert_eq!(codes(&world, 1, now()), ["back_off"]);
}

#[test]
fn parked_agent_that_is_no_longer_configured_is_ignored() {
    let mut given = task(1, Status::Ready);
    given.history.keep(|account| {
        account.parked.push(ParkedAgent {
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
