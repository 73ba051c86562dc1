//! Scheduling in a fleet: a task goes to a node that has its agent and a free slot.

use std::collections::BTreeMap;

use adjutant_core::input::{Input, RunFacts, TickFacts};
use adjutant_core::schedule::{foreign_report, has_runs, hold_reasons, inbox, may_settle};
use adjutant_core::{Decision, World, decide, resume};
use adjutant_model::command::CommandCaller;
use adjutant_model::completion::WorkOutcome;
use adjutant_model::effect::StopReason;
use adjutant_model::event::Event;
use adjutant_model::evidence::{DiffStat, WorkEvidence};
use adjutant_model::merge_mode::MergeMode;
use adjutant_model::policy::{self, AgentPolicy, NodePolicy, OnExitOk, SchedulerPolicy};
use adjutant_model::request::{MessageOrigin, Request};
use adjutant_model::run::{RunExit, RunLiveness, RunPlace};
use adjutant_model::usage::{AgentSession, AgentTelemetry, AgentTrouble};
use adjutant_model::work::MergeResult;
use adjutant_model::{Command, Effect, NodeId, Policy, Status, Task, Time};

use crate::support::{
    TaskBuilder as _, after, agent, completion, events, id, now, operator, send, task, world,
};

fn node(name: &str) -> NodeId {
    NodeId::parse(name).expect("a good name")
}

fn slotted(slots: u32) -> AgentPolicy {
    AgentPolicy { slots, ..AgentPolicy::default() }
}

/// A node with slots for some agents.
fn with(concurrency: u32, slots: &[(&str, u32)], labels: &[&str]) -> NodePolicy {
    NodePolicy {
        concurrency,
        agents: slots.iter().map(|(name, slots)| (agent(name), slotted(*slots))).collect(),
        labels: labels.iter().map(|label| (*label).into()).collect(),
    }
}

/// A fleet of these nodes; the slots of its agents are the sums over the nodes.
fn fleet(nodes: &[(&str, NodePolicy)]) -> Policy {
    let mut policy = Policy::default();
    let mut agents = BTreeMap::new();
    for (name, at) in nodes {
        policy.nodes.insert(node(name), at.clone());
        for (agent, own) in &at.agents {
            let known =
                agents.entry(agent.clone()).or_insert(AgentPolicy { slots: 0, ..own.clone() });
            known.slots += own.slots;
        }
    }
    policy.agents = agents;
    let concurrency = policy.nodes.values().map(|node| node.concurrency).sum();
    policy.scheduler = SchedulerPolicy { concurrency, ..SchedulerPolicy::default() };
    policy
}

fn ready(numbers: std::ops::RangeInclusive<u64>, to: &str) -> World {
    world(numbers.map(|number| task(number, Status::Ready).routed_to(to)))
}

fn tick(world: &World, facts: TickFacts) -> Decision {
    decide(world, &Input::Tick { facts }, now())
}

/// Returns the node of each task.
fn places(world: &World) -> Vec<(String, Option<String>)> {
    let place = |task: &Task| {
        let node = task.history.node.as_ref().map(ToString::to_string);
        (task.id.to_string()[16..].to_owned(), node.filter(|_| task.lease().is_some()))
    };
    crate::support::tasks(world).iter().map(place).collect()
}

fn pairs(all: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    all.iter().map(|(id, at)| ((*id).to_owned(), at.map(str::to_owned))).collect()
}

#[test]
fn fleet_assigns_tasks_to_nodes_with_agent_and_slot() {
    let policy = fleet(&[
        ("a", with(2, &[("swe", 2)], &[])),
        ("b", with(1, &[("swe", 4), ("qa", 1)], &[])),
        ("c", with(4, &[("qa", 4)], &[])),
    ]);
    let before = ready(1..=5, "swe").with_policy(policy);
    let decision = tick(&before, TickFacts::default());
    let given = after(&before, &decision);
    let expected =
        [("001", Some("a")), ("002", Some("b")), ("003", Some("a")), ("004", None), ("005", None)];
    assert_eq!(places(&given), pairs(&expected));
    let place = decision.events.iter().find_map(|happened| match &happened.event {
        Event::RunStarted { place, .. } => Some(place.clone()),
        _ => None,
    });
    assert_eq!(place, Some(RunPlace::Node(node("a"))));
}

