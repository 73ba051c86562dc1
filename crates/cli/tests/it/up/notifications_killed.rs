//! Notifications across daemon kills: no notice is lost, and repeats keep their id.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::process::Signal;

use crate::up::notifications::{assert_address_not_leaked, block, events, stage};
use crate::up::project::wait_for;
use crate::up::webhook_receiver::{ReceiverAnswer, WebhookReceiver};

#[test]
fn notice_for_move_without_daemon_is_sent_by_next_daemon() {
    let receiver = WebhookReceiver::new(&[]);
    let stage = stage(receiver.port, "");
    let id = block(&stage, "why");
    assert_eq!(receiver.requests().len(), 0);
    stage.until_idle();
    stage.until_idle();
    assert_eq!(receiver.requests().len(), 1);
    assert_eq!(events(&stage, "notify.sent")[0]["taskId"], id[..]);
}

fn stands_still(pid: i32) -> bool {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).expect("its threads").flatten();
    let stat = |path: std::path::PathBuf| std::fs::read_to_string(path.join("stat"));
    let mut all = entries.map(|entry| stat(entry.path()).unwrap_or_default());
    all.all(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T')))
}

/// The receiver accepts the notice, and the daemon dies before it can commit that.
#[test]
fn notice_delivered_before_kill_is_repeated_under_same_id() {
    let receiver = WebhookReceiver::new(&[ReceiverAnswer::Hold]);
    let stage = stage(receiver.port, "timeout = \"1h\"");
    let up = stage.up();
    block(&stage, "why");
    wait_for("it is on its way", || receiver.requests().len() == 1);
    // The daemon is stopped while the receiver answers, and is then killed.
    up.send(Signal::STOP);
    wait_for("it stands still", || stands_still(up.pid()));
    receiver.release_held();
    up.kill();
    assert_eq!(events(&stage, "notify.sent").len(), 0);
    stage.until_idle();
    let heard = receiver.requests();
    let ids: BTreeSet<&str> = heard.iter().map(|heard| &heard.id[..]).collect();
    assert_eq!((heard.len(), ids.len()), (2, 1), "twice, and anybody can tell");
    assert_eq!(heard[0].body, heard[1].body);
    assert_eq!(events(&stage, "notify.sent").len(), 1);
    stage.until_idle();
    assert_eq!(receiver.requests().len(), 2);
}

/// Kills the daemon a little later each time: before it looks for notices, while it connects,
/// sends, waits, reads the answer and commits, and after that.
#[test]
fn notices_survive_kill_at_any_moment_with_few_repeats() {
    const KILLS: u64 = 30;
    let receiver = WebhookReceiver::new(&[]);
    let stage = stage(receiver.port, "timeout = \"1h\"");
    let mut ids = BTreeSet::new();
    for kill in 0..KILLS {
        ids.insert(block(&stage, &format!("kill {kill}")));
        let before: u32 = receiver.accepted_counts().values().sum();
        let up = stage.up();
        // Waits for nothing: the delay makes each kill hit another moment.
        std::thread::sleep(Duration::from_millis(kill * 3));
        up.kill();
        let after: u32 = receiver.accepted_counts().values().sum();
        assert!(after >= before);
    }
    stage.until_idle();
    let sent = events(&stage, "notify.sent");
    let told: BTreeSet<&str> = sent.iter().filter_map(|event| event["taskId"].as_str()).collect();
    assert_eq!(told, ids.iter().map(String::as_str).collect(), "none is lost");
    assert_eq!(sent.len(), ids.len(), "each is written down once");
    let taken = receiver.accepted_counts();
    assert_eq!(taken.len(), ids.len(), "one id each, however often it came");
    let repeats: u32 = taken.values().map(|times| times - 1).sum();
    assert!(u64::from(repeats) <= KILLS, "a kill repeats at most what was under way: {taken:?}");
    assert_eq!(events(&stage, "notify.failed").len(), 0);
    assert_address_not_leaked(&stage);
}
