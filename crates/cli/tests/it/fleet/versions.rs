//! Nodes of different versions: the fleet has one wire protocol, and a node that speaks another is
//! told so and leaves everything as it is.

use adjutant_testkit::cluster::Shared;
use adjutant_testkit::desk::Desk;
use serde_json::Value;

use crate::fleet::node::{Node, prefix, until};

/// Says what the fleet speaks, as a newer version would.
fn speak(shared: &Shared, prefix: &str, protocol: &str) {
    let subject = format!("$KV.{prefix}_keys.protocol");
    let answer = Desk::at(&shared.address()).publish(&subject, protocol.as_bytes());
    assert!(answer["error"].is_null(), "{answer}");
}

#[test]
fn node_of_another_protocol_is_refused() {
    let (shared, prefix) = (Shared::join(), prefix("protocol"));
    let node = Node::new("a", &shared.address(), &prefix, "");
    node.does(&["up", "--until-idle"]);
    node.does(&["task", "add", "Before"]);
    let commits = format!("{prefix}_commits");
    let before = Desk::at(&shared.address()).messages(&commits);
    speak(&shared, &prefix, "2");
    for arguments in [&["task", "add", "After"][..], &["up", "--until-idle"]] {
        let refused = node.tries(arguments).expect_err("it is refused");
        let words = "error: cannot be a node of this fleet\n  caused by: this version of Adjutant \
                     speaks fleet protocol 1, and the fleet speaks 2\nhint: install the version of \
                     Adjutant that the other nodes have\n";
        assert!(refused.ends_with(words), "{arguments:?}: {refused}");
    }
    assert_eq!(Desk::at(&shared.address()).messages(&commits), before, "nothing was committed");
    let findings = node.findings();
    let codes: Vec<&Value> = findings.iter().map(|finding| &finding["code"]).collect();
    assert_eq!(codes, ["fleet_protocol_differs"]);
    // A new machine is refused before it has anything of the others.
    let other = Node::new("b", &shared.address(), &prefix, "");
    other.tries(&["up", "--until-idle"]).expect_err("it is refused");
    assert!(other.events().is_empty(), "nothing was followed");
    speak(&shared, &prefix, "1");
    node.does(&["task", "add", "After"]);
}

#[test]
fn node_leaves_when_fleet_goes_over_to_another_protocol() {
    let (shared, prefix) = (Shared::join(), prefix("upgraded"));
    let mut node = Node::new("a", &shared.address(), &prefix, "");
    node.up();
    until("it is up", || !node.events().is_empty());
    speak(&shared, &prefix, "2");
    until("it leaves", || node.has_ended());
    assert!(node.said().contains("the fleet speaks 2"), "{}", node.said());
}
