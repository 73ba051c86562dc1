//! A node that drains: it leaves when its runs are over, which may take longer than a lease.

use adjutant_testkit::cluster::SharedCluster;
use rustix::process::Signal;

use crate::fleet::node::{Node, prefix, until, until_or};

/// A lease time, and room for one run on each node. [`SLOW`] works for half as long again as a
/// lease, and [`QUICK`] is done at once.
const TIMES: &str = "[scheduler]\nconcurrency = 1\nheartbeat_ttl = \"8s\"\n";
const SLOW: &str = "[agents.slow]\nkind = \"command\"\nsandbox = \"none\"\nslots = 2\n\
    command = [\"sh\", \"-c\", \"echo >> began; sleep 12; adjutant report done\"]\n";
const QUICK: &str = "[agents.quick]\nkind = \"command\"\nsandbox = \"none\"\n\
    command = [\"sh\", \"-c\", \"adjutant report done\"]\n";

#[test]
fn draining_node_finishes_runs_while_others_get_work() {
    let (shared, prefix) = (SharedCluster::join(), prefix("draining"));
    let node = |name: &str, agent: &str| {
        Node::new(name, &shared.address(), &prefix, &format!("{TIMES}{agent}"))
    };
    let (mut leaves, mut stays) = (node("leaves", SLOW), node("stays", QUICK));
    leaves.up();
    let status = || leaves.does(&["fleet", "status"]);
    until("it decides", || status()["decider"] == "leaves");
    stays.up();
    until("both are there", || status()["nodes"].as_array().is_some_and(|all| all.len() == 2));
    let add = |agent: &str| {
        stays.does(&["task", "add", "One", "--status", "ready", "--agent", agent]);
    };
    let began = || std::fs::read_to_string(leaves.home().join("began")).unwrap_or_default();
    add("slow");
    until_or("it works", || !began().is_empty(), || leaves.said());

    leaves.tell_daemon(Signal::INT);
    until_or("it drains", || leaves.said().contains("draining"), || leaves.said());
    add("quick");
    until_or("the other is given work", || stays.count("review") == 1, || leaves.said());
    assert!(!leaves.has_ended(), "it decides until it leaves: {}", leaves.said());
    add("slow");
    until("its run is over and it leaves", || leaves.has_ended());
    until_or("that counts", || stays.count("review") == 2, || stays.said());
    assert_eq!(stays.count("ready"), 1, "it was given nothing more");
    let failed = stays.events().into_iter().find(|event| event["type"] == "run.failed");
    assert_eq!(failed, None);
}
