//! Tests of `adjutant fleet status`: the nodes, the leader, how far each node lags, and its agents.

use std::fs::File;

use adjutant_testkit::cluster::SharedCluster;
use serde_json::{Value, json};

use crate::fleet::node::{Node, prefix, until, until_or};

/// Two agents, of which one works until a file exists.
const SETTINGS: &str = r#"
[scheduler]
concurrency = 3

[agents.swe]
kind = "command"
sandbox = "none"
command = ["sh", "-c", "while [ ! -e end ]; do sleep 0.1; done; adjutant report done"]
slots = 2

[agents.qa]
kind = "command"
sandbox = "none"
command = ["true"]
"#;

/// The lock that a writer of the data folder holds.
const LOCK: &str = "journal/lock";

/// Returns the nodes of the status, without the fields that differ in every test.
fn nodes(by: &Node) -> Value {
    let mut nodes = by.does(&["fleet", "status"])["nodes"].take();
    for node in nodes.as_array_mut().expect("nodes") {
        let node = node.as_object_mut().expect("a node");
        let [since, version] = ["since", "version"].map(|field| node.remove(field));
        assert!(since.is_some_and(|since| since.is_string()), "{node:?}");
        assert!(version.is_some_and(|version| version.is_u64()), "{node:?}");
    }
    nodes
}

/// Returns the lines of the table, without the times since when nodes are up.
fn table(by: &Node) -> Vec<String> {
    let text = by.tries(&["fleet", "status"]).expect("a table");
    let is_time = |word: &&str| word.ends_with('Z') && word.contains('T');
    let row = |line: &str| {
        let words = line.split_whitespace().filter(|word| !is_time(word));
        words.collect::<Vec<&str>>().join(" ")
    };
    text.lines().map(row).collect()
}

fn behind(by: &Node, of: &str) -> Option<u64> {
    let nodes = nodes(by);
    let node = nodes.as_array()?.iter().find(|node| node["node"] == of)?;
    node["behind"].as_u64()
}

#[test]
fn fleet_status_shows_nodes_leader_and_lag() {
    let (shared, prefix) = (SharedCluster::join(), prefix("status"));
    let node = |name: &str, settings: &str| Node::new(name, &shared.address(), &prefix, settings);
    let mut a = node("a", "[scheduler]\nconcurrency = 1\n");
    let mut b = node("b", &format!("labels = [\"gpu\", \"linux\"]\n{SETTINGS}"));
    let mut c = node("c", "");
    assert_eq!(table(&a), ["no node is up; start one with `adjutant up`"]);
    a.up();
    until("a decides", || a.does(&["fleet", "status"])["decider"] == "a");
    b.up();
    c.up();
    b.does(&["task", "add", "Long", "--status", "ready", "--agent", "swe"]);
    let told = |name: &str, runs: u32, concurrency: u32| {
        json!({
            "node": name, "decides": name == "a", "behind": 0, "runs": runs,
            "concurrency": concurrency, "labels": [], "agents": {},
            "program": env!("CARGO_PKG_VERSION"),
        })
    };
    let mut works = told("b", 1, 3);
    works["labels"] = json!(["gpu", "linux"]);
    works["agents"] = json!({ "qa": 1, "swe": 2 });
    let all = json!([told("a", 0, 1), works, told("c", 0, 4)]);
    until_or("everything is told", || nodes(&c) == all, || nodes(&c).to_string());
    let rows = [
        "NODE ROLE BEHIND RUNS SINCE AGENTS",
        "a leader 0 0 of 1",
        "b follower 0 1 of 3 qa (1), swe (2) [gpu, linux]",
        "c follower 0 0 of 4",
    ];
    until_or("people are told the same", || table(&c) == rows, || table(&c).join("\n"));

    // A node that cannot write to its folder falls behind, and reports that.
    let held = File::open(c.data().join(LOCK)).expect("a lock");
    held.lock().expect("nobody holds it for long");
    for title in ["One", "Two"] {
        b.does(&["task", "add", title]);
    }
    until("c is behind", || behind(&a, "c").is_some_and(|behind| behind >= 2));
    until("the others are not", || behind(&a, "a") == Some(0) && behind(&a, "b") == Some(0));
    drop(held);
    until("c has caught up", || behind(&a, "c") == Some(0));
    // A frozen node does not answer the status request.
    c.freeze();
    until("c is missing", || behind(&a, "c").is_none());
    assert_eq!(table(&b).len(), 3, "{:?}", table(&b));
    c.thaw();
    until("c is back", || behind(&a, "c") == Some(0));
    std::fs::write(b.home().join("end"), "").expect("a file");
    until("b has no run any more", || nodes(&c)[1]["runs"] == 0);
}
