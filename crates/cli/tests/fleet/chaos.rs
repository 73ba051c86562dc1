//! Five nodes, three servers, and every few seconds something happens to one of them.

use std::time::{Duration, Instant};

use adjutant_testkit::cluster::Cluster;
use adjutant_testkit::dice::Dice;
use adjutant_testkit::soak::cases;
use rustix::process::Signal;

use crate::node::{Node, PATIENCE, accepted_once, is_whole, prefix, until, until_or};
use crate::wire::Wire;

/// How many tasks there are; a soak has a thousand.
const TASKS: u64 = 40;
/// The time between two misfortunes.
const PAUSE: Duration = Duration::from_secs(3);
/// How long a node is frozen or cut off: longer than a lease.
const AWAY: Duration = Duration::from_secs(7);

const SETTINGS: &str = "[scheduler]\nheartbeat_ttl = \"4s\"\ngrace = \"300ms\"\npoll = \"1s\"\n\
                        backoff = \"1ms\"\nattempts_max = 1000\nconcurrency = 2\n\
                        [agents.swe]\nkind = \"script\"\nscript = \"swe.yaml\"\nslots = 2\n";

/// Somebody who is away, and comes back then.
enum Away {
    Server(usize),
    Dead(usize),
    Frozen(usize),
    Cut,
}

#[test]
fn whatever_happens_every_task_is_accepted_once() {
    let seed = Dice::seed();
    let mut dice = Dice::from_seed(seed);
    let (mut cluster, prefix) = (Cluster::start(), prefix("chaos"));
    let wire = Wire::to(&cluster.address());
    let mut nodes: Vec<Node> =
        (0..5).map(|number| node(number, &wire, &cluster, &prefix)).collect();
    nodes.iter_mut().for_each(Node::up);
    until("somebody decides", || nodes[1].does(&["fleet", "status"])["decider"].is_string());
    let mut left = cases(TASKS);
    let mut away: Vec<(Away, Instant)> = Vec::new();
    let mut next = Instant::now() + PAUSE;
    let end = Instant::now() + PATIENCE + Duration::from_secs(10 * cases(TASKS));
    let mut told: Vec<String> = Vec::new();
    while left > 0 || !are_done(&nodes, &away) {
        assert!(Instant::now() < end, "seed {seed}: not done after {told:?}\n{}", all(&nodes));
        nodes.iter_mut().for_each(Node::must_live);
        let (back, still) = away.into_iter().partition(|(_, since)| since.elapsed() > AWAY);
        away = still;
        for (who, _) in back {
            bring_back(&who, &mut nodes, &mut cluster, &wire);
        }
        if Instant::now() >= next && away.len() < 2 {
            let who = strike(&mut dice, &away, &mut nodes, &mut cluster, &wire);
            told.push(who.word());
            away.push((who, Instant::now()));
            next = Instant::now() + PAUSE;
        }
        // Whoever is there is asked for more, whatever is going on.
        if left > 0 && waiting(&nodes) < 10 {
            left -= u64::from(add(&nodes, &away, &mut dice, left));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    for (who, _) in away {
        bring_back(&who, &mut nodes, &mut cluster, &wire);
    }
    have_the_same_record(&nodes, seed);
    // What agents said was heard, however late: it counts, or it lies in salvage.
    until_or(
        "nobody said anything in vain",
        || nodes.iter().all(|node| node.unheard().is_empty()),
        || {
            let unheard = |node: &Node| format!("{}: {:?}\n", node.name, node.unheard());
            nodes.iter().map(unheard).collect::<String>() + &all(&nodes)
        },
    );
    have_the_same_record(&nodes, seed);
    let events = nodes[0].events();
    is_whole(&events);
    let made = made(&events);
    assert!(made.len() as u64 >= cases(TASKS), "seed {seed}: {} tasks", made.len());
    accepted_once(&events, &made);
    nodes.iter_mut().for_each(Node::down);
    for node in &nodes {
        assert_eq!(node.count("review"), made.len(), "seed {seed}: {}", node.name);
        assert_eq!(node.does(&["doctor"])["ok"], true, "seed {seed}: {}", node.name);
    }
    assert!(told.len() >= 3, "seed {seed}: too little happened: {told:?}");
}

/// Waits until every node has the same record.
fn have_the_same_record(nodes: &[Node], seed: u64) {
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
    let stands = || format!("seed {seed}\n{}", nodes.iter().map(stand).collect::<String>());
    until_or("all nodes have the same record", same, stands);
}

/// Returns the tasks there are, whoever was told of it: an answer may have been lost.
fn made(events: &[serde_json::Value]) -> Vec<String> {
    let made = events.iter().filter(|event| event["type"] == "task.created");
    made.map(|event| event["taskId"].as_str().expect("a task").to_owned()).collect()
}

fn there<'n>(nodes: &'n [Node], away: &[(Away, Instant)]) -> Vec<&'n Node> {
    let gone = |number: usize| away.iter().any(|(who, _)| who.node() == Some(number));
    let there = nodes.iter().enumerate().filter(|(number, _)| !gone(*number));
    there.map(|(_, node)| node).collect()
}