#[test]
fn node_reports_only_on_its_own_runs() {
    let mut going = task(1, Status::Ready).leased_to("swe", 2);
    going.history.node = Some(node("b"));
    let before = world([going, task(2, Status::Ready)]);
    let output = |fence| Request::Message {
        origin: MessageOrigin::RunOutput {
            nonce: None,
            from_socket: false,
            task: id(1),
            attempt: 1,
            fence,
            seq: 1,
            kind: None,
            flaw: None,
            needs_token: false,
            refused: None,
        },
        text: vec![],
    };
    let exited = |fence| Request::RunExited {
        task: id(1),
        fence,
        exit: RunExit::Code(0),
        tail: String::new(),
        telemetry: Box::default(),
    };
    let checked = |fence| Request::WorkChecked { task: id(1), fence, evidence: Box::default() };
    let beat = |fence| Request::Beat { task: id(1), fence };
    let merged = MergeResult::Waits { reason: "dirty".into() };
    let merged = Request::WorkMerged { task: id(1), merged: Box::new(merged) };
    let is_foreign =
        |name: &str, request: &Request| foreign_report(&before, &node(name), request).is_some();
    for request in [output(2), exited(2), checked(2), beat(2), beat(9), merged] {
        assert!(is_foreign("a", &request), "{request:?}");
        assert!(!is_foreign("b", &request), "{request:?}");
    }
    // The rules for late reports keep these.
    for late in [output(1), exited(1), checked(1), beat(1)] {
        assert!(!is_foreign("a", &late), "{late:?}");
    }
    assert!(!is_foreign("a", &Request::Beat { task: id(2), fence: 1 }), "it has no node");
    assert!(!is_foreign("a", &Request::SessionEnd(Some(id(1)))), "it is no report of a run");
    let may = |name: &str, effect: &Effect| may_settle(effect, &node(name), &before);
    let stop = Effect::StopRun { task: id(1), fence: 2, reason: StopReason::LeaseLost };
    assert!(may("b", &stop) && !may("a", &stop));
    let taken = Effect::NoteTaken { task: id(1), attempt: 1, seq: 1 };
    assert!(may("b", &taken) && may("a", &taken), "the messages may be of an earlier run");
}

#[test]
fn node_labels_count_as_tags_of_all_its_agents() {
    let policy =
        fleet(&[("a", with(4, &[("swe", 4)], &[])), ("z", with(4, &[("swe", 4)], &["gpu"]))]);
    let mut wants = task(1, Status::Ready).routed_to("swe");
    wants.routing.tags = vec!["gpu".into()];
    let mut nobody = task(2, Status::Ready).routed_to("swe");
    nobody.routing.tags = vec!["tpu".into()];
    let before = world([wants, nobody]).with_policy(policy);
    let given = after(&before, &tick(&before, TickFacts::default()));
    assert_eq!(places(&given), pairs(&[("001", Some("z")), ("002", None)]));
    let holds = hold_reasons(&given, &id(2), now());
    assert_eq!(holds.len(), 1, "{holds:?}");
    assert_eq!(holds[0].code, "no_agent");
    assert_eq!(holds[0].text, "No node that is up has agent swe and the tags of the task.");
}

#[test]
fn lost_node_runs_are_reassigned_to_another_node() {
    let both = fleet(&[("a", with(1, &[("swe", 1)], &[])), ("b", with(1, &[("swe", 1)], &[]))]);
    let before = ready(1..=1, "swe").with_policy(both);
    let given = after(&before, &tick(&before, TickFacts::default()));
    assert_eq!(places(&given), pairs(&[("001", Some("a"))]));
    let alone = given.with_policy(fleet(&[("b", with(1, &[("swe", 1)], &[]))]));
    let seen = RunFacts { life: RunLiveness::Gone, ..RunFacts::default() };
    let facts =
        TickFacts { runs: BTreeMap::from([(id(1), seen)]), jitter: 0, ..TickFacts::default() };
    let lost = after(&alone, &tick(&alone, facts));
    let task = lost.task(&id(1)).expect("it is there");
    assert_eq!(task.status(), Status::Ready);
    assert_eq!(task.history.open, None, "nobody will see the end of it");
    let later = Time::from_millis(now().as_millis() + 3_600_000);
    let again = decide(&lost, &Input::Tick { facts: TickFacts::default() }, later);
    assert_eq!(places(&after(&lost, &again)), pairs(&[("001", Some("b"))]));
}

