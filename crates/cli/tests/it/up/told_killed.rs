//! Nobody is told nothing, and nobody is told twice, because a daemon was killed.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;

use crate::up::receiver::{Answer, Receiver};
use crate::up::stage::wait_for;
use crate::up::told::{block, events, nothing_is_told_of_the_address, stage};

#[test]
fn what_was_moved_while_nobody_was_there_is_told_by_the_next_daemon() {
    let receiver = Receiver::new(&[]);
    let stage = stage(receiver.port, "");
    let id = block(&stage, "why");
    assert_eq!(receiver.heard().len(), 0);
    stage.until_idle();
    stage.until_idle();
    assert_eq!(receiver.heard().len(), 1);
    assert_eq!(events(&stage, "notify.sent")[0]["taskId"], id[..]);
}

fn stands_still(pid: i32) -> bool {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).expect("its threads").flatten();
    let stat = |path: std::path::PathBuf| std::fs::read_to_string(path.join("stat"));
    let mut all = entries.map(|entry| stat(entry.path()).unwrap_or_default());
    all.all(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
}

/// The one moment in which nobody can know: it was taken, and the daemon dies before it can say so.
#[test]
fn a_daemon_that_dies_between_delivery_and_commit_tells_again_under_the_same_id() {
    let receiver = Receiver::new(&[Answer::Hold]);
    let stage = stage(receiver.port, "timeout = \"1h\"");
    let up = stage.up();
    block(&stage, "why");
    wait_for("it is on its way", || receiver.heard().len() == 1);
    // It stands still while it is answered, and never goes on.
    up.send(Signal::STOP);
    wait_for("it stands still", || stands_still(up.pid()));
    receiver.go_on();
    up.kill();
    assert_eq!(events(&stage, "notify.sent").len(), 0);
    stage.until_idle();
    let heard = receiver.heard();
    let ids: BTreeSet<&str> = heard.iter().map(|heard| &heard.id[..]).collect();
    assert_eq!((heard.len(), ids.len()), (2, 1), "twice, and anybody can tell");
    assert_eq!(heard[0].body, heard[1].body);
    assert_eq!(events(&stage, "notify.sent").len(), 1);
    stage.until_idle();
    assert_eq!(receiver.heard().len(), 2);
}

/// Killed again and again, a little later each time: before it looked, while it connects, sends,
/// waits, hears, commits, and after.
#[test]
fn killed_at_every_step_everything_is_told_and_a_repeat_only_if_it_was_under_way() {
    const KILLS: u64 = 30;
    let receiver = Receiver::new(&[]);
    let stage = stage(receiver.port, "timeout = \"1h\"");
    let mut ids = BTreeSet::new();
    for kill in 0..KILLS {
        ids.insert(block(&stage, &format!("kill {kill}")));
        let before: u32 = receiver.taken().values().sum();
        let up = stage.up();
        // Not to wait for anything, but to be somewhere else each time.
        std::thread::sleep(Duration::from_millis(kill * 3));
        up.kill();
        let after: u32 = receiver.taken().values().sum();
        assert!(after >= before);
    }
    stage.until_idle();
    let sent = events(&stage, "notify.sent");
    let told: BTreeSet<&str> = sent.iter().filter_map(|event| event["taskId"].as_str()).collect();
    assert_eq!(told, ids.iter().map(String::as_str).collect(), "none is lost");
    assert_eq!(sent.len(), ids.len(), "each is written down once");
    let taken = receiver.taken();
    assert_eq!(taken.len(), ids.len(), "one id each, however often it came");
    let repeats: u32 = taken.values().map(|times| times - 1).sum();
    assert!(u64::from(repeats) <= KILLS, "a kill repeats at most what was under way: {taken:?}");
    assert_eq!(events(&stage, "notify.failed").len(), 0);
    nothing_is_told_of_the_address(&stage);
}
