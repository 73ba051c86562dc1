//! Servers that cannot be reached when a node is started.

use adjutant_testkit::cluster::Shared;

use crate::node::{Node, prefix, until_or};
use crate::wire::Wire;

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