#[test]
fn leader_change_is_recorded() {
    let decision = decide(&World::default(), &Input::LeaderChanged { node: node("b") }, now());
    let [happened] = &decision.events[..] else { panic!("one event: {:?}", decision.events) };
    assert_eq!(happened.event, Event::FleetDecider { node: node("b") });
}

#[test]
fn silent_node_is_assigned_nothing() {
    let both = fleet(&[("a", with(1, &[("swe", 1)], &[])), ("b", with(1, &[("swe", 1)], &[]))]);
    let before = ready(1..=2, "swe").with_policy(both);
    let facts = TickFacts { unreachable_nodes: [node("a")].into(), ..TickFacts::default() };
    let given = after(&before, &tick(&before, facts));
    assert_eq!(places(&given), pairs(&[("001", Some("b")), ("002", None)]));
}

/// A node with one agent, `swe`, with this policy.
fn own(swe: AgentPolicy) -> NodePolicy {
    NodePolicy { concurrency: 4, agents: [(agent("swe"), swe)].into(), labels: vec![] }
}

/// A node whose `swe` works on branches, which are merged.
fn on_branches(slots: u32) -> NodePolicy {
    let place = policy::WorkspaceKind::Worktree;
    own(AgentPolicy { slots, place, merge: Some(MergeMode::Squash), ..AgentPolicy::default() })
}

/// Assigns tasks an hour later, when every backoff is over.
fn later(world: &World) -> World {
    let at = Time::from_millis(now().as_millis() + 3_600_000);
    after(world, &decide(world, &Input::Tick { facts: TickFacts::default() }, at))
}

fn place_of(world: &World, number: u64) -> Option<String> {
    let task = world.task(&id(number)).filter(|task| task.lease().is_some())?;
    task.history.node.as_ref().map(ToString::to_string)
}

/// Ends the run of a task with this exit and telemetry.
fn exit(world: &World, number: u64, exit: RunExit, telemetry: AgentTelemetry) -> Decision {
    let fence = world.task(&id(number)).and_then(Task::lease).map_or(0, |lease| lease.fence);
    let (task, tail, telemetry) = (id(number), String::new(), Box::new(telemetry));
    let (found, workspace, jitter) = (None, None, 7);
    let ended = Input::RunExited { task, fence, exit, tail, found, workspace, jitter, telemetry };
    decide(world, &ended, now())
}

fn run(world: &World, command: Command) -> Decision {
    decide(world, &Input::Command { by: CommandCaller::Operator(operator()), command }, now())
}

#[test]
fn node_agent_settings_apply_to_runs_on_that_node() {
    let done = AgentPolicy { on_exit_ok: OnExitOk::Done, ..slotted(1) };
    let tagged = AgentPolicy { tags: vec!["rust".into()], ..slotted(1) };
    let policy = fleet(&[("a", own(slotted(1))), ("b", own(done)), ("c", own(tagged))]);
    let mut rust = task(1, Status::Ready);
    rust.routing.tags = vec!["rust".into()];
    let before = world([rust, task(2, Status::Ready), task(3, Status::Ready)]).with_policy(policy);
    let given = after(&before, &tick(&before, TickFacts::default()));
    let expected = [("001", Some("c")), ("002", Some("a")), ("003", Some("b"))];
    assert_eq!(places(&given), pairs(&expected));
    let silent =
        |number| events(&exit(&given, number, RunExit::Code(0), AgentTelemetry::default()));
    assert_eq!(silent(2), "run.exited run.failed transitioned(in-progress->ready)");
    assert_eq!(silent(3), "run.exited transitioned(in-progress->review)");
}