/// Says whether a node that hears of the others knows of nothing left to do.
fn are_done(nodes: &[Node], away: &[(Away, Instant)]) -> bool {
    let idle = |node: &&Node| node.count("ready") + node.count("in-progress") == 0;
    there(nodes, away).iter().all(idle)
}

fn waiting(nodes: &[Node]) -> usize {
    nodes.iter().map(|node| node.count("ready")).max().unwrap_or(0)
}

fn node(number: usize, wire: &Wire, cluster: &Cluster, prefix: &str) -> Node {
    let name = format!("n{number}");
    let node = match number {
        0 => Node::entered(&name, wire.address(), prefix, SETTINGS, wire.enter()),
        _ => Node::new(&name, &cluster.address(), prefix, SETTINGS),
    };
    let script = "steps: [{progress: begun}, {work: 1500ms}, {report: {outcome: done}}]\n";
    std::fs::write(node.home().join("swe.yaml"), script).expect("written");
    node
}

/// Adds a task by way of somebody who is there. Says whether that is known to have been done.
fn add(nodes: &[Node], away: &[(Away, Instant)], dice: &mut Dice, number: u64) -> bool {
    let there = there(nodes, away);
    let title = format!("task {number}");
    let node = dice.one_of(&there);
    node.tries(&["task", "add", &title, "--status", "ready", "--agent", "swe"]).is_ok()
}

impl Away {
    fn word(&self) -> String {
        match self {
            Self::Server(server) => format!("server {server} killed"),
            Self::Dead(node) => format!("node {node} killed"),
            Self::Frozen(node) => format!("node {node} frozen"),
            Self::Cut => "node 0 cut off".to_owned(),
        }
    }

    fn node(&self) -> Option<usize> {
        match self {
            Self::Server(_) => None,
            Self::Dead(node) | Self::Frozen(node) => Some(*node),
            Self::Cut => Some(0),
        }
    }
}

/// Lets something happen to somebody who is there. Never are two servers away at once.
fn strike(
    dice: &mut Dice,
    away: &[(Away, Instant)],
    nodes: &mut [Node],
    cluster: &mut Cluster,
    wire: &Wire,
) -> Away {
    let gone: Vec<usize> = away.iter().filter_map(|(who, _)| who.node()).collect();
    let there: Vec<usize> = (0..nodes.len()).filter(|node| !gone.contains(node)).collect();
    let servers = away.iter().all(|(who, _)| who.node().is_some());
    let node = *dice.one_of(&there);
    match dice.below(4) {
        0 if servers => {
            let server = dice.below(3);
            cluster.kill(server);
            Away::Server(server)
        }
        1 => {
            nodes[node].kill();
            Away::Dead(node)
        }
        2 => {
            nodes[node].send_all(Signal::STOP);
            Away::Frozen(node)
        }
        _ if there.contains(&0) => {
            wire.cut();
            Away::Cut
        }
        _ => {
            nodes[node].kill();
            Away::Dead(node)
        }
    }
}

fn bring_back(who: &Away, nodes: &mut [Node], cluster: &mut Cluster, wire: &Wire) {
    match who {
        Away::Server(server) => cluster.revive(*server),
        Away::Dead(node) => nodes[*node].up(),
        Away::Frozen(node) => nodes[*node].send_all(Signal::CONT),
        Away::Cut => wire.mend(),
    }
}

fn all(nodes: &[Node]) -> String {
    let said = |node: &Node| {
        format!("--- {}: {} in review\n{}", node.name, node.count("review"), node.said())
    };
    nodes.iter().map(said).collect()
}
