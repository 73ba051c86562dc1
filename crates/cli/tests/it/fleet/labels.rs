//! Tasks that need a certain machine: a task with a tag goes to a node with that label.

use adjutant_testkit::cluster::SharedCluster;
use serde_json::Value;

use crate::fleet::node::{Node, accepted_once, prefix, until, until_or};

const AGENT: &str = "[agents.swe]\nkind = \"command\"\ncommand = [\"adjutant\", \"report\", \"done\"]\n\
                     slots = 2\n";

fn add(node: &Node, more: &[&str]) -> String {
    let task = node.does(&[&["task", "add", "A task", "--status", "ready"], more].concat());
    task["id"].as_str().expect("an id").to_owned()
}

/// Returns the nodes on which runs of a task were started.
fn given_to(events: &[Value], task: &str) -> Vec<String> {
    let started = events.iter().filter(|event| event["type"] == "run.started");
    let of = started.filter(|event| event["taskId"] == task);
    of.map(|event| event["payload"]["node"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn task_with_tag_goes_to_node_with_that_label() {
    let (shared, prefix) = (SharedCluster::join(), prefix("labels"));
    let mut plain = Node::new("plain", &shared.address(), &prefix, AGENT);
    let labelled = format!("labels = [\"gpu\", \"linux\"]\n{AGENT}");
    let mut gpu = Node::new("with-gpu", &shared.address(), &prefix, &labelled);
    plain.up();
    until("it decides", || plain.does(&["fleet", "status"])["decider"] == "plain");
    // While no node has the label, the task waits, and `why` gives the reason.
    let first = add(&plain, &["--tag", "gpu"]);
    let why = plain.does(&["why", &first]);
    assert_eq!((&why["runnable"], &why["reasons"][0]["code"]), (&false.into(), &"no_agent".into()));
    gpu.up();
    until_or("who has the label does it", || plain.count("review") == 1, || gpu.shown());
    let tasks = [
        add(&plain, &["--tag", "gpu", "--agent", "swe"]),
        add(&gpu, &["--tag", "linux", "--tag", "gpu"]),
        add(&plain, &["--tag", "gpu"]),
    ];
    until_or("all are done", || plain.count("review") == 4, || plain.said() + &gpu.said());
    let nowhere = add(&plain, &["--tag", "gpu", "--tag", "mac"]);
    until("the other node follows", || gpu.tries(&["why", &nowhere]).is_ok());
    assert_eq!(gpu.does(&["why", &nowhere])["reasons"][0]["code"], "no_agent");
    let events = plain.events();
    accepted_once(&events, &tasks);
    for task in tasks.iter().chain([&first]) {
        assert_eq!(given_to(&events, task), ["with-gpu"], "{task}");
    }
}
