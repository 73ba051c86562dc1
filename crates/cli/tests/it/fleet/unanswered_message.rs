//! A message that an agent sends right before its node dies.
//!
//! The leader may have applied it without the node learning of that. When the node is back, its
//! task belongs to another run, and the message must not count twice.

#![expect(clippy::print_stdout, reason = "whether it was heard is worth knowing")]

use std::time::Duration;

use crate::fleet::failover_fleet::FailoverFleet;
use crate::fleet::messages::{kept, said};
use crate::fleet::node::{accepted_once, until, until_or};

/// The first attempt reports progress when the test says so, and then works for an hour.
const DOES: &str = "[ $ADJUTANT_ATTEMPT = 1 ] || { work 3; finish 'after all'; exit; }\n\
                    note work; while [ ! -e speak ]; do sleep 0.05; done\n\
                    progress 'last words'; work 36000";

/// Long enough for the message to reach the leader, and too short for the frozen leader to be taken
/// for dead. A test cannot see a request that is on its way.
const ON_ITS_WAY: Duration = Duration::from_millis(500);

#[test]
fn last_message_of_dead_node_is_kept_once() {
    let estate = FailoverFleet::with_agent(DOES);
    let task = estate.add("one");
    let FailoverFleet { decides, mut dies, mut heir, diary, .. } = estate;
    until_or("it works", || !diary.units(&task, 1).is_empty(), || dies.shown());

    // The request waits at the frozen leader when the node that sent it dies.
    decides.freeze();
    std::fs::write(dies.home().join("speak"), "").expect("a file");
    until("it has spoken", || said(&dies) == ["last words"]);
    std::thread::sleep(ON_ITS_WAY);
    dies.kill();
    decides.thaw();
    heir.up();
    until_or("another does it", || heir.count("review") == 1, || heir.said());
    println!("heard while it was dead: {}", kept(&heir).contains_key("last words"));
    dies.up();
    until_or("it was heard", || dies.unheard().is_empty(), || dies.said());
    until("all have the same record", || {
        dies.events() == heir.events() && decides.events() == heir.events()
    });
    for node in [&decides, &dies, &heir] {
        assert_eq!(kept(node).get("last words"), Some(&1), "{}", node.name);
    }
    accepted_once(&heir.events(), &[task]);
}
