//! What all nodes of a fleet must agree about: which node owns a name, and the timings they use.

use adjutant_testkit::cluster::SharedCluster;
use adjutant_testkit::fleet_keys::accepted_lines;
use serde_json::Value;

use crate::fleet::node::{Node, prefix, until, until_or};

/// Writes the settings of a node with this leader term and heartbeat time to live.
fn set_timings(node: &Node, (address, prefix): (&str, &str), term: &str, ttl: &str) {
    let name = &node.name;
    node.settle(&format!(
        "store = {address:?}\n[scheduler]\nheartbeat_ttl = \"{ttl}\"\n[nats]\nnode = {name:?}\n\
         prefix = {prefix:?}\nterm = \"{term}\"\naccepted_keys = {:?}\n",
        accepted_lines()
    ));
}

/// Returns the name of the leader, as this node knows it.
fn decider(node: &Node) -> Value {
    node.does(&["fleet", "status"])["decider"].clone()
}

/// Returns how many leader terms began, according to this node's event log.
fn terms(node: &Node) -> usize {
    node.events().iter().filter(|event| event["type"] == "fleet.decider").count()
}

#[test]
fn node_name_belongs_to_one_node() {
    let (shared, prefix) = (SharedCluster::join(), prefix("namesakes"));
    let mut one = Node::new("desk", &shared.address(), &prefix, "");
    let mut other = Node::new("desk", &shared.address(), &prefix, "");
    one.up();
    until_or("the first is up", || terms(&one) == 1, || one.said());
    let refused = other.tries(&["up", "--until-idle"]).expect_err("the name is taken");
    assert!(refused.contains("another node is already named desk"), "{refused}");
    assert!(refused.contains("hint: give this machine another name"), "{refused}");
    one.must_live();
    // A node that was killed loses its name, and gets it again when it is back.
    one.kill();
    one.up();
    until_or("it is back", || terms(&one) == 2, || one.said());
    one.must_live();
    // A node that did not respond when another took its name leaves as soon as it notices.
    one.freeze();
    other.up();
    until_or("the other is up", || terms(&other) == 3, || other.said());
    one.thaw();
    until("the first leaves", || one.has_ended());
    assert!(one.said().contains("another node is already named desk"), "{}", one.said());
    other.must_live();
}

/// An agent that writes down the folder it works in, and works until the test ends it.
struct RecordingAgent(tempfile::TempDir);

impl RecordingAgent {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn agent(&self) -> String {
        let at = self.0.path().display();
        format!(
            "[agents.worker]\nkind = \"command\"\nsandbox = \"none\"\ncommand = [\"sh\", \"-c\", \"\"\"\n\
             echo \"$PWD\" >> {at}/began; while [ ! -e {at}/end ]; do sleep 0.1; done\n\
             adjutant report done\"\"\"]\n"
        )
    }

    /// Returns the folders in which it was started, in order, one per line.
    fn began(&self) -> String {
        std::fs::read_to_string(self.0.path().join("began")).unwrap_or_default()
    }

    fn end(&self) {
        std::fs::write(self.0.path().join("end"), "").expect("written");
    }
}

fn add_task_for_worker(node: &Node) {
    node.does(&["task", "add", "Once", "--status", "ready", "--agent", "worker"]);
}

#[test]
fn node_replaced_while_frozen_starts_no_runs() {
    let (shared, prefix, work) = (SharedCluster::join(), prefix("replaced"), RecordingAgent::new());
    let node = || Node::new("desk", &shared.address(), &prefix, &work.agent());
    let (mut one, mut other) = (node(), node());
    one.up();
    until_or("the first is up", || terms(&one) == 1, || one.said());
    one.freeze();
    other.up();
    until_or("the other is up", || terms(&other) == 2, || other.said());
    add_task_for_worker(&other);
    until_or("the other works", || !work.began().is_empty(), || other.said());
    // The event that the run was started is not in the event log before the next commit.
    one.thaw();
    until("the first leaves", || one.has_ended());
    assert!(one.said().contains("another node is already named desk"), "{}", one.said());
    work.end();
    until_or("it is done", || other.count("review") == 1, || other.said());
    assert_eq!(work.began(), format!("{}\n", other.home().display()), "it was begun once");
}

