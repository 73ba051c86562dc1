//! Nodes of different versions: the fleet has one wire protocol, and a node that speaks another is
//! refused and changes nothing.

use adjutant_testkit::cluster::SharedCluster;
use adjutant_testkit::nats_admin::NatsAdmin;
use serde_json::Value;

use crate::fleet::node::{Node, prefix, until};

/// Sets the protocol version of the fleet, as a newer version of Adjutant would.
fn speak(shared: &SharedCluster, prefix: &str, protocol: &str) {
    let subject = format!("$KV.{prefix}_keys.protocol");
    let answer =
        NatsAdmin::connect_when_ready(&shared.address()).publish(&subject, protocol.as_bytes());
    assert!(answer["error"].is_null(), "{answer}");
}

#[test]
fn node_of_another_protocol_is_refused() {
    let (shared, prefix) = (SharedCluster::join(), prefix("protocol"));
    let node = Node::new("a", &shared.address(), &prefix, "");
    node.does(&["up", "--until-idle"]);
    node.does(&["task", "add", "Before"]);
    let commits = format!("{prefix}_commits");
    let before = NatsAdmin::connect_when_ready(&shared.address()).messages(&commits);
    speak(&shared, &prefix, "5");
    for arguments in [&["task", "add", "After"][..], &["up", "--until-idle"]] {
        let refused = node.tries(arguments).expect_err("it is refused");
        let words = "error: cannot join the fleet\n  caused by: this version of Adjutant speaks \
                     fleet protocol 4, but the fleet speaks 5\nhint: install the version of \
                     Adjutant that the other nodes run\n";
        assert!(refused.ends_with(words), "{arguments:?}: {refused}");
    }
    assert_eq!(
        NatsAdmin::connect_when_ready(&shared.address()).messages(&commits),
        before,
        "nothing was committed"
    );
    let findings = node.findings();
    let codes: Vec<&Value> = findings.iter().map(|finding| &finding["code"]).collect();
    assert_eq!(codes, ["fleet_protocol_differs"]);
    // A new machine is refused before it receives any events.
    let other = Node::new("b", &shared.address(), &prefix, "");
    other.tries(&["up", "--until-idle"]).expect_err("it is refused");
    assert!(other.events().is_empty(), "nothing was followed");
    speak(&shared, &prefix, "4");
    node.does(&["task", "add", "After"]);
}

#[test]
fn node_leaves_when_fleet_goes_over_to_another_protocol() {
    let (shared, prefix) = (SharedCluster::join(), prefix("upgraded"));
    let mut node = Node::new("a", &shared.address(), &prefix, "");
    node.up();
    until("it is up", || !node.events().is_empty());
    speak(&shared, &prefix, "5");
    until("it leaves", || node.has_ended());
    assert!(node.said().contains("the fleet speaks 5"), "{}", node.said());
}
