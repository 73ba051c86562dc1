//! Five nodes and three servers, with a random fault every few seconds.

#![expect(clippy::print_stdout, reason = "a random test says what it did")]

use std::time::{Duration, Instant};

use adjutant_test_support::soak::cases;
use adjutant_testkit::cluster::NatsCluster;
use adjutant_testkit::seeded_rng::SeededRng;

use crate::fleet::agent_diary::AgentDiary;
use crate::fleet::fault_injector::{ChaosFleet, FaultInjector};
use crate::fleet::messages::{kept, said};
use crate::fleet::node::{Node, PATIENCE, accepted_once, is_whole, prefix, until, until_or};
use crate::fleet::node_link::NodeLink;
use crate::fleet::task_requests::TaskRequests;

/// How many tasks there are in an ordinary run; a soak has many times as many.
const TASKS: u32 = 16;
/// How many tasks may wait for an agent, and how many for an answer.
const WAITING_MAX: (usize, usize) = (10, 3);

const SETTINGS: &str = "[scheduler]\nheartbeat_ttl = \"4s\"\ngrace = \"300ms\"\npoll = \"1s\"\n\
                        backoff = \"1ms\"\nattempts_max = 1000\nconcurrency = 2\n\
                        [agents.swe]\nkind = \"command\"\nsandbox = \"none\"\ncommand = [\"sh\", \"agent.sh\"]\n\
                        slots = 2\n";

/// Every message has a unique text. The agent notes down a message once its command said that the
/// message was applied.
const DOES: &str = r#"run="$ADJUTANT_TASK_ID/$ADJUTANT_ATTEMPT"
progress "$run begun"
work 7
adjutant report progress "$run half" >/dev/null && note "told $run half"
work 7
finish "$run done"
"#;

#[test]
fn chaos_accepts_every_task_once() {
    let seed = SeededRng::seed_from_env();
    println!("ADJUTANT_SEED={seed}");
    let mut dice = SeededRng::from_seed(seed);
    let (prefix, diary) = (prefix("chaos"), AgentDiary::new());
    let mut scene = scene(&prefix, &diary);
    let mut misfortunes = FaultInjector::new(dice.split());
    let orders = work_on(&mut scene, &mut misfortunes, &mut dice);
    println!("{} tasks promised; {}", orders.promised(), misfortunes.told.join(", "));
    assert!(misfortunes.are_all_told(), "everything that can happen has happened");

    let nodes = &mut scene.nodes;
    have_the_same_record(nodes);
    // Late messages are heard too: each counts, or it lies in salvage.
    until_or(
        "nobody said anything in vain",
        || nodes.iter().all(|node| node.unheard().is_empty()),
        || {
            let unheard = |node: &Node| format!("{}: {:?}\n", node.name, node.unheard());
            nodes.iter().map(unheard).collect::<String>() + &all(nodes)
        },
    );
    have_the_same_record(nodes);
    let events = nodes[0].events();
    is_whole(&events);
    let made = orders.are_kept(&events);
    accepted_once(&events, &made);
    every_message_is_kept_once(nodes, &diary);
    diary.shows_one_at_a_time(&misfortunes.frozen);
    nodes.iter_mut().for_each(Node::down);
    for node in nodes {
        assert_eq!(node.count("review"), made.len(), "{}", node.name);
        assert_eq!(node.does(&["doctor"])["ok"], true, "{}", node.name);
    }
}

