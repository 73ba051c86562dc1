//! A story in a fleet: its files are on one node, its steps run there, and every node shows it on
//! the board.

use adjutant_testkit::cluster::SharedCluster;
use serde_json::{Value, json};

use crate::fleet::node::{Node, is_whole, prefix, until, until_or};

const SETTINGS: &str = "[scheduler]\nheartbeat_ttl = \"8s\"\ngrace = \"300ms\"\npoll = \"1s\"\n\
                        [agents.fixer]\nkind = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n";

/// An agent whose hand-over says that the step passed.
const AGENT: &str = r#"set -- $(sed -n 's/.*(story: \([^,]*\), step: \([^,]*\), attempt: \([0-9]*\),.*/\1 \2 \3/p')
echo "$1 $2 $3" >> agent.log
mkdir -p docs/bdd docs/deltas docs/api
case "$2" in
  bdd) echo '# Cart' > "docs/bdd/$1.md" ;;
  sdd-delta) echo '# ADDED' > "docs/deltas/$1.md" ;;
  contract) echo 'openapi: 3.1.0' > docs/api/openapi.yaml ;;
  update-memory) echo "- $1" >> PROJECT_MEMORY.md ;;
esac
printf -- '---\nstory: %s\nstep: %s\nattempt: %s\nstatus: pass\nreason: null\n---\n' "$1" "$2" "$3" > .ai/HANDOFF.md
"#;

fn node(name: &str, address: &str, prefix: &str) -> Node {
    let node = Node::new(name, address, prefix, SETTINGS);
    std::fs::write(node.home().join("agent.sh"), AGENT).expect("written");
    node
}

#[test]
fn story_steps_run_where_files_are_and_any_node_can_approve() {
    let (shared, prefix) = (SharedCluster::join(), prefix("story"));
    let (mut a, mut b) =
        (node("a", &shared.address(), &prefix), node("b", &shared.address(), &prefix));
    a.up();
    until("a decides", || a.does(&["fleet", "status"])["decider"] == "a");
    b.up();
    until("both nodes are there", || {
        a.does(&["fleet", "status"])["nodes"].as_array().is_some_and(|nodes| nodes.len() == 2)
    });
    std::fs::create_dir(b.home().join(".ai")).expect("a folder for stories");
    b.does(&["story", "start", "US-005"]);
    // The daemon assigns the steps; `auto` follows the story until it needs a person.
    b.does(&["story", "auto", "US-005"]);
    until_or("a has it in review", || a.count("review") == 1, || a.said() + &b.said());
    let shown = a.does(&["task", "show", "US-005"]);
    assert_eq!(shown["metadata"]["story"]["node"], "b", "{shown}");
    // The files are on node b, and the approval comes from node a.
    a.does(&["approve", "US-005", "--note", "whole numbers"]);
    until_or(
        "it is done on both",
        || a.count("done") + b.count("done") == 2,
        || format!("{}{}{}", a.said(), b.said(), a.does(&["why", "US-005"])),
    );
    until("both have the same record", || a.events() == b.events());
    let events = a.events();
    is_whole(&events);
    let started: Vec<&Value> =
        events.iter().filter(|event| event["type"] == "run.started").collect();
    assert!(started.iter().all(|event| event["payload"]["node"] == json!("b")), "{started:?}");
    let log = std::fs::read_to_string(b.home().join("agent.log")).expect("a log");
    assert_eq!((log.lines().count(), started.len()), (8, 8), "every step is one run: {log}");
    assert!(!a.home().join("agent.log").exists(), "a has none of its files");
    // Without the node that has the files, the story cannot continue, and `why` says so.
    b.does(&["story", "start", "US-006"]);
    until("a knows of it", || a.count("ready") == 1);
    b.down();
    until("b has left", || {
        let why = a.does(&["why", "US-006"]);
        why["reasons"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["code"] == "story_away"))
    });
    assert_eq!(a.does(&["doctor"])["ok"], true);
}

#[test]
fn story_auto_needs_running_daemon() {
    let (shared, prefix) = (SharedCluster::join(), prefix("auto"));
    let a = node("a", &shared.address(), &prefix);
    std::fs::create_dir(a.home().join(".ai")).expect("a folder for stories");
    a.does(&["story", "start", "US-005"]);
    let refused = a.tries(&["story", "auto", "US-005"]).expect_err("nobody gives out its steps");
    assert!(refused.contains("no daemon is running here"), "{refused}");
    assert!(refused.contains("adjutant up"), "{refused}");
    assert_eq!(a.does(&["task", "show", "US-005"])["metadata"]["story"]["node"], "a");
}
