//! The minimal NATS permissions in the manual: a node can do everything with them.

use std::fs;
use std::path::Path;

use adjutant_testkit::cluster::NatsCluster;

use crate::fleet::node::{Node, until, until_or};

/// Returns the permissions in the manual.
fn rights() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet.md");
    let text = fs::read_to_string(page).expect("the manual");
    let begin = text.find("permissions: {").expect("the rights of a node");
    let end = begin + text[begin..].find("```").expect("the end of the sample");
    text[begin..end].to_owned()
}

/// An agent that prints a line, and leaves a file that does not fit into one message.
const AGENT: &str = r#"
[agents.writer]
kind = "command"
command = ["sh", "-c", """
outputs="$ADJUTANT_DATA/tasks/in-progress/$ADJUTANT_TASK_ID/outputs"
mkdir -p "$outputs" && head -c 2000000 /dev/urandom >"$outputs/picture.bin"
echo "It is printed."
adjutant report done"""]
"#;

#[test]
fn node_needs_only_documented_nats_permissions() {
    let cluster = NatsCluster::with_rights(&rights());
    // The node uses the prefix of the manual, so that its text is used unchanged.
    let mut a = Node::bare("a");
    a.does(&["init", "."]);
    a.does(&["task", "add", "Before there was a fleet"]);
    a.share(&cluster.address(), "adjutant", AGENT);
    // A join archive is made, and another node joins by it.
    a.does(&["fleet", "restore"]);
    let mut b = Node::new("b", &cluster.address(), "adjutant", "");
    a.up();
    b.up();
    let denied = || -> String { (0..3).map(|server| denials(&cluster, server)).collect() };
    let status = || b.tries(&["fleet", "status", "--json"]).unwrap_or_default();
    until_or("both are there", || status().contains("\"node\":\"b\""), denied);
    let task = b.does(&["task", "add", "One", "--status", "ready", "--agent", "writer"]);
    let id = task["id"].as_str().expect("an id").to_owned();
    until_or("it is done", || b.count("review") == 1, denied);
    let printed = || b.tries(&["logs", &id]).unwrap_or_default();
    until_or("what it printed is shown", || printed().contains("It is printed."), denied);
    let picture = b.data().join(format!("tasks/review/{id}/outputs/picture.bin"));
    until("what it left is here", || picture.metadata().is_ok_and(|file| file.len() == 2_000_000));
    assert_eq!(b.does(&["doctor"])["ok"], true);
    a.down();
    // The leader gave its lease back, and the other node takes it.
    until("another decides", || b.does(&["fleet", "status"])["decider"] == "b");
    b.down();
    assert_eq!(denied(), "", "nothing was tried that the manual does not name");
}

/// Returns the permission violations in a server's log.
fn denials(cluster: &NatsCluster, server: usize) -> String {
    let said = cluster.server_log(server);
    let denied = said.lines().filter(|line| line.contains("Violation"));
    denied.flat_map(|line| [line, "\n"]).collect()
}