#[test]
fn unusable_agent_on_one_node_is_replaced_by_another_node() {
    let policy = fleet(&[("a", own(slotted(2))), ("b", own(slotted(2)))]);
    let before = ready(1..=1, "swe").with_policy(policy);
    let given = after(&before, &tick(&before, TickFacts::default()));
    assert_eq!(place_of(&given, 1).as_deref(), Some("a"));
    let trouble = AgentTrouble::Unusable { reason: "401".into() };
    let telemetry = AgentTelemetry { trouble: Some(trouble), ..AgentTelemetry::default() };
    let parked = after(&given, &exit(&given, 1, RunExit::Code(1), telemetry));
    let items = inbox(&parked, now());
    assert_eq!(items.len(), 1, "{items:?}");
    assert_eq!(items[0].text, "agent swe on a cannot be used: 401");
    let again = after(&parked, &tick(&parked, TickFacts::default()));
    assert_eq!(place_of(&again, 1).as_deref(), Some("b"), "no attempt was spent, and it goes on");
    assert_eq!(inbox(&again, now()).len(), 1, "a is still to be seen to");
    // Only node a has the agent, so no other node can continue.
    let only = parked.with_policy(fleet(&[("a", own(slotted(2)))]));
    let holds = hold_reasons(&only, &id(1), now());
    let text = "swe on a cannot be used: 401; `adjutant agents test swe` on a tries it again.";
    assert_eq!((holds.len(), holds[0].text.as_str()), (1, text));
    assert_eq!(place_of(&later(&only), 1), None);
}

#[test]
fn unusable_agent_is_tried_once_on_each_node() {
    let policy = fleet(&[("a", own(slotted(2))), ("b", own(slotted(2)))]);
    let mut world = ready(1..=1, "swe").with_policy(policy);
    let tried = |world: &World| {
        let given = after(world, &tick(world, TickFacts::default()));
        let place = place_of(&given, 1)?;
        let trouble = AgentTrouble::Unusable { reason: "401".into() };
        let telemetry = AgentTelemetry { trouble: Some(trouble), ..AgentTelemetry::default() };
        Some((place, after(&given, &exit(&given, 1, RunExit::Code(1), telemetry))))
    };
    let mut places = vec![];
    while let Some((place, then)) = tried(&world).filter(|_| places.len() < 5) {
        places.push(place);
        world = then;
    }
    assert_eq!(places, ["a", "b"]);
    assert_eq!(place_of(&later(&world), 1), None, "a person has to do something");
    let texts: Vec<String> = inbox(&world, now()).into_iter().map(|item| item.text).collect();
    let text = |node: &str| format!("agent swe on {node} cannot be used: 401");
    assert_eq!(texts, [text("a"), text("b")]);
    let freed = after(&world, &run(&world, Command::Free { agent: agent("swe") }));
    assert_eq!(place_of(&later(&freed), 1).as_deref(), Some("a"));
}

/// Two nodes that work on branches, and a task that node a worked on.
fn worked_on_by_a() -> World {
    let policy = fleet(&[("a", on_branches(1)), ("b", on_branches(1))]);
    let before = ready(1..=1, "swe").with_policy(policy);
    let world = after(&before, &tick(&before, TickFacts::default()));
    assert_eq!(place_of(&world, 1).as_deref(), Some("a"));
    let world = after(&world, &send(&world, &completion(1, "swe", WorkOutcome::Done)));
    let world = after(&world, &exit(&world, 1, RunExit::Code(0), AgentTelemetry::default()));
    let changes = Some(DiffStat { files: 1, insertions: 2, deletions: 0 });
    let evidence = Box::new(WorkEvidence { changes, ..WorkEvidence::default() });
    let checked = Input::WorkChecked { task: id(1), fence: 1, evidence, jitter: 7 };
    let world = after(&world, &decide(&world, &checked, now()));
    assert_eq!(world.task(&id(1)).map(Task::status), Some(Status::Review));
    world
}

