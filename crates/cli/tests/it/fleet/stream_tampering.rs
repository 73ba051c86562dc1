//! Changes that an administrator makes to the streams: `doctor` reports them, and nodes refuse to
//! continue on them.

use std::fs;

use adjutant_testkit::cluster::SharedCluster;
use adjutant_testkit::nats_admin::NatsAdmin;
use serde_json::{Value, json};

use crate::fleet::node::{Node, prefix};

/// Makes a node with some commits, and an administrator's connection to the servers.
fn begun(name: &str) -> (SharedCluster, Node, NatsAdmin, String) {
    let (shared, prefix) = (SharedCluster::join(), prefix(name));
    let node = Node::new("a", &shared.address(), &prefix, "");
    for title in ["One", "Two", "Three", "Four"] {
        node.does(&["task", "add", title]);
    }
    assert_eq!(node.does(&["doctor"])["ok"], true);
    let desk = NatsAdmin::connect_when_ready(&shared.address());
    (shared, node, desk, prefix)
}

/// Returns the texts of the doctor's findings with this code.
fn found(node: &Node, code: &str) -> String {
    let findings = node.findings();
    let of = |finding: &&Value| finding["code"] == code;
    let all = findings.iter().filter(of).filter_map(|finding| finding["text"].as_str());
    let all: Vec<&str> = all.collect();
    assert!(!all.is_empty(), "{code} is not among {findings:?}");
    all.join("\n")
}

#[test]
fn doctor_finds_forged_commit() {
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
fn missing_commit_is_not_taken_for_end_of_stream() {
    let (shared, node, mut desk, prefix) = begun("hole");
    let stream = format!("{prefix}_commits");
    // The stream denies deletes, so the test makes it anew without that setting.
    desk.recreate_stream(&stream, &json!({ "deny_delete": false }));
    desk.call_api(&format!("STREAM.MSG.DELETE.{stream}"), &json!({ "seq": 2 }));
    assert_eq!(found(&node, "fleet_record_broken"), "commit 2: it is missing");
    assert!(found(&node, "fleet_stream_altered").contains("deny_delete"));
    // A follower is told of the hole, and does not take it for the end of the stream.
    desk.update_stream(&stream, "deny_delete", json!(true));
    let other = Node::new("b", &shared.address(), &prefix, "");
    let refused = other.tries(&["task", "add", "Five"]).expect_err("it cannot follow");
    assert!(refused.contains("commit 2 is missing in the stream"), "{refused}");
    assert!(refused.contains("adjutant fleet restore"), "{refused}");
    assert_eq!(other.events().len(), 1, "it followed as far as it could");
}

#[test]
fn stream_with_altered_settings_is_found_and_refused() {
    let (_shared, node, mut desk, prefix) = begun("altered");
    let stream = format!("{prefix}_commits");
    desk.update_stream(&stream, "max_age", json!(86_400_000_000_000_u64));
    let words = found(&node, "fleet_stream_altered");
    assert_eq!(words, format!("the stream {stream}: it deletes old messages (max_age)"));
    let refused = node.tries(&["task", "add", "Five"]).expect_err("it would be dropped");
    assert!(refused.contains("it deletes old messages (max_age)"), "{refused}");
    assert!(refused.contains("nats stream edit"), "{refused}");
    desk.update_stream(&stream, "discard", json!("old"));
    assert!(found(&node, "fleet_stream_altered").contains("(discard)"));
    desk.update_stream(&stream, "discard", json!("new"));
    desk.update_stream(&stream, "max_age", json!(0));
    node.does(&["task", "add", "Five"]);
    // The lease bucket must have as many replicas as the commits.
    let lease = format!("KV_{prefix}_lease");
    let config = json!({
        "name": lease, "subjects": [format!("$KV.{prefix}_lease.>")], "max_msgs_per_subject": 1,
        "storage": "file", "num_replicas": 1, "allow_rollup_hdrs": true, "deny_delete": true,
        "allow_direct": true, "discard": "new", "max_age": 2_000_000_000_u64,
    });
    desk.call_api(&format!("STREAM.CREATE.{lease}"), &config);
    let words = found(&node, "fleet_stream_altered");
    assert_eq!(words, format!("the stream {lease} has 1 of 3 replicas"));
}

#[test]
fn doctor_finds_folder_that_differs_from_fleet() {
    let (_shared, node, _desk, _prefix) = begun("differs");
    let day = fs::read_dir(node.data().join("events")).expect("a record").flatten().next();
    let path = day.expect("a day").path();
    let text = fs::read_to_string(&path).expect("a record");
    // The folder alone cannot show the change: no later line chains to the last one.
    fs::write(&path, text.replace("Four", "Fifth")).expect("written");
    let words = found(&node, "fleet_folder_differs");
    assert!(words.contains("the event log of this folder differs from the fleet's"), "{words}");
    assert_eq!(node.findings().len(), 1, "{:?}", node.findings());
}
