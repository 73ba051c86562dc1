//! A client with a login to the servers and no key of a node: what it sends makes no node do
//! anything, and the event log has the refusals.

use std::time::Duration;

use adjutant_model::NodeId;
use adjutant_replication::nats::{FleetConnection, FleetOptions};
use adjutant_store::FleetNetwork as _;
use adjutant_testkit::cluster::SharedCluster;
use adjutant_testkit::fleet_keys::{accepted_line, accepted_lines, fleet_options, node_key};
use adjutant_testkit::nats_admin::NatsAdmin;
use serde_json::{Value, json};

use crate::fleet::node::{Node, prefix, until, until_or};

/// An agent that leaves a file where the test can find it.
const AGENT: &str = "[agents.swe]\nkind = \"command\"\nsandbox = \"none\"\ncommand = [\"sh\", \"-c\", \"touch \
                     $ADJUTANT_DATA/../ran\"]\n";

/// Returns the refusals in the event log of a node.
fn refusals(node: &Node) -> Vec<String> {
    let events = node.events();
    let of = |event: &&Value| {
        event["type"] == "access.refused" && event["payload"]["reason"] == "foreign_node"
    };
    let detail = |event: &Value| event["payload"]["detail"].as_str().unwrap_or_default().to_owned();
    events.iter().filter(of).map(detail).collect()
}

/// The request of a node to start an agent on a new task, as it was before requests were signed.
fn forged_request(node: &str) -> Vec<u8> {
    let task = json!({
        "title": "Forged", "body": "", "priority": "high",
        "routing": { "agent": "swe", "role": null, "tags": [] }, "parent": null, "dependsOn": [],
        "start": "ready",
    });
    let command = json!({ "by": { "operator": "human:alice" }, "command": { "add": task } });
    let request = json!({
        "id": format!("{node}/0-0"), "node": node,
        "requests": [{ "request": { "command": command } }], "target": "leader",
    });
    request.to_string().into_bytes()
}

#[test]
fn forged_and_replayed_requests_run_nothing_and_are_logged() {
    let (shared, prefix) = (SharedCluster::join(), prefix("stranger"));
    let mut a = Node::new("a", &shared.address(), &prefix, AGENT);
    let mut b = Node::new("b", &shared.address(), &prefix, "");
    a.up();
    until("a decides", || a.does(&["fleet", "status"])["decider"] == "a");
    b.up();
    until("b is there", || {
        a.does(&["fleet", "status"])["nodes"].as_array().is_some_and(|all| all.len() == 2)
    });
    let mut stranger = NatsAdmin::connect_when_ready(&shared.address());
    let recorded = stranger.record(&format!("{prefix}.ask.a"));
    let task = b.does(&["task", "add", "Real"]);
    let by = |event: &Value| (event["actor"].clone(), event["node"].clone());
    let created = |node: &Node| {
        let events = node.events();
        events.into_iter().find(|event| event["taskId"] == task["id"]).expect("an event")
    };
    let (actor, node) = by(&created(&a));
    assert!(actor.as_str().is_some_and(|actor| actor.starts_with("human:")), "{actor}");
    assert_eq!(node, "b", "the event log names the node that asked");
    let own = a.does(&["task", "add", "Of the leader"]);
    let events = a.events();
    let of_leader = events.iter().find(|event| event["taskId"] == own["id"]).expect("an event");
    assert_eq!(of_leader["node"], Value::Null);

    let subject = format!("{prefix}.ask.a");
    for message in recorded.take(1) {
        stranger.send(&subject, &message);
        let altered = String::from_utf8_lossy(&message).replace("\"target\"", "\"Target\"");
        stranger.send(&subject, altered.as_bytes());
        stranger.send(&format!("{prefix}.ask.b"), &message);
    }
    for node in ["a", "b", "evil"] {
        stranger.send(&subject, &forged_request(node));
    }
    let stand = || format!("{:?}\n{}", refusals(&a), a.said());
    let has = |node: &Node, words: &str| refusals(node).iter().any(|one| one.contains(words));
    until_or("the refusal is logged", || has(&a, "it is not signed"), stand);
    let titles = |node: &Node| {
        let list = node.does(&["task", "list"]);
        let tasks = list.as_array().expect("tasks").iter();
        tasks.map(|task| task["title"].clone()).collect::<Vec<Value>>()
    };
    let known = titles(&a);
    assert_eq!(known.len(), 2, "{known:?}");
    assert!(!a.home().join("ran").exists());
    // A flood is one entry a minute and kind, not one for each message.
    for _ in 0..500 {
        stranger.send(&subject, b"flood");
    }
    assert_eq!(titles(&a), known);
    assert!(refusals(&a).len() < 20, "{:?}", refusals(&a));
    assert_eq!(b.does(&["doctor"])["ok"], true);
}

