//! Nodes whose clocks are hours apart.

use adjutant_testkit::cluster::SharedCluster;
use serde_json::Value;

use crate::fleet::node::{Node, accepted_once, is_whole, prefix, until_or};

/// An agent whose first attempt fails. [`SLOW`] has one that works until a file exists.
const SETTINGS: &str = r#"
[scheduler]
heartbeat_ttl = "20s"
poll = "300ms"
backoff = "14m"

[agents.second]
kind = "command"
sandbox = "none"
command = ["sh", "-c", "[ $ADJUTANT_ATTEMPT = 1 ] && exit 1; adjutant report done"]
"#;

const SLOW: &str = r#"
[agents.slow]
kind = "command"
sandbox = "none"
command = ["sh", "-c", "while [ ! -e end ]; do sleep 0.1; done; adjutant report done"]
"#;

/// Makes a node whose wall clock is off by `by`. Its monotonic clock is right.
fn off(name: &str, by: &str, address: &str, prefix: &str) -> Node {
    let words = ["faketime", "-m", "--exclude-monotonic", "-f", by].map(str::to_owned);
    Node::entered(name, address, prefix, SETTINGS, words.to_vec())
}

fn add(node: &Node, agent: &str) -> String {
    let task = node.does(&["task", "add", "A task", "--status", "ready", "--agent", agent]);
    task["id"].as_str().expect("an id").to_owned()
}

fn count(events: &[Value], kind: &str, task: &str) -> usize {
    events.iter().filter(|event| event["type"] == kind && event["taskId"] == *task).count()
}

#[test]
fn clock_skew_of_hours_does_not_matter() {
    let (shared, prefix) = (SharedCluster::join(), prefix("clocks"));
    let mut ahead = off("ahead", "+5h", &shared.address(), &prefix);
    let mut behind = off("behind", "-3h", &shared.address(), &prefix);
    let mut right = Node::new("right", &shared.address(), &prefix, &format!("{SETTINGS}{SLOW}"));
    let wait = |what: &str, node: &Node, is_so: &dyn Fn() -> bool| {
        until_or(what, is_so, || node.shown());
    };
    ahead.up();
    wait("it decides", &ahead, &|| ahead.does(&["fleet", "status"])["decider"] == "ahead");
    let again = add(&ahead, "second");
    let failed = |node: &Node| count(&node.events(), "run.failed", &again) == 1;
    wait("the first attempt came to nothing", &ahead, &|| failed(&ahead));
    right.up();
    let slow = add(&ahead, "slow");
    let runs = |node: &Node| count(&node.events(), "run.started", &slow) == 1;
    wait("the slow one is at work", &right, &|| runs(&right));

    // The leader with a clock five hours ahead dies; the next leader's clock is three hours behind.
    behind.up();
    wait("it has followed", &behind, &|| failed(&behind) && runs(&behind));
    ahead.kill();
    right.freeze();
    wait("the other decides", &behind, &|| {
        let decider = |event: &Value| event["type"] == "fleet.decider";
        let last = behind.events().into_iter().rfind(decider);
        last.is_some_and(|event| event["payload"]["node"] == "behind")
    });
    right.thaw();
    wait("what waited is tried again", &behind, &|| behind.count("review") == 1);
    std::fs::write(right.home().join("end"), "").expect("a file");
    wait("and the slow one ends", &behind, &|| behind.count("review") == 2);
    // The files of a commit and its lines in the event log are not written in the same moment.
    let is_logged = |task: &str| {
        let in_review = |event: &Value| {
            event["taskId"] == *task
                && event["type"] == "task.transitioned"
                && event["payload"]["to"] == "review"
        };
        behind.events().iter().any(in_review)
    };
    wait("both are logged", &behind, &|| is_logged(&again) && is_logged(&slow));
    let events = behind.events();
    accepted_once(&events, &[again.clone(), slow.clone()]);
    is_whole(&events);
    assert_eq!(count(&events, "run.started", &again), 2);
    assert_eq!(count(&events, "run.started", &slow), 1, "nobody thought it lost");
}
