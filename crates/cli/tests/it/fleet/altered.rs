//! What somebody did to the streams behind everybody's back: the doctor says it, and no node goes on
//! as if nothing had happened.

use std::fs;

use adjutant_testkit::cluster::Shared;
use adjutant_testkit::desk::Desk;
use serde_json::{Value, json};

use crate::fleet::node::{Node, prefix};

/// A node with some commits, and whoever administers the servers.
fn begun(name: &str) -> (Shared, Node, Desk, String) {
    let (shared, prefix) = (Shared::join(), prefix(name));
    let node = Node::new("a", &shared.address(), &prefix, "");
    for title in ["One", "Two", "Three", "Four"] {
        node.does(&["task", "add", title]);
    }
    assert_eq!(node.does(&["doctor"])["ok"], true);
    let desk = Desk::at(&shared.address());
    (shared, node, desk, prefix)
}

/// Returns what the doctor finds, by its code.
fn found(node: &Node, code: &str) -> String {
    let findings = node.findings();
    let of = |finding: &&Value| finding["code"] == code;
    let all = findings.iter().filter(of).filter_map(|finding| finding["text"].as_str());
    let all: Vec<&str> = all.collect();
    assert!(!all.is_empty(), "{code} is not among {findings:?}");
    all.join("\n")
}

#[test]
fn a_forged_commit_is_found() {
    let (_shared, node, mut desk, prefix) = begun("forged");
    let (number, last) = desk.messages(&format!("{prefix}_commits")).pop().expect("a commit");
    let text = String::from_utf8(last).expect("text");
    let next = format!("\"version\":{}", number + 1);
    let forged = text.replace(&format!("\"version\":{number}"), &next);
    desk.publish(&format!("{prefix}.commits"), forged.as_bytes());
    let words = found(&node, "fleet_record_broken");
    assert!(words.starts_with(&format!("commit {}: ", number + 1)), "{words}");
    let refused = node.tries(&["task", "add", "Five"]).expect_err("no folder follows it");
    assert!(!refused.contains("adjutant has a mistake"), "{refused}");
}

#[test]
fn a_hole_is_no_end() {
    let (shared, node, mut desk, prefix) = begun("hole");
    let stream = format!("{prefix}_commits");
    // A commit cannot be taken out of the stream as it was made.
    desk.make_anew(&stream, &json!({ "deny_delete": false }));
    desk.ask(&format!("STREAM.MSG.DELETE.{stream}"), &json!({ "seq": 2 }));
    assert_eq!(found(&node, "fleet_record_broken"), "commit 2: it is missing");
    assert!(found(&node, "fleet_stream_altered").contains("deny_delete"));
    // Whoever follows is told, and does not take the hole for the end.
    desk.set(&stream, "deny_delete", json!(true));
    let other = Node::new("b", &shared.address(), &prefix, "");
    let refused = other.tries(&["task", "add", "Five"]).expect_err("it cannot follow");
    assert!(refused.contains("commit 2 is missing in the stream"), "{refused}");
    assert!(refused.contains("adjutant fleet restore"), "{refused}");
    assert_eq!(other.events().len(), 1, "it followed as far as it could");
}

#[test]
fn a_stream_that_was_set_otherwise_is_found_and_refused() {
    let (_shared, node, mut desk, prefix) = begun("altered");
    let stream = format!("{prefix}_commits");
    desk.set(&stream, "max_age", json!(86_400_000_000_000_u64));
    let words = found(&node, "fleet_stream_altered");
    assert_eq!(words, format!("the stream {stream}: it drops what is old (max_age)"));
    let refused = node.tries(&["task", "add", "Five"]).expect_err("it would be dropped");
    assert!(refused.contains("it drops what is old (max_age)"), "{refused}");
    assert!(refused.contains("nats stream edit"), "{refused}");
    desk.set(&stream, "discard", json!("old"));
    assert!(found(&node, "fleet_stream_altered").contains("(discard)"));
    desk.set(&stream, "discard", json!("new"));
    desk.set(&stream, "max_age", json!(0));
    node.does(&["task", "add", "Five"]);
    // What else is shared must be kept as often.
    let lease = format!("KV_{prefix}_lease");
    let config = json!({
        "name": lease, "subjects": [format!("$KV.{prefix}_lease.>")], "max_msgs_per_subject": 1,
        "storage": "file", "num_replicas": 1, "allow_rollup_hdrs": true, "deny_delete": true,
        "allow_direct": true, "discard": "new", "max_age": 2_000_000_000_u64,
    });
    desk.ask(&format!("STREAM.CREATE.{lease}"), &config);
    let words = found(&node, "fleet_stream_altered");
    assert_eq!(words, format!("the stream {lease} is kept 1 times, not 3 times"));
}

#[test]
fn a_folder_that_differs_is_found() {
    let (_shared, node, _desk, _prefix) = begun("differs");
    let day = fs::read_dir(node.data().join("events")).expect("a record").flatten().next();
    let path = day.expect("a day").path();
    let text = fs::read_to_string(&path).expect("a record");
    // Nothing in the folder says that the last line was another: nothing comes after it.
    fs::write(&path, text.replace("Four", "Fifth")).expect("written");
    let words = found(&node, "fleet_folder_differs");
    assert!(words.contains("the record in the folder differs from the fleet's"), "{words}");
    assert_eq!(node.findings().len(), 1, "{:?}", node.findings());
}