#[test]
fn node_has_runs_until_they_are_seen_to_end() {
    let policy = fleet(&[("a", on_branches(1)), ("b", on_branches(1))]);
    let before = ready(1..=1, "swe").with_policy(policy);
    let given = after(&before, &tick(&before, TickFacts::default()));
    let said = after(&given, &send(&given, &completion(1, "swe", WorkOutcome::Done)));
    // The checks have to run on its node, which may never come back.
    let ended = after(&said, &exit(&said, 1, RunExit::Code(0), AgentTelemetry::default()));
    let has = |world: &World| ["a", "b"].map(|name| has_runs(world, &node(name)));
    let all = [&before, &given, &said, &ended].map(has);
    assert_eq!(all, [[false, false], [true, false], [true, false], [false, false]]);
    assert!(ended.task(&id(1)).is_some_and(|task| task.history.claim().is_some()));
}

#[test]
fn rejected_work_continues_on_the_node_with_its_branch() {
    let world = worked_on_by_a();
    let reject = Command::Reject { id: id(1), reason: "name it".into() };
    let back = after(&world, &run(&world, reject));
    assert_eq!(place_of(&later(&back), 1).as_deref(), Some("a"));
    // Even if another node has a free slot and a has none.
    let busy =
        [task(2, Status::Ready).leased_to("swe", 1), crate::support::tasks(&back)[0].clone()];
    let busy = busy.map(|mut task| {
        task.history.node = Some(node("a"));
        task
    });
    let full = crate::support::world(busy).with_policy(back.policy().clone());
    assert_eq!(place_of(&later(&full), 1), None);
    let holds = hold_reasons(&full, &id(1), now());
    let text = "It continues on node a, which has its branch and no free slot.";
    assert_eq!((holds.len(), holds[0].text.as_str()), (1, text));
    // A drained node does not hold the task back.
    let drained = fleet(&[("a", on_branches(0)), ("b", on_branches(1))]);
    assert_eq!(place_of(&later(&back.clone().with_policy(drained)), 1).as_deref(), Some("b"));
    // Nor does a node that is not up.
    let alone = back.with_policy(fleet(&[("b", on_branches(1))]));
    assert_eq!(place_of(&later(&alone), 1).as_deref(), Some("b"));
}

#[test]
fn merge_waits_for_the_absent_node_that_has_the_branch() {
    let alone = worked_on_by_a().with_policy(fleet(&[("b", own(slotted(1)))]));
    let asked = run(&alone, Command::Approve { id: id(1), note: "good".into() });
    assert_eq!(events(&asked), "merge.requested");
    assert_eq!(asked.effects, [Effect::MergeWork { task: id(1), attempt: 1 }]);
    let waits = after(&alone, &asked);
    let holds = hold_reasons(&waits, &id(1), now());
    assert_eq!(
        holds[0].text,
        "It is approved. It will be merged when node a, which has its branch, is up."
    );
}

#[test]
fn claim_without_merge_mode_uses_the_policy_of_present_nodes() {
    let older = worked_on_by_a();
    let mut tasks = crate::support::tasks(&older);
    tasks[0].history.change_work(|work| work.merge = None);
    let merges = |there: NodePolicy| {
        let world = world(tasks.clone()).with_policy(fleet(&[("b", there)]));
        events(&run(&world, Command::Approve { id: id(1), note: "good".into() }))
    };
    assert_eq!(merges(on_branches(1)), "merge.requested");
    assert_eq!(merges(own(slotted(1))), "transitioned(review->done)", "nobody knows of a merge");
}

#[test]
fn session_is_resumed_only_on_its_node() {
    let session = AgentSession { agent: agent("swe"), id: "s-1".into(), node: Some(node("a")) };
    let mut task = task(1, Status::Ready).leased_to("swe", 2);
    task.history.keep(|account| account.session = Some(session));
    task.history.node = Some(node("a"));
    assert_eq!(resume::session_to_resume(&task, &agent("swe")), Some("s-1"));
    task.history.node = Some(node("b"));
    assert_eq!(resume::session_to_resume(&task, &agent("swe")), None);
}
