//! The leader's disk is full: another node becomes leader, and no node waits for space.

use adjutant_testkit::cluster::SharedCluster;
use adjutant_testkit::disk_space::SmallDiskSpace;
use adjutant_testkit::small_disk::run_test_on_small_disk;

use crate::fleet::node::{Node, is_whole, prefix, until_or};

fn decider(node: &Node) -> String {
    let status = node.tries(&["fleet", "status", "--json"]).unwrap_or_default();
    let status: serde_json::Value = serde_json::from_str(&status).unwrap_or_default();
    status["decider"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn who_has_no_room_lets_others_decide() {
    run_test_on_small_disk("fleet::full::who_has_no_room_lets_others_decide", |disk| {
        let (shared, prefix) = (SharedCluster::join(), prefix("full"));
        let mut small = Node::on(disk, "small", &shared.address(), &prefix);
        let mut large = Node::new("large", &shared.address(), &prefix, "");
        small.up();
        until_or("the small one decides", || decider(&small) == "small", || small.said());
        large.up();
        let nodes = || large.does(&["fleet", "status"])["nodes"].as_array().map_or(0, Vec::len);
        until_or("both are there", || nodes() == 2, || large.said());
        large.does(&["task", "add", "before"]);
        let room = SmallDiskSpace::at(disk);
        room.fill();
        // Until another node leads, commands may be refused for lack of space.
        let adds = || large.tries(&["task", "add", "meanwhile"]).is_ok();
        until_or("work goes on", adds, || small.said() + &large.said());
        assert_eq!(decider(&large), "large", "{}{}", small.said(), large.said());
        room.release();
        let all = || small.count("backlog") == large.count("backlog");
        until_or("the small one has caught up", all, || small.said());
        small.must_live();
        large.does(&["task", "add", "afterwards"]);
        until_or("both have the same", || small.events() == large.events(), || small.said());
        is_whole(&large.events());
        assert_eq!(large.count("backlog"), small.count("backlog"));
    });
}
