//! The disk of the node that decides is full: another decides, and nobody waits for room.

use adjutant_testkit::cluster::Shared;
use adjutant_testkit::room::Room;
use adjutant_testkit::small_disk::on_a_small_disk;

use crate::fleet::node::{Node, is_whole, prefix, until_or};

fn decider(node: &Node) -> String {
    let status = node.tries(&["fleet", "status", "--json"]).unwrap_or_default();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap_or_default();
    status["decider"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn who_has_no_room_lets_others_decide() {
    on_a_small_disk("fleet::full::who_has_no_room_lets_others_decide", |disk| {
        let (shared, prefix) = (Shared::join(), prefix("full"));
        let mut small = Node::on(disk, "small", &shared.address(), &prefix);
        let mut large = Node::new("large", &shared.address(), &prefix, "");
        small.up();
        until_or("the small one decides", || decider(&small) == "small", || small.said());
        large.up();
        let nodes = || large.does(&["fleet", "status"])["nodes"].as_array().map_or(0, Vec::len);
        until_or("both are there", || nodes() == 2, || large.said());
        large.does(&["task", "add", "before"]);
        let room = Room::at(disk);
        room.fill();
        // Whoever asks may be told that there is no room, until somebody else decides.
        let adds = || large.tries(&["task", "add", "meanwhile"]).is_ok();
        until_or("work goes on", adds, || small.said() + &large.said());
        assert_eq!(decider(&large), "large", "{}{}", small.said(), large.said());
        room.free();
        let all = || small.count("backlog") == large.count("backlog");
        until_or("the small one has caught up", all, || small.said());
        small.must_live();
        large.does(&["task", "add", "afterwards"]);
        until_or("both have the same", || small.events() == large.events(), || small.said());
        is_whole(&large.events());
        assert_eq!(large.count("backlog"), small.count("backlog"));
    });
}
