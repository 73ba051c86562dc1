//! Five nodes, three servers, and every few seconds something happens to one of them.

#![expect(clippy::print_stdout, reason = "a random test says what it did")]

use std::time::{Duration, Instant};

use adjutant_test_support::soak::cases;
use adjutant_testkit::cluster::Cluster;
use adjutant_testkit::dice::Dice;

use crate::fleet::diary::Diary;
use crate::fleet::messages::{kept, said};
use crate::fleet::misfortune::{Misfortunes, Scene};
use crate::fleet::node::{Node, PATIENCE, accepted_once, is_whole, prefix, until, until_or};
use crate::fleet::orders::Orders;
use crate::fleet::wire::Wire;

/// How many tasks there are for every change; a soak has many times as many.
const TASKS: u32 = 16;
/// How many tasks wait at most for an agent, and how many for an answer.
const WAITING_MAX: (usize, usize) = (10, 3);

const SETTINGS: &str = "[scheduler]\nheartbeat_ttl = \"4s\"\ngrace = \"300ms\"\npoll = \"1s\"\n\
                        backoff = \"1ms\"\nattempts_max = 1000\nconcurrency = 2\n\
                        [agents.swe]\nkind = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n\
                        slots = 2\n";

/// Every message has words of its own. What it was told is in the record is written down.
const DOES: &str = r#"run="$ADJUTANT_TASK_ID/$ADJUTANT_ATTEMPT"
progress "$run begun"
work 7
adjutant report progress "$run half" >/dev/null && note "told $run half"
work 7
finish "$run done"
"#;

#[test]
fn whatever_happens_every_task_is_accepted_once() {
    let seed = Dice::seed();
    println!("ADJUTANT_SEED={seed}");
    let mut dice = Dice::from_seed(seed);
    let (prefix, diary) = (prefix("chaos"), Diary::new());
    let mut scene = scene(&prefix, &diary);
    let mut misfortunes = Misfortunes::new(dice.split());
    let orders = work_on(&mut scene, &mut misfortunes, &mut dice);
    println!("{} tasks promised; {}", orders.promised(), misfortunes.told.join(", "));
    assert!(misfortunes.are_all_told(), "everything that can happen has happened");

    let nodes = &mut scene.nodes;
    have_the_same_record(nodes);
    // What agents said was heard, however late: it counts, or it lies in salvage.
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

/// Asks for tasks and lets things happen, until everything has happened and all of them are done.
fn work_on(scene: &mut Scene, misfortunes: &mut Misfortunes, dice: &mut Dice) -> Orders {
    let (mut orders, tasks) = (Orders::default(), cases(TASKS));
    let end = Instant::now() + PATIENCE + 10 * tasks * Duration::from_secs(1);
    let is_more = |orders: &Orders, misfortunes: &Misfortunes| {
        orders.promised() < tasks as usize || !misfortunes.are_all_told()
    };
    while is_more(&orders, misfortunes) || orders.open() > 0 || !are_done(scene, misfortunes) {
        let told = &misfortunes.told;
        assert!(Instant::now() < end, "not done after {told:?}\n{}", all(&scene.nodes));
        scene.nodes.iter_mut().for_each(Node::must_live);
        misfortunes.go_on(scene);
        orders.hear();
        // Whoever is there is asked for more, whatever is going on.
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

/// Says that whatever an agent said is in the record or in salvage, once, on every node: if it got as
/// far as its outbox, or if the agent was told so.
fn every_message_is_kept_once(nodes: &[Node], diary: &Diary) {
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

/// Waits until every node has the same record.
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

/// Says whether a node that hears of the others knows of nothing left to do.
fn are_done(scene: &Scene, misfortunes: &Misfortunes) -> bool {
    let idle = |node: &&Node| node.count("ready") + node.count("in-progress") == 0;
    misfortunes.there(&scene.nodes).iter().all(idle)
}

fn waiting(nodes: &[Node]) -> usize {
    nodes.iter().map(|node| node.count("ready")).max().unwrap_or(0)
}

fn scene(prefix: &str, diary: &Diary) -> Scene {
    let cluster = Cluster::start();
    let wire = Wire::to(&cluster.address());
    let mut nodes: Vec<Node> =
        (0..5).map(|number| node(number, &wire, &cluster, prefix, diary)).collect();
    nodes.iter_mut().for_each(Node::up);
    until("somebody decides", || nodes[1].does(&["fleet", "status"])["decider"].is_string());
    Scene { nodes, cluster, wire }
}

fn node(number: usize, wire: &Wire, cluster: &Cluster, prefix: &str, diary: &Diary) -> Node {
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
