//! The leader dies: another node becomes leader and continues where it stopped.

#![expect(clippy::print_stdout, reason = "how long it took is worth knowing")]

use std::time::{Duration, Instant};

use adjutant_testkit::cluster::SharedCluster;
use serde_json::{Value, json};

use crate::fleet::node::{Node, PATIENCE, is_whole, prefix, until};

/// How long it may take until a message is accepted again, on a busy machine. Benchmarks measure
/// the real time.
const SOON: Duration = Duration::from_secs(30);

/// Sends a message about a task through a node, and says whether it was applied.
fn is_accepted(node: &Node, task: &str, words: &str) -> bool {
    let message = json!({
        "protocol": "aof", "version": 1, "type": "status.update", "taskId": task,
        "fromAgent": "swe", "toAgent": "dispatcher", "sentAt": "2026-02-09T21:10:00.000Z",
        "payload": { "taskId": task, "agentId": "swe", "progress": words },
    });
    let file = node.home().join("message.json");
    std::fs::write(&file, message.to_string()).expect("written");
    let sent = node.tries(&["send", file.to_str().expect("a path"), "--json"]);
    sent.is_ok_and(|answer| answer.contains("\"applied\""))
}

fn nodes(by: &Node) -> usize {
    by.does(&["fleet", "status"])["nodes"].as_array().map_or(0, Vec::len)
}

#[test]
fn leader_death_makes_another_node_leader() {
    let (shared, prefix) = (SharedCluster::join(), prefix("failover"));
    let [mut a, mut b, mut c] =
        ["a", "b", "c"].map(|name| Node::new(name, &shared.address(), &prefix, ""));
    a.up();
    until("a decides", || a.does(&["fleet", "status"])["decider"] == "a");
    b.up();
    c.up();
    until("all are there", || nodes(&a) == 3);
    let task = b.does(&["task", "add", "A task"])["id"].as_str().expect("an id").to_owned();
    assert!(is_accepted(&b, &task, "before"));

    a.kill();
    let (died, mut tries) = (Instant::now(), 0);
    let accepted = loop {
        tries += 1;
        if is_accepted(&b, &task, &format!("try {tries}")) {
            break died.elapsed();
        }
        assert!(died.elapsed() < PATIENCE, "nobody takes over\n{}{}", b.said(), c.said());
    };
    println!("a message was accepted {accepted:?} after the decider died, at try {tries}");
    assert!(accepted < SOON, "{accepted:?}");
    until("both have the same record", || b.events() == c.events());
    let events = c.events();
    is_whole(&events);
    let logged: Vec<&Value> =
        events.iter().filter(|event| event["type"] == "task.logged").collect();
    let words = |event: &&Value| event["payload"]["progress"].clone();
    let last = format!("try {tries}");
    let said: Vec<Value> = logged.iter().map(words).collect();
    assert_eq!(said.iter().filter(|words| **words == *last).count(), 1, "{said:?}");
    assert_eq!(said[0], "before", "{said:?}");
    let decider = events.iter().rfind(|event| event["type"] == "fleet.decider");
    let node = &decider.expect("somebody decides")["payload"]["node"];
    assert!(node == "b" || node == "c", "{node}");
}
