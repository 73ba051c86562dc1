//! Nodes whose clocks are hours apart.

use adjutant_testkit::cluster::Shared;
use serde_json::Value;

use crate::fleet::node::{Node, accepted_once, is_whole, prefix, until_or};

/// One agent that comes to nothing at its first attempt, and one that takes its time.
const SETTINGS: &str = r#"
[scheduler]
heartbeat_ttl = "20s"
poll = "300ms"
backoff = "14m"

[agents.second]
kind = "command"
command = ["sh", "-c", "[ $ADJUTANT_ATTEMPT = 1 ] && exit 1; adjutant report done"]
"#;

const SLOW: &str = r#"
[agents.slow]
kind = "command"
command = ["sh", "-c", "while [ ! -e end ]; do sleep 0.1; done; adjutant report done"]
"#;

/// A node whose clock is off by so much. What measures how much time goes by is as it is.
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
fn clocks_that_are_hours_apart_do_not_matter() {
    let (shared, prefix) = (Shared::join(), prefix("clocks"));
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

    // Whoever decides by a clock five hours ahead is gone; the next one's is three behind.
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
    let events = behind.events();
    accepted_once(&events, &[again.clone(), slow.clone()]);
    is_whole(&events);
    assert_eq!(count(&events, "run.started", &again), 2);
    assert_eq!(count(&events, "run.started", &slow), 1, "nobody thought it lost");
}
