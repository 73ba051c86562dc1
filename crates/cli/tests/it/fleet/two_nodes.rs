//! Two nodes that have different agents and share one event log.

use adjutant_testkit::cluster::SharedCluster;
use serde_json::json;

use crate::fleet::node::{Node, accepted_once, is_whole, prefix, until};

fn agent(node: &Node, name: &str, steps: &str) {
    let script = node.home().join(format!("{name}.yaml"));
    std::fs::write(&script, format!("steps: {steps}\n")).expect("written");
    let path = node.data().join("adjutant.toml");
    let before = std::fs::read_to_string(&path).expect("settings");
    let script = script.display();
    let more = format!("[agents.{name}]\nkind = \"script\"\nscript = \"{script}\"\nslots = 2\n");
    std::fs::write(&path, format!("{before}{more}")).expect("written");
}

#[test]
fn task_goes_to_node_with_its_agent_and_all_nodes_see_it() {
    let (shared, prefix) = (SharedCluster::join(), prefix("two"));
    let settings = "[scheduler]\nheartbeat_ttl = \"8s\"\ngrace = \"300ms\"\n";
    let mut a = Node::new("a", &shared.address(), &prefix, settings);
    let mut b = Node::new("b", &shared.address(), &prefix, settings);
    agent(&a, "writer", "[{print: hello from a}, {adjutant: [report, done]}]");
    let outputs = "[{print: hello from b}, {work: 300ms}, {adjutant: [report, progress, half]}, \
                   {report: {outcome: done}}]";
    agent(&b, "tester", outputs);
    a.up_at("127.0.0.1:0");
    b.up();
    until("both nodes are there", || {
        let status = a.does(&["fleet", "status"]);
        status["nodes"].as_array().is_some_and(|nodes| nodes.len() == 2)
            && status["decider"].is_string()
    });
    let add = |node: &Node, title: &str, to: &str| {
        let task = node.does(&["task", "add", title, "--status", "ready", "--agent", to]);
        task["id"].as_str().expect("an id").to_owned()
    };
    // Every node knows the agents of all nodes, and `why` says that no node has this one.
    let listed = a.does(&["agents"]);
    let nodes = json!([
        {"node": "a", "agents": {"writer": 2}}, {"node": "b", "agents": {"tester": 2}}
    ]);
    assert_eq!(listed["nodes"], nodes, "{listed}");
    let nobody = add(&a, "wait", "nobody");
    let why = b.does(&["why", &nobody]);
    assert_eq!(why["reasons"][0]["code"], "no_agent", "{why}");
    b.does(&["task", "cancel", &nobody]);
    // Each task is added on the node that does not have its agent.
    let tasks = [add(&b, "write", "writer"), add(&a, "test", "tester")];
    until("both are done, as both nodes see it", || {
        a.count("review") == 2 && b.count("review") == 2
    });
    let events = a.events();
    accepted_once(&events, &tasks);
    is_whole(&events);
    let started = |task: &str| {
        let is =
            |event: &&serde_json::Value| event["type"] == "run.started" && event["taskId"] == task;
        events.iter().find(is).map(|event| event["payload"]["node"].clone())
    };
    assert_eq!(started(&tasks[0]), Some(json!("a")));
    assert_eq!(started(&tasks[1]), Some(json!("b")));
    until("both have the same record", || a.events() == b.events());
    // The output of an agent can be read on any node.
    until("a reads what was printed on b", || {
        a.tries(&["logs", &tasks[1]]).is_ok_and(|log| log.contains("hello from b"))
    });
    for path in ["log", "log?follow=true"] {
        let log = a.get(&format!("/v1/tasks/{}/{path}", tasks[1]));
        assert!(log.starts_with("HTTP/1.1 200") && log.contains("hello from b"), "{log}");
    }
    let page = a.get(&format!("/tasks/{}", tasks[1]));
    assert!(page.contains("hello from b"), "{page}");
    assert_eq!(a.does(&["doctor"])["ok"], true);
    assert_eq!(b.does(&["doctor"])["ok"], true);
    a.down();
    b.down();
    // Without a daemon, a command connects to the servers by itself.
    let third = add(&a, "later", "writer");
    let listed = b.does(&["task", "list", "--status", "ready"]);
    assert_eq!(listed[0]["id"], third, "{listed}");
}
