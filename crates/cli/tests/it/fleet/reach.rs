//! Servers that cannot be reached when a node is started.

use adjutant_testkit::cluster::{Cluster, Shared, Sync};

use crate::fleet::node::{Node, prefix, until, until_or};
use crate::fleet::wire::Wire;

#[test]
fn a_node_that_is_up_before_its_network_joins_when_it_can() {
    let (shared, prefix) = (Shared::join(), prefix("late"));
    let wire = Wire::to(&shared.address());
    let mut node = Node::entered("late", wire.address(), &prefix, "", wire.enter());
    wire.cut();
    let refused = node.tries(&["up", "--until-idle"]).expect_err("nobody answers");
    assert!(refused.contains("cannot join the fleet"), "{refused}");
    assert!(refused.contains("cannot connect at nats://"), "{refused}");
    assert!(refused.contains("hint: `store` in adjutant.toml"), "{refused}");
    assert!(!refused.contains("fleet:fleet"), "a password is not shown: {refused}");
    node.up();
    let said = |node: &Node| node.said().contains("tried again until they answer");
    until_or("it says that it tries again", || said(&node), || node.said());
    wire.mend();
    let decides = |node: &Node| {
        node.tries(&["fleet", "status", "--json"]).is_ok_and(|text| text.contains("\"late\""))
    };
    until_or("it joins", || decides(&node), || node.said());
    node.down();
}

/// Starts a daemon that must end by itself, and returns what it said.
fn ends(node: &mut Node) -> String {
    node.up();
    until("it ends", || node.has_ended());
    node.said()
}

#[test]
fn servers_that_will_not_do_are_refused_and_not_tried_again() {
    let alone = Cluster::start_with(1, Sync::Always);
    let mut node = Node::new("alone", &alone.address(), &prefix("alone"), "");
    let said = ends(&mut node);
    assert!(said.contains("a stream was asked for that is kept 3 times"), "{said}");
    assert!(said.contains("durability = \"relaxed\""), "{said}");

    let shared = Shared::join();
    let wrong = shared.address().replace("fleet:fleet@", "fleet:hunter2@");
    let mut node = Node::new("wrong", &wrong, &prefix("wrong"), "");
    let said = ends(&mut node);
    assert!(said.contains("cannot join the fleet"), "{said}");
    assert!(said.contains("cannot get into nats://127.0.0.1"), "{said}");
    assert!(said.contains("authorization violation"), "{said}");
    assert!(said.contains("hint: a name and a password are in `store`"), "{said}");
    assert!(!said.contains("hunter2") && !said.contains("tried again"), "{said}");
}
