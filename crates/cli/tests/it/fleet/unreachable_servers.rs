//! Servers that cannot be reached, or cannot be used, when a node starts.

use adjutant_testkit::cluster::{NatsCluster, SharedCluster, SyncSetting};

use crate::fleet::node::{Node, prefix, until, until_or};
use crate::fleet::node_link::NodeLink;

#[test]
fn node_started_before_network_joins_later() {
    let (shared, prefix) = (SharedCluster::join(), prefix("late"));
    let wire = NodeLink::to(&shared.address());
    let mut node = Node::entered("late", wire.address(), &prefix, "", wire.enter());
    wire.cut();
    let refused = node.tries(&["up", "--until-idle"]).expect_err("nobody answers");
    assert!(refused.contains("cannot join the fleet"), "{refused}");
    assert!(refused.contains("cannot connect at nats://"), "{refused}");
    assert!(refused.contains("hint: check the addresses in `store` of adjutant.toml"), "{refused}");
    assert!(!refused.contains("fleet:fleet"), "a password is not shown: {refused}");
    node.up();
    let said = |node: &Node| node.said().contains("retrying until the servers answer");
    until_or("it says that it tries again", || said(&node), || node.said());
    wire.mend();
    let decides = |node: &Node| {
        node.tries(&["fleet", "status", "--json"]).is_ok_and(|text| text.contains("\"late\""))
    };
    until_or("it joins", || decides(&node), || node.said());
    node.down();
}

/// Starts a daemon that must exit by itself, and returns its output.
fn ends(node: &mut Node) -> String {
    node.up();
    until("it ends", || node.has_ended());
    node.said()
}

#[test]
fn unsuitable_servers_are_refused_and_not_retried() {
    let alone = NatsCluster::start_with(1, SyncSetting::Always);
    let mut node = Node::new("alone", &alone.address(), &prefix("alone"), "");
    let said = ends(&mut node);
    assert!(said.contains("a stream with 3 replicas needs a cluster"), "{said}");
    assert!(said.contains("durability = \"relaxed\""), "{said}");

    let shared = SharedCluster::join();
    let wrong = shared.address().replace("fleet:fleet@", "fleet:hunter2@");
    let mut node = Node::new("wrong", &wrong, &prefix("wrong"), "");
    let said = ends(&mut node);
    assert!(said.contains("cannot join the fleet"), "{said}");
    assert!(said.contains(" refuse the credentials or the certificate of this node"), "{said}");
    assert!(said.contains("authorization violation"), "{said}");
    assert!(said.contains("hint: check the user and password in `store`"), "{said}");
    assert!(!said.contains("hunter2") && !said.contains("retrying"), "{said}");
}
