//! The least a node needs, as the manual says it: with that, and no more, it can do everything.

use std::fs;
use std::path::Path;

use adjutant_testkit::cluster::Cluster;

use crate::fleet::node::{Node, until, until_or};

/// Returns what the manual says about rights.
fn rights() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet.md");
    let text = fs::read_to_string(page).expect("the manual");
    let begin = text.find("permissions: {").expect("the rights of a node");
    let end = begin + text[begin..].find("```").expect("the end of the sample");
    text[begin..end].to_owned()
}

/// An agent that prints something, and leaves more than fits into a message.
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
fn a_node_needs_no_more_rights_than_the_manual_says() {
    let cluster = Cluster::with_rights(&rights());
    // The prefix of the manual, so that its words are taken as they stand.
    let mut a = Node::bare("a");
    a.does(&["init", "."]);
    a.does(&["task", "add", "Before there was a fleet"]);
    a.share(&cluster.address(), "adjutant", AGENT);
    // A copy is kept, and another joins by it.
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
    // The lease was given back, and the other takes it.
    until("another decides", || b.does(&["fleet", "status"])["decider"] == "b");
    b.down();
    assert_eq!(denied(), "", "nothing was tried that the manual does not name");
}

/// Returns what a server did not let anybody do.
fn denials(cluster: &Cluster, server: usize) -> String {
    let said = cluster.said(server);
    let denied = said.lines().filter(|line| line.contains("Violation"));
    denied.flat_map(|line| [line, "\n"]).collect()
}
