//! A node that is frozen for longer than its lease, with all its processes.
//!
//! Another node gets its work, and when it thaws, its agents are stopped at once.
//!
//! "Two agents never work on one task" means the following here: a frozen process does not work.
//! After the thaw it runs until its shim has read the clock and stopped it. No shim can prevent
//! that moment, so the test bounds it: the agent counts its units of work, and none may come later.

#![expect(clippy::print_stdout, reason = "how long it took is worth knowing")]

use std::time::Duration;

use adjutant_store::monotonic_now;
use adjutant_testkit::cluster::SharedCluster;

use crate::fleet::agent_diary::{AgentDiary, FreezePeriod, INSTANT};
use crate::fleet::node::{Node, accepted_once, is_whole, prefix, until, until_or};

const SETTINGS: &str = "[scheduler]\nheartbeat_ttl = \"4s\"\ngrace = \"1s\"\npoll = \"1s\"\n\
                        backoff = \"1ms\"\nattempts_max = 100\n";
const AGENT: &str =
    "[agents.swe]\nkind = \"command\"\nsandbox = \"none\"\ncommand = [\"sh\", \"agent.sh\"]\n";

/// A grace period and some seconds, on a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// The first attempt works for an hour, and reports that it is done when it is asked to end.
const DOES: &str = "[ $ADJUTANT_ATTEMPT = 1 ] || { work 5; finish warm; exit; }\n\
                    trap 'finish late; exit' TERM\nwork 36000";

struct FreezeFleet {
    _shared: SharedCluster,
    diary: AgentDiary,
    cold: Node,
    warm: Node,
}

fn fleet() -> (FreezeFleet, String, String) {
    let (shared, prefix, diary) = (SharedCluster::join(), prefix("frozen"), AgentDiary::new());
    let (address, settings) = (shared.address(), format!("{SETTINGS}{AGENT}"));
    let node = |name: &str| {
        let node = Node::new(name, &address, &prefix, &settings);
        diary.agent(&node, DOES);
        node
    };
    let (cold, warm) = (node("cold"), node("warm"));
    (FreezeFleet { _shared: shared, diary, cold, warm }, address, prefix)
}

fn decides(node: &Node) -> bool {
    node.does(&["fleet", "status"])["decider"] == *node.name
}

/// Freezes the working node until another node has done its task.
fn freeze(fleet: &mut FreezeFleet) {
    let FreezeFleet { diary, cold, warm, .. } = fleet;
    let task = cold.does(&["task", "add", "one", "--status", "ready", "--agent", "swe"]);
    let task = task["id"].as_str().expect("an id").to_owned();
    until_or("it works", || diary.units(&task, 1).len() > 2, || cold.shown());
    warm.up();
    until_or("the other is up", || warm.count("in-progress") == 1, || warm.said());
    cold.freeze();
    let since = monotonic_now();
    until_or("another does it", || warm.count("review") == 1, || warm.said());
    let before = diary.units(&task, 1).len();
    cold.thaw();
    let frozen = FreezePeriod::until_now(cold, since);
    let thawed = monotonic_now();
    until_or("its agent is stopped", || cold.processes().len() <= 1, || cold.shown());
    let stopped = monotonic_now().saturating_sub(thawed);
    let units = diary.units(&task, 1);
    let late = units.len() - before;
    println!("stopped {stopped:?} after the thaw, and {late} more units of work");
    assert!(stopped < SOON, "{stopped:?}");
    assert!(units[before..].iter().all(|unit| unit.at < thawed + INSTANT), "{late} more units");
    diary.shows_one_at_a_time(&[frozen]);
    is_done_once(fleet, &task);
}

/// Checks that the late report is salvaged, and that both nodes accepted the task once.
fn is_done_once(fleet: &mut FreezeFleet, task: &str) {
    let FreezeFleet { cold, warm, .. } = fleet;
    until_or("what it said is kept", || cold.salvage(task).len() == 1, || cold.shown());
    assert!(cold.salvage(task)[0].contains("\"notes\": \"late\""), "{:?}", cold.salvage(task));
    until("both have the same record", || cold.events() == warm.events());
    assert_eq!(warm.salvage(task), cold.salvage(task));
    let events = warm.events();
    accepted_once(&events, &[task.to_owned()]);
    is_whole(&events);
    for node in [cold, warm] {
        node.down();
        assert_eq!(node.does(&["doctor"])["ok"], true, "{}", node.name);
    }
}

#[test]
fn follower_that_thaws_stops_its_agent() {
    let (mut fleet, address, prefix) = fleet();
    let mut third = Node::new("third", &address, &prefix, SETTINGS);
    third.up();
    until("a third decides", || decides(&third));
    fleet.cold.up();
    freeze(&mut fleet);
    third.down();
}

#[test]
fn leader_that_thaws_stops_its_agent_and_leads_no_more() {
    let (mut fleet, ..) = fleet();
    fleet.cold.up();
    until("it decides", || decides(&fleet.cold));
    freeze(&mut fleet);
}
