//! A node that hears nothing of the others: it decides nothing, lets its agents go on while their
//! leases last, ends them then, and tells what they said when it is back.

use adjutant_testkit::cluster::Shared;
use serde_json::Value;

use crate::node::{Node, accepted_once, is_whole, prefix, until, until_or};
use crate::wire::Wire;

const SETTINGS: &str = "[scheduler]\nheartbeat_ttl = \"6s\"\ngrace = \"300ms\"\nbackoff = \"1ms\"\n\
                        attempts_max = 100\n[agents.swe]\nkind = \"script\"\nscript = \"swe.yaml\"\n";

fn script(node: &Node, steps: &str) {
    std::fs::write(node.home().join("swe.yaml"), steps).expect("written");
}

#[test]
fn what_a_node_did_alone_is_kept_and_does_not_count() {
    let (shared, prefix) = (Shared::join(), prefix("cut"));
    let wire = Wire::to(&shared.address());
    let mut alone = Node::entered("alone", wire.address(), &prefix, SETTINGS, wire.enter());
    let mut others = Node::new("others", &shared.address(), &prefix, SETTINGS);
    // The first attempt says that it is done when nobody can hear it, and does not end.
    let first = "attempts: {1: [{work: 3s}, {report: {outcome: done, notes: alone}}, {work: 1h}]}\n\
                 steps: [{report: {outcome: done, notes: with others}}]\n";
    script(&alone, first);
    script(&others, first);
    alone.up();
    until("it decides", || alone.does(&["fleet", "status"])["decider"] == "alone");
    let task = alone.does(&["task", "add", "one", "--status", "ready", "--agent", "swe"]);
    let task = task["id"].as_str().expect("an id").to_owned();
    until("it works", || alone.processes().len() >= 3);
    wire.cut();
    others.up();
    // Another takes over, waits until the lease is over, and gives the task to somebody else.
    until("another does it", || others.count("review") == 1);
    until_or("its agent is stopped", || alone.processes().len() <= 1, || alone.shown());
    wire.mend();
    let salvaged = |events: &[Value]| {
        events.iter().any(|event| event["type"] == "run.salvaged" && event["taskId"] == *task)
    };
    until("what it said is kept", || salvaged(&others.events()));
    until("both have the same record", || alone.events() == others.events());
    let events = others.events();
    accepted_once(&events, &[task]);
    is_whole(&events);
    let deciders: Vec<&Value> =
        events.iter().filter(|event| event["type"] == "fleet.decider").collect();
    assert!(deciders.len() >= 2, "another took over: {deciders:?}");
    alone.down();
    others.down();
}
