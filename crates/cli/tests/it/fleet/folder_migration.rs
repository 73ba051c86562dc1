//! A project that moves from a folder to a fleet and back, and a fleet that loses its servers.

use std::fs;
use std::path::Path;

use adjutant_testkit::cluster::{NatsCluster, SharedCluster};
use serde_json::Value;

use crate::fleet::node::{Node, is_whole, prefix, until};

/// An agent that leaves a binary file.
const AGENT: &str = r#"
[agents.writer]
kind = "command"
sandbox = "none"
command = ["sh", "-c", """
outputs="$ADJUTANT_DATA/tasks/in-progress/$ADJUTANT_TASK_ID/outputs"
mkdir -p "$outputs" && head -c 70000 /dev/urandom >"$outputs/picture.bin"
adjutant report done"""]
"#;

fn add(node: &Node, title: &str, more: &[&str]) -> String {
    let task = node.does(&[&["task", "add", title, "--status", "ready"], more].concat());
    task["id"].as_str().expect("an id").to_owned()
}

/// File contents with their paths.
type FileContents = Vec<(String, Vec<u8>)>;

/// Returns everything that must not get lost: the tasks, the events and the files.
fn everything(node: &Node) -> (Value, Vec<Value>, FileContents) {
    let mut files = FileContents::new();
    for inside in ["tasks", "runs", "events"] {
        walk(&node.data().join(inside), &node.data(), &mut files);
    }
    files.sort();
    (node.does(&["task", "list"]), node.events(), files)
}

/// Skips the shim files and the output of agents, which stay on their machine, and their messages:
/// an archive redacts the tokens in them.
fn walk(folder: &Path, root: &Path, files: &mut FileContents) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            walk(&path, root, files);
        } else if !["shim.", "output.log", "outbox.jsonl"].iter().any(|own| name.starts_with(own)) {
            let inside = path.strip_prefix(root).expect("inside").display().to_string();
            files.push((inside, fs::read(&path).expect("a file")));
        }
    }
}

#[test]
fn folder_becomes_fleet_and_folder_again_without_loss() {
    let (shared, prefix) = (SharedCluster::join(), prefix("moved"));
    let mut a = Node::bare("a");
    a.does(&["init", "."]);
    a.settle(AGENT);
    let done = add(&a, "Done as a folder", &["--agent", "writer"]);
    a.does(&["up", "--until-idle", "--listen", "off"]);
    assert_eq!(a.count("review"), 1, "{}", a.said());
    let open = a.does(&["task", "add", "For later"])["id"].as_str().expect("an id").to_owned();
    let before = everything(&a);

    // The folder joins the fleet.
    a.share(&shared.address(), &prefix, AGENT);
    let refused = a.tries(&["task", "add", "Too early"]).expect_err("it is not the fleet's yet");
    assert!(refused.contains("adjutant fleet restore"), "{refused}");
    a.does(&["fleet", "restore"]);
    assert_eq!(everything(&a), before, "as it was");
    let twice = a.tries(&["fleet", "restore"]).expect_err("there is one by now");
    assert!(twice.contains("they are not overwritten"), "{twice}");

    // Another node joins, although these servers never had the first commits.
    let mut b = Node::new("b", &shared.address(), &prefix, "");
    a.up();
    b.up();
    until("both have the same record", || !a.events().is_empty() && a.events() == b.events());
    let last = add(&b, "Asked for on b", &["--agent", "writer"]);
    until("a does it, and b sees it", || b.count("review") == 2);
    until("both have the same record", || a.events() == b.events());
    let events = b.events();
    is_whole(&events);
    let mut started = events.iter().filter(|event| event["type"] == "run.started");
    let node =
        started.rfind(|event| event["taskId"] == *last).map(|event| &event["payload"]["node"]);
    assert_eq!(node, Some(&Value::from("a")), "work goes to nodes by name from the first on");
    let picture = |node: &Node| {
        let path = format!("tasks/review/{last}/outputs/picture.bin");
        fs::read(node.data().join(path)).unwrap_or_default()
    };
    assert_eq!((picture(&a).len(), picture(&b).len()), (70_000, 70_000));
    assert!(picture(&a) == picture(&b), "byte for byte");
    a.down();
    b.down();
    for node in [&a, &b] {
        assert_eq!(node.does(&["doctor"])["ok"], true);
        node.does(&["task", "show", &done]);
    }

    // The project becomes a folder again, from the node that joined.
    let archive = b.home().join("project.tar");
    b.does(&["export", archive.to_str().expect("a path")]);
    let fleet = everything(&b);
    let c = Node::bare("c");
    c.does(&["import", archive.to_str().expect("a path")]);
    c.settle("");
    assert_eq!(everything(&c), fleet, "as it was");
    assert_eq!(c.does(&["doctor"])["ok"], true);
    let next = add(&c, "On one machine again", &[]);
    assert!(next > last && last > open, "ids go on: {open} {last} {next}");
    is_whole(&c.events());
}

#[test]
fn fleet_with_lost_servers_is_restored_from_folder() {
    let (lost, prefix) = (NatsCluster::start(), prefix("lost"));
    let mut a = Node::new("a", &lost.address(), &prefix, "");
    a.up();
    let one = add(&a, "Before", &[]);
    until("it is here", || a.count("ready") == 1);
    a.down();
    let before = a.events();
    drop(lost);
    let told = a.finds();
    assert!(told.contains("fleet_unreachable"), "{told}");

    let new = NatsCluster::start();
    a.share(&new.address(), &prefix, "");
    let mut b = Node::new("b", &new.address(), &prefix, "");
    a.does(&["fleet", "restore"]);
    a.up();
    b.up();
    until("b has what was before", || b.events().starts_with(&before));
    let two = add(&b, "After", &[]);
    until("both have it", || a.count("ready") == 2 && b.count("ready") == 2);
    assert!(two > one, "{one} {two}");
    a.down();
    b.down();
    assert_eq!(b.does(&["doctor"])["ok"], true);
    is_whole(&a.events());
}