#[test]
fn node_name_with_runs_is_not_taken_over() {
    let (shared, prefix, work) = (SharedCluster::join(), prefix("lingers"), RecordingAgent::new());
    let node = || Node::new("desk", &shared.address(), &prefix, &work.agent());
    let (mut one, other) = (node(), node());
    one.up();
    until_or("the first is up", || terms(&one) == 1, || one.said());
    add_task_for_worker(&one);
    until_or("it works", || !work.began().is_empty(), || one.said());
    // The daemon does not respond, and no other node can tell whether its agent still runs.
    one.freeze();
    let refused = || other.tries(&["up", "--until-idle"]).expect_err("it has runs");
    until_or(
        "the first is heard no more",
        || refused().contains("may still have active runs"),
        refused,
    );
    assert!(
        refused().contains("hint: otherwise two agents could work on one task"),
        "{}",
        refused()
    );
    // The previous owner gets the name again, even after its daemon was killed, and finds its runs.
    one.kill_daemon();
    one.thaw();
    one.up();
    work.end();
    let ended = || one.events().iter().any(|event| event["type"] == "run.exited");
    until_or("it is over", || one.count("review") == 1 && ended(), || one.said());
    assert_eq!(work.began(), format!("{}\n", one.home().display()), "it was begun once");
    // A node without runs gives its name up.
    one.kill();
    other.does(&["up", "--until-idle"]);
}

#[test]
fn node_with_different_timings_is_refused() {
    let (shared, prefix) = (SharedCluster::join(), prefix("times"));
    let (address, at) = (shared.address(), prefix.as_str());
    let mut desk = Node::new("desk", &address, at, "");
    let laptop = Node::new("laptop", &address, at, "");
    set_timings(&desk, (&address, at), "2s", "10s");
    desk.up();
    until_or("the first is up", || terms(&desk) == 1, || desk.said());
    set_timings(&laptop, (&address, at), "2s", "30s");
    let refused = laptop.tries(&["up", "--until-idle"]).expect_err("it goes by another time");
    let why = "heartbeat_ttl is 30s on this node, but 10s on the nodes that are up (desk)";
    assert!(refused.contains(why), "{refused}");
    assert!(refused.contains("two agents could work on one task"), "{refused}");
    set_timings(&laptop, (&address, at), "4s", "10s");
    let refused = laptop.tries(&["up", "--until-idle"]).expect_err("it goes by another time");
    let why = "term is 4s on this node, but 2s on the nodes that are up (desk)";
    assert!(refused.contains(why), "{refused}");
    desk.must_live();
    set_timings(&laptop, (&address, at), "2s", "10s");
    laptop.does(&["up", "--until-idle"]);
}

#[test]
fn node_frozen_while_timings_changed_leaves() {
    let (shared, prefix) = (SharedCluster::join(), prefix("changed"));
    let (address, at) = (shared.address(), prefix.as_str());
    let [mut desk, mut laptop] = ["desk", "laptop"].map(|name| Node::new(name, &address, at, ""));
    set_timings(&desk, (&address, at), "2s", "10s");
    set_timings(&laptop, (&address, at), "2s", "30s");
    desk.up();
    until_or("the first is up", || terms(&desk) == 1, || desk.said());
    desk.freeze();
    laptop.up();
    until_or("the other is up", || terms(&laptop) == 2, || laptop.said());
    desk.thaw();
    until("the first leaves", || desk.has_ended());
    let why = "heartbeat_ttl is 10s on this node, but 30s on the nodes that are up";
    assert!(desk.said().contains(why), "{}", desk.said());
    laptop.must_live();
}

#[test]
fn leader_term_can_grow_once_all_nodes_were_down() {
    let (shared, prefix) = (SharedCluster::join(), prefix("term"));
    let (address, at) = (shared.address(), prefix.as_str());
    let mut node = Node::new("desk", &address, at, "");
    set_timings(&node, (&address, at), "1s", "10s");
    node.up();
    until_or("it decides", || terms(&node) == 1, || node.said());
    node.down();
    // The longer term renews once a second; at that interval, the shorter term would have expired.
    set_timings(&node, (&address, at), "4s", "10s");
    node.up();
    until_or("it decides again", || terms(&node) == 2, || node.said());
    let end = std::time::Instant::now() + std::time::Duration::from_secs(8);
    until("two terms are over", || {
        assert_eq!(decider(&node), "desk", "{}", node.said());
        std::time::Instant::now() > end
    });
    assert_eq!(terms(&node), 2, "it never lost the right: {}", node.said());
}
