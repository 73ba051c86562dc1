//! What all nodes of a fleet must be at one about: whose a name is, and the times they go by.

use adjutant_testkit::cluster::Shared;
use serde_json::Value;

use crate::node::{Node, prefix, until, until_or};

/// Writes the settings of a node, with these times.
fn go_by(node: &Node, (address, prefix): (&str, &str), term: &str, ttl: &str) {
    let name = &node.name;
    node.settle(&format!(
        "store = {address:?}\n[scheduler]\nheartbeat_ttl = \"{ttl}\"\n[nats]\nnode = {name:?}\n\
         prefix = {prefix:?}\nterm = \"{term}\"\n"
    ));
}

/// Returns who decides, as a node is told.
fn decider(node: &Node) -> Value {
    node.does(&["fleet", "status"])["decider"].clone()
}

/// Returns how often somebody began to decide, as far as a node has heard.
fn terms(node: &Node) -> usize {
    node.events().iter().filter(|event| event["type"] == "fleet.decider").count()
}

#[test]
fn a_name_belongs_to_one_node() {
    let (shared, prefix) = (Shared::join(), prefix("namesakes"));
    let mut one = Node::new("desk", &shared.address(), &prefix, "");
    let mut other = Node::new("desk", &shared.address(), &prefix, "");
    one.up();
    until_or("the first is up", || terms(&one) == 1, || one.said());
    let refused = other.tries(&["up", "--until-idle"]).expect_err("the name is taken");
    assert!(refused.contains("another node calls itself desk"), "{refused}");
    assert!(refused.contains("hint: give this machine a name of its own"), "{refused}");
    one.must_live();
    // One that is killed has its name no more, and has it again when it is back.
    one.kill();
    one.up();
    until_or("it is back", || terms(&one) == 2, || one.said());
    one.must_live();
    // Who was not heard when another came up leaves when it sees that.
    one.freeze();
    other.up();
    until_or("the other is up", || terms(&other) == 3, || other.said());
    one.thaw();
    until("the first leaves", || one.has_ended());
    assert!(one.said().contains("another node calls itself desk"), "{}", one.said());
    other.must_live();
}

#[test]
fn nodes_that_go_by_different_times_are_told_apart() {
    let (shared, prefix) = (Shared::join(), prefix("times"));
    let (address, at) = (shared.address(), prefix.as_str());
    let mut desk = Node::new("desk", &address, at, "");
    let laptop = Node::new("laptop", &address, at, "");
    go_by(&desk, (&address, at), "2s", "10s");
    desk.up();
    until_or("the first is up", || terms(&desk) == 1, || desk.said());
    go_by(&laptop, (&address, at), "2s", "30s");
    let refused = laptop.tries(&["up", "--until-idle"]).expect_err("it goes by another time");
    let why = "heartbeat_ttl is 30s here, and 10s for the nodes that are up (desk)";
    assert!(refused.contains(why), "{refused}");
    assert!(refused.contains("two agents could work on one task"), "{refused}");
    go_by(&laptop, (&address, at), "4s", "10s");
    let refused = laptop.tries(&["up", "--until-idle"]).expect_err("it goes by another time");
    let why = "term is 4s here, and 2s for the nodes that are up (desk)";
    assert!(refused.contains(why), "{refused}");
    desk.must_live();
    go_by(&laptop, (&address, at), "2s", "10s");
    laptop.does(&["up", "--until-idle"]);
}

#[test]
fn a_node_that_was_not_heard_when_others_changed_the_times_leaves() {
    let (shared, prefix) = (Shared::join(), prefix("changed"));
    let (address, at) = (shared.address(), prefix.as_str());
    let [mut desk, mut laptop] = ["desk", "laptop"].map(|name| Node::new(name, &address, at, ""));
    go_by(&desk, (&address, at), "2s", "10s");
    go_by(&laptop, (&address, at), "2s", "30s");
    desk.up();
    until_or("the first is up", || terms(&desk) == 1, || desk.said());
    desk.freeze();
    laptop.up();
    until_or("the other is up", || terms(&laptop) == 2, || laptop.said());
    desk.thaw();
    until("the first leaves", || desk.has_ended());
    let why = "heartbeat_ttl is 10s here, and 30s for the nodes that are up";
    assert!(desk.said().contains(why), "{}", desk.said());
    laptop.must_live();
}

#[test]
fn a_longer_term_counts_once_all_nodes_have_been_down() {
    let (shared, prefix) = (Shared::join(), prefix("term"));
    let (address, at) = (shared.address(), prefix.as_str());
    let mut node = Node::new("desk", &address, at, "");
    go_by(&node, (&address, at), "1s", "10s");
    node.up();
    until_or("it decides", || terms(&node) == 1, || node.said());
    node.down();
    // Three times as long: it renews once a second, by when the right was gone before.
    go_by(&node, (&address, at), "4s", "10s");
    node.up();
    until_or("it decides again", || terms(&node) == 2, || node.said());
    let end = std::time::Instant::now() + std::time::Duration::from_secs(8);
    until("two terms are over", || {
        assert_eq!(decider(&node), "desk", "{}", node.said());
        std::time::Instant::now() > end
    });
    assert_eq!(terms(&node), 2, "it never lost the right: {}", node.said());
}
