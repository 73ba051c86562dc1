//! A node that is cut off from the others.
//!
//! It decides nothing, lets its agents continue while their leases last, stops them then, and
//! delivers their reports when it is back.

use adjutant_testkit::cluster::SharedCluster;
use serde_json::Value;

use crate::fleet::agent_diary::AgentDiary;
use crate::fleet::node::{Node, accepted_once, is_whole, prefix, until, until_or};
use crate::fleet::node_link::NodeLink;

const SETTINGS: &str = "[scheduler]\nheartbeat_ttl = \"6s\"\ngrace = \"300ms\"\nbackoff = \"1ms\"\n\
                        attempts_max = 100\n[agents.swe]\nkind = \"command\"\nsandbox = \"none\"\n\
                        command = [\"sh\", \"agent.sh\"]\n";

/// The first attempt reports that it is done while its node is cut off, and does not exit.
const DOES: &str = "[ $ADJUTANT_ATTEMPT = 1 ] || { work 5; finish 'with others'; exit; }\n\
                    work 15; finish alone; work 36000";

#[test]
fn cut_off_node_work_is_salvaged_and_does_not_count() {
    let (shared, prefix) = (SharedCluster::join(), prefix("cut"));
    let wire = NodeLink::to(&shared.address());
    let mut alone = Node::entered("alone", wire.address(), &prefix, SETTINGS, wire.enter());
    let mut others = Node::new("others", &shared.address(), &prefix, SETTINGS);
    let diary = AgentDiary::new();
    diary.agent(&alone, DOES);
    diary.agent(&others, DOES);
    alone.up();
    until("it decides", || alone.does(&["fleet", "status"])["decider"] == "alone");
    let task = alone.does(&["task", "add", "one", "--status", "ready", "--agent", "swe"]);
    let task = task["id"].as_str().expect("an id").to_owned();
    until("it works", || diary.units(&task, 1).len() > 2);
    wire.cut();
    others.up();
    // Another node becomes leader, waits until the lease expires, and assigns the task again.
    until("another does it", || others.count("review") == 1);
    until_or("its agent is stopped", || alone.processes().len() <= 1, || alone.shown());
    wire.mend();
    let salvaged = |events: &[Value]| {
        events.iter().any(|event| event["type"] == "run.salvaged" && event["taskId"] == *task)
    };
    until("what it said is kept", || salvaged(&others.events()));
    until("both have the same record", || alone.events() == others.events());
    let events = others.events();
    accepted_once(&events, &[task]);
    // The first attempt continued while cut off, and ended before the second one began.
    diary.shows_one_at_a_time(&[]);
    is_whole(&events);
    let deciders: Vec<&Value> =
        events.iter().filter(|event| event["type"] == "fleet.decider").collect();
    assert!(deciders.len() >= 2, "another took over: {deciders:?}");
    alone.down();
    others.down();
}

#[test]
fn cut_off_node_refuses_commands_and_can_be_read() {
    let (shared, prefix) = (SharedCluster::join(), prefix("alone"));
    let wire = NodeLink::to(&shared.address());
    let mut others = Node::new("others", &shared.address(), &prefix, "");
    let mut alone = Node::entered("alone", wire.address(), &prefix, "", wire.enter());
    others.up();
    until("others decide", || others.does(&["fleet", "status"])["decider"] == "others");
    alone.up();
    until("both are there", || {
        alone.does(&["fleet", "status"])["nodes"].as_array().is_some_and(|all| all.len() == 2)
    });
    let task = alone.does(&["task", "add", "before"]);
    wire.cut();
    let refused = |words: &str| {
        assert!(words.contains("hint:"), "it is said what to do: {words}");
        assert!(!words.contains("panicked"), "{words}");
    };
    refused(&alone.tries(&["task", "add", "while alone"]).expect_err("nobody decides here"));
    refused(&alone.tries(&["fleet", "status"]).expect_err("nobody can be asked"));
    // The last known state can be read, with a daemon and without.
    let reads = |node: &Node| {
        assert_eq!(node.does(&["task", "list"])[0]["id"], task["id"]);
        let id = task["id"].as_str().expect("an id");
        assert_eq!(node.does(&["task", "show", id])["title"], "before");
    };
    reads(&alone);
    // Every read says that it may be old.
    let says =
        |node: &Node, words: &[&str]| node.told(words).contains("has been cut off from its fleet");
    until("it says that it is cut off", || says(&alone, &["task", "list"]));
    let id = task["id"].as_str().expect("an id");
    for read in [&["task", "list", "--json"][..], &["status"], &["task", "show", id], &["inbox"]] {
        assert!(says(&alone, read), "{read:?}: {}", alone.told(read));
    }
    alone.kill();
    refused(&alone.tries(&["task", "add", "without a daemon"]).expect_err("nobody can be asked"));
    reads(&alone);
    wire.mend();
    alone.up();
    until("it is back", || alone.tries(&["task", "add", "after"]).is_ok());
    until("it says nothing any more", || !says(&alone, &["task", "list"]));
    until("both have the same record", || alone.events() == others.events());
    let listed = others.does(&["task", "list"]);
    let titles: Vec<&Value> =
        listed.as_array().expect("tasks").iter().map(|one| &one["title"]).collect();
    assert!(titles.iter().all(|title| *title == "before" || *title == "after"), "{titles:?}");
}