/// Adds tasks and injects faults, until every kind of fault has occurred and all tasks are done.
fn work_on(
    scene: &mut ChaosFleet,
    misfortunes: &mut FaultInjector,
    dice: &mut SeededRng,
) -> TaskRequests {
    let (mut orders, tasks) = (TaskRequests::default(), cases(TASKS));
    let end = Instant::now() + PATIENCE + 10 * tasks * Duration::from_secs(1);
    let is_more = |orders: &TaskRequests, misfortunes: &FaultInjector| {
        orders.promised() < tasks as usize || !misfortunes.are_all_told()
    };
    while is_more(&orders, misfortunes) || orders.open() > 0 || !are_done(scene, misfortunes) {
        let told = &misfortunes.told;
        assert!(Instant::now() < end, "not done after {told:?}\n{}", all(&scene.nodes));
        scene.nodes.iter_mut().for_each(Node::must_live);
        misfortunes.go_on(scene);
        orders.hear();
        // More tasks are requested from the nodes that are reachable, during faults as well.
        let waiting = (waiting(&scene.nodes), orders.open());
        let is_room = waiting.0 < WAITING_MAX.0 && waiting.1 < WAITING_MAX.1;
        if is_room && is_more(&orders, misfortunes) {
            let there = misfortunes.there(&scene.nodes);
            orders.ask(there[dice.below(there.len())]);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    misfortunes.end(scene);
    orders
}

/// Asserts that every node has each message exactly once, in the event log or in salvage, if the
/// message reached an outbox or its agent was told that it was applied.
fn every_message_is_kept_once(nodes: &[Node], diary: &AgentDiary) {
    let kept: Vec<_> = nodes.iter().map(kept).collect();
    let (first, told) = (&kept[0], diary.lines().into_iter());
    let told = told.filter_map(|line| line.what.strip_prefix("told ").map(str::to_owned));
    let all: Vec<String> = nodes.iter().flat_map(said).chain(told).collect();
    println!("{} messages known, {} kept", all.len(), first.len());
    for words in all {
        assert_eq!(first.get(&words), Some(&1), "{words:?} is kept once");
    }
    let twice: Vec<_> = first.iter().filter(|(_, times)| **times != 1).collect();
    assert!(twice.is_empty(), "nothing is kept twice: {twice:?}");
    assert!(kept.iter().all(|one| one == first), "every node keeps the same");
}

/// Waits until every node has the same event log.
fn have_the_same_record(nodes: &[Node]) {
    let same = || {
        let first = nodes[0].events();
        nodes.iter().all(|node| node.events() == first)
    };
    let stand = |node: &Node| {
        let events = node.events();
        let end: Vec<String> =
            events.iter().rev().take(5).map(|event| format!("{event}\n")).collect();
        let said = node.said();
        let said: Vec<&str> = said.lines().rev().take(20).collect();
        format!("--- {}: {} events\n{}{}\n", node.name, events.len(), end.concat(), said.join("\n"))
    };
    until_or("all nodes have the same record", same, || nodes.iter().map(stand).collect());
}

/// Says whether no reachable node knows of a task that is ready or in progress.
fn are_done(scene: &ChaosFleet, misfortunes: &FaultInjector) -> bool {
    let idle = |node: &&Node| node.count("ready") + node.count("in-progress") == 0;
    misfortunes.there(&scene.nodes).iter().all(idle)
}

fn waiting(nodes: &[Node]) -> usize {
    nodes.iter().map(|node| node.count("ready")).max().unwrap_or(0)
}

fn scene(prefix: &str, diary: &AgentDiary) -> ChaosFleet {
    let cluster = NatsCluster::start();
    let wire = NodeLink::to(&cluster.address());
    let mut nodes: Vec<Node> =
        (0..5).map(|number| node(number, &wire, &cluster, prefix, diary)).collect();
    nodes.iter_mut().for_each(Node::up);
    until("somebody decides", || nodes[1].does(&["fleet", "status"])["decider"].is_string());
    ChaosFleet { nodes, cluster, wire }
}

fn node(
    number: usize,
    wire: &NodeLink,
    cluster: &NatsCluster,
    prefix: &str,
    diary: &AgentDiary,
) -> Node {
    let name = format!("n{number}");
    let node = match number {
        0 => Node::entered(&name, wire.address(), prefix, SETTINGS, wire.enter()),
        _ => Node::new(&name, &cluster.address(), prefix, SETTINGS),
    };
    diary.agent(&node, DOES);
    node
}

fn all(nodes: &[Node]) -> String {
    let said = |node: &Node| {
        format!("--- {}: {} in review\n{}", node.name, node.count("review"), node.said())
    };
    nodes.iter().map(said).collect()
}