#[test]
fn forged_commit_starts_no_run() {
    let (shared, prefix) = (SharedCluster::join(), prefix("commit"));
    let mut a = Node::new("a", &shared.address(), &prefix, AGENT);
    a.up();
    until("a decides", || a.does(&["fleet", "status"])["decider"] == "a");
    a.does(&["task", "add", "Real"]);
    let mut stranger = NatsAdmin::connect_when_ready(&shared.address());
    let (number, last) = stranger.messages(&format!("{prefix}_commits")).pop().expect("a commit");
    let text = String::from_utf8_lossy(&last).into_owned();
    let (_, plain) = text.split_once('\n').expect("a signed commit");
    let next = format!("\"version\":{}", number + 1);
    let forged = plain.replace(&format!("\"version\":{number}"), &next);
    let forged = forged.replace("Real", "Forged");
    stranger.publish(&format!("{prefix}.commits"), forged.as_bytes());
    // It can deny service: no node goes past the commit, and each says why.
    let refused = a.tries(&["task", "add", "After"]).expect_err("no folder follows it");
    let words = format!("commit {} is refused: it is not signed", number + 1);
    until_or("it is found", || a.finds().contains("it is not signed"), || a.finds());
    assert!(refused.contains(&words) || a.said().contains(&words), "{refused}{}", a.said());
    assert!(!a.home().join("ran").exists());
    assert!(!format!("{:?}", a.events()).contains("Forged"));
}

#[test]
fn node_without_accepted_key_is_told_what_to_do() {
    let (shared, prefix) = (SharedCluster::join(), prefix("keyless"));
    let node = Node::new("a", &shared.address(), &prefix, "");
    let settings = |lines: &[String]| {
        let address = shared.address();
        node.settle(&format!(
            "store = {address:?}\n[nats]\nnode = \"a\"\nprefix = {prefix:?}\nterm = \"2s\"\n\
             accepted_keys = {lines:?}\n"
        ));
    };
    let refused = || node.tries(&["task", "add", "One"]).expect_err("it is refused");
    settings(&[]);
    let words = refused();
    assert!(words.contains("the key of this node is not among the accepted keys"), "{words}");
    assert!(words.contains(&accepted_line("a")), "{words}");
    assert!(words.contains("hint: run `adjutant fleet key`, and add the line"), "{words}");
    settings(&["a UABC".to_owned()]);
    assert!(refused().contains("has a key that is not the public key of a node"), "{}", refused());
    settings(&[accepted_line("a")]);
    node.does(&["task", "add", "One"]);
    assert_eq!(node.does(&["fleet", "key"])["key"], node_key("a").public().to_string());
    std::fs::remove_file(node.data().join("node-key")).expect("removed");
    let words = refused();
    assert!(words.contains("this node has no key, because there is no file"), "{words}");
    // A new key is another one, and has to be listed.
    let line = node.tries(&["fleet", "key"]).expect("a key is made");
    assert!(line.starts_with("a U") && line.trim() != accepted_line("a"), "{line}");
    assert!(refused().contains(line.trim()), "{}", refused());
    assert_eq!(node.tries(&["fleet", "key"]).expect("the same"), line);
}

