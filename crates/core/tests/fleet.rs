//! Work in a fleet: a task goes to a node that has its agent, and to one with room.

#[expect(dead_code, reason = "each test file uses its own part of the support")]
mod support;

use std::collections::BTreeMap;

use adjutant_core::event::Event;
use adjutant_core::input::{Input, TickFacts};
use adjutant_core::policy::{AgentPolicy, NodePolicy, SchedulerPolicy};
use adjutant_core::run::{Life, Place, RunFacts};
use adjutant_core::schedule::why;
use adjutant_core::{Decision, NodeId, Policy, Status, Task, World, decide};

use support::{Given as _, after, agent, id, now, task, world};

fn node(name: &str) -> NodeId {
    NodeId::parse(name).expect("a good name")
}

/// A node with slots for some agents.
fn with(concurrency: u32, slots: &[(&str, u32)], labels: &[&str]) -> NodePolicy {
    NodePolicy {
        concurrency,
        slots: slots.iter().map(|(name, slots)| (agent(name), *slots)).collect(),
        labels: labels.iter().map(|label| (*label).into()).collect(),
    }
}

/// A fleet of these nodes: its agents have what the nodes have together.
fn fleet(nodes: &[(&str, NodePolicy)]) -> Policy {
    let mut policy = Policy::default();
    let mut agents = BTreeMap::new();
    for (name, at) in nodes {
        policy.nodes.insert(node(name), at.clone());
        for (agent, slots) in &at.slots {
            *agents.entry(agent.clone()).or_insert(0) += slots;
        }
    }
    let known = |slots| AgentPolicy { slots, ..AgentPolicy::default() };
    policy.agents = agents.into_iter().map(|(name, slots)| (name, known(slots))).collect();
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

/// Returns where each task went.
fn places(world: &World) -> Vec<(String, Option<String>)> {
    let place = |task: &Task| {
        let node = task.trials.node.as_ref().map(ToString::to_string);
        (task.id.to_string()[16..].to_owned(), node.filter(|_| task.lease().is_some()))
    };
    support::tasks(world).iter().map(place).collect()
}

fn pairs(all: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    all.iter().map(|(id, at)| ((*id).to_owned(), at.map(str::to_owned))).collect()
}

#[test]
fn work_goes_to_nodes_that_have_its_agent_and_room() {
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
    assert_eq!(place, Some(Place::Node(node("a"))));
}

#[test]
fn what_a_node_is_good_for_counts_for_all_of_its_agents() {
    let policy =
        fleet(&[("a", with(4, &[("swe", 4)], &[])), ("z", with(4, &[("swe", 4)], &["gpu"]))]);
    let mut wants = task(1, Status::Ready).routed_to("swe");
    wants.routing.tags = vec!["gpu".into()];
    let mut nobody = task(2, Status::Ready).routed_to("swe");
    nobody.routing.tags = vec!["tpu".into()];
    let before = world([wants, nobody]).with_policy(policy);
    let given = after(&before, &tick(&before, TickFacts::default()));
    assert_eq!(places(&given), pairs(&[("001", Some("z")), ("002", None)]));
    let holds = why(&given, &id(2), now());
    assert_eq!(holds.len(), 1, "{holds:?}");
    assert_eq!(holds[0].code, "no_agent");
    assert_eq!(holds[0].text, "No node that is up has swe and what its tags ask for.");
}

#[test]
fn the_runs_of_a_node_that_is_gone_go_elsewhere() {
    let both = fleet(&[("a", with(1, &[("swe", 1)], &[])), ("b", with(1, &[("swe", 1)], &[]))]);
    let before = ready(1..=1, "swe").with_policy(both);
    let given = after(&before, &tick(&before, TickFacts::default()));
    assert_eq!(places(&given), pairs(&[("001", Some("a"))]));
    let alone = given.with_policy(fleet(&[("b", with(1, &[("swe", 1)], &[]))]));
    let seen = RunFacts { life: Life::Gone, ..RunFacts::default() };
    let facts =
        TickFacts { runs: BTreeMap::from([(id(1), seen)]), jitter: 0, ..TickFacts::default() };
    let lost = after(&alone, &tick(&alone, facts));
    let task = lost.task(&id(1)).expect("it is there");
    assert_eq!(task.status(), Status::Ready);
    assert_eq!(task.trials.open, None, "nobody will see the end of it");
    let later = adjutant_core::Time::from_millis(now().as_millis() + 3_600_000);
    let again = decide(&lost, &Input::Tick { facts: TickFacts::default() }, later);
    assert_eq!(places(&after(&lost, &again)), pairs(&[("001", Some("b"))]));
}

#[test]
fn taking_over_is_written_down() {
    let decision = decide(&World::default(), &Input::TookOver { node: node("b") }, now());
    let [happened] = &decision.events[..] else { panic!("one event: {:?}", decision.events) };
    assert_eq!(happened.event, Event::FleetDecider { node: node("b") });
}

#[test]
fn a_node_that_is_not_heard_is_given_nothing() {
    let both = fleet(&[("a", with(1, &[("swe", 1)], &[])), ("b", with(1, &[("swe", 1)], &[]))]);
    let before = ready(1..=2, "swe").with_policy(both);
    let facts = TickFacts { away: [node("a")].into(), ..TickFacts::default() };
    let given = after(&before, &tick(&before, facts));
    assert_eq!(places(&given), pairs(&[("001", Some("b")), ("002", None)]));
}
