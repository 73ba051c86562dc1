//! What all nodes of a fleet must be at one about: whose a name is, and the times they go by.

use adjutant_testkit::cluster::Shared;
use serde_json::Value;

use crate::fleet::node::{Node, prefix, until, until_or};

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

/// An agent that writes down where it works, until it is told to end.
struct Work(tempfile::TempDir);

impl Work {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn agent(&self) -> String {
        let at = self.0.path().display();
        format!(
            "[agents.worker]\nkind = \"command\"\ncommand = [\"sh\", \"-c\", \"\"\"\n\
             echo \"$PWD\" >> {at}/began; while [ ! -e {at}/end ]; do sleep 0.1; done\n\
             adjutant report done\"\"\"]\n"
        )
    }

    /// Returns where it was begun, one after the other.
    fn began(&self) -> String {
        std::fs::read_to_string(self.0.path().join("began")).unwrap_or_default()
    }

    fn end(&self) {
        std::fs::write(self.0.path().join("end"), "").expect("written");
    }
}

fn give(node: &Node) {
    node.does(&["task", "add", "Once", "--status", "ready", "--agent", "worker"]);
}

#[test]
fn one_that_was_replaced_while_it_was_frozen_starts_nothing_in_its_name() {
    let (shared, prefix, work) = (Shared::join(), prefix("replaced"), Work::new());
    let node = || Node::new("desk", &shared.address(), &prefix, &work.agent());
    let (mut one, mut other) = (node(), node());
    one.up();
    until_or("the first is up", || terms(&one) == 1, || one.said());
    one.freeze();
    other.up();
    until_or("the other is up", || terms(&other) == 2, || other.said());
    give(&other);
    until_or("the other works", || !work.began().is_empty(), || other.said());
    // That the run was started is not in the record before the next commit.
    one.thaw();
    until("the first leaves", || one.has_ended());
    assert!(one.said().contains("another node calls itself desk"), "{}", one.said());
    work.end();
    until_or("it is done", || other.count("review") == 1, || other.said());
    assert_eq!(work.began(), format!("{}\n", other.home().display()), "it was begun once");
}

#[test]
fn another_machine_does_not_take_a_name_that_has_runs() {
    let (shared, prefix, work) = (Shared::join(), prefix("lingers"), Work::new());
    let node = || Node::new("desk", &shared.address(), &prefix, &work.agent());
    let (mut one, other) = (node(), node());
    one.up();
    until_or("the first is up", || terms(&one) == 1, || one.said());
    give(&one);
    until_or("it works", || !work.began().is_empty(), || one.said());
    // Its daemon is gone, and nobody can tell whether its agent is.
    one.freeze();
    let refused = || other.tries(&["up", "--until-idle"]).expect_err("it has runs");
    until_or("the first is heard no more", || refused().contains("has runs that may"), refused);
    assert!(refused().contains("hint: two agents could work on one task"), "{}", refused());
    // Whoever had the name has it again, be it killed meanwhile, and finds its runs.
    one.kill_daemon();
    one.thaw();
    one.up();
    work.end();
    let ended = || one.events().iter().any(|event| event["type"] == "run.exited");
    until_or("it is over", || one.count("review") == 1 && ended(), || one.said());
    assert_eq!(work.began(), format!("{}\n", one.home().display()), "it was begun once");
    // What has nothing left gives its name away.
    one.kill();
    other.does(&["up", "--until-idle"]);
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