#[test]
fn node_speaks_neither_for_another_node_nor_for_its_runs() {
    let (shared, prefix) = (SharedCluster::join(), prefix("speaks"));
    let busy =
        "[agents.swe]\nkind = \"command\"\nsandbox = \"none\"\ncommand = [\"sleep\", \"3600\"]\n";
    let mut a = Node::new("a", &shared.address(), &prefix, busy);
    a.up();
    until("a decides", || a.does(&["fleet", "status"])["decider"] == "a");
    let task = a.does(&["task", "add", "One", "--status", "ready", "--agent", "swe"]);
    until_or("it is done on a", || a.count("in-progress") == 1, || a.said());
    let options = FleetOptions { prefix: prefix.clone(), ..fleet_options(&shared.address(), "b") };
    let b = FleetConnection::connect(&options).expect("it is accepted");
    let node = NodeId::parse("a").expect("a good name");
    let ask = |node_field: &str, id: &str, request: &Value| {
        let question = json!({
            "id": id, "node": node_field, "requests": [{ "request": request }], "target": "leader",
        });
        let patience = Duration::from_secs(30);
        b.send_request(&node, question.to_string().into_bytes(), patience)
    };
    let beat = json!({ "beat": { "task": task["id"], "fence": 1 } });
    let refused = ask("a", "a/1-1", &beat).expect_err("b is not a").to_string();
    assert!(refused.contains("b signed it in the place of another node"), "{refused}");
    let reply = ask("b", "b/1-1", &beat).expect("an answer").expect("an answer");
    let reply: Value = serde_json::from_slice(&reply).expect("a reply");
    assert_eq!(reply["done"]["answers"][0]["reason"], "not_your_task", "{reply}");
    let is_logged = |event: &Value| {
        event["type"] == "access.refused"
            && event["payload"]["reason"] == "not_your_task"
            && event["node"] == "b"
    };
    until_or("it is logged", || a.events().iter().any(is_logged), || a.said());
    assert_eq!(a.count("in-progress"), 1);
}

#[test]
fn removed_node_is_refused_by_nodes_that_were_restarted() {
    let (shared, prefix) = (SharedCluster::join(), prefix("removed"));
    let mut a = Node::new("a", &shared.address(), &prefix, "");
    let mut b = Node::new("b", &shared.address(), &prefix, "");
    a.up();
    until("a decides", || a.does(&["fleet", "status"])["decider"] == "a");
    b.up();
    b.does(&["task", "add", "Before"]);
    until("a has it", || a.count("backlog") == 1);
    a.down();
    until("b decides", || b.does(&["fleet", "status"])["decider"] == "b");
    b.does(&["task", "add", "While it led"]);
    b.down();
    let version = a.does(&["fleet", "status"])["version"].as_u64().expect("a version");
    let lines: Vec<String> = accepted_lines()
        .into_iter()
        .map(|line| if line.starts_with("b ") { format!("{line} until {version}") } else { line })
        .collect();
    let address = shared.address();
    a.settle(&format!(
        "store = {address:?}\n[nats]\nnode = \"a\"\nprefix = {prefix:?}\nterm = \"2s\"\n\
         accepted_keys = {lines:?}\n"
    ));
    a.up();
    until_or("a decides again", || a.does(&["fleet", "status"])["decider"] == "a", || a.said());
    until_or("it has the commits of b", || a.count("backlog") == 2, || a.said());
    b.up();
    let refused = || b.tries(&["task", "add", "After"]).err().unwrap_or_default();
    let is_told = || refused().contains("no accepted key of b signed these bytes");
    until_or("b is told", is_told, || format!("{}{}", refused(), b.said()));
    assert_eq!(a.count("backlog"), 2, "{}", a.said());
    assert_eq!(a.does(&["fleet", "status"])["nodes"].as_array().map(Vec::len), Some(1));
}
