//! A suspended machine: every process stops for longer than a heartbeat lasts.

use std::time::{SystemTime, UNIX_EPOCH};

use adjutant_model::Time;
use adjutant_process::process_table::ProcessIdentity;
use rustix::process::Signal;

use crate::up::project::{DaemonProject, document, wait_for};

/// An agent that works until the file `may-end` exists, and then reports.
const WAITS: &str = "cat >/dev/null\nuntil [ -e may-end ]; do sleep 0.05; done\n\
                     adjutant report progress 'half of it'\nadjutant report done --notes done\n";

/// An agent whose run proves that the scheduler has run.
const QUICK: &str = "steps: [{report: {outcome: done}}]";

fn send(run: [ProcessIdentity; 2], signal: Signal) {
    for process in run {
        process.send_signal(signal);
    }
}

/// Waits until the heartbeat of a stopped run, and with it its lease, has expired.
fn wait_for_expiry(stage: &DaemonProject, id: &str) {
    let path = stage.path(&format!("runs/{id}/run_heartbeat.json"));
    wait_for("the heartbeat expires", || {
        let heartbeat = document(&std::fs::read_to_string(&path).expect("a heartbeat"));
        let expiry = heartbeat["expiresAt"].as_str().expect("a time");
        Time::parse(expiry).expect("a time").as_millis() + 500 < now_ms()
    });
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    i64::try_from(now.as_millis()).expect("it fits")
}

/// Waits until the scheduler has run: it looks at every run before it assigns a task.
fn wait_for_scheduler(stage: &DaemonProject) {
    let id = stage.add("quick");
    wait_for("another task is done", || stage.status(&id) == "done");
}

#[test]
fn suspended_run_continues_after_machine_wakes() {
    let stage = DaemonProject::new("heartbeat_ttl = \"1s\"")
        .with_command("actor", WAITS, "timeout = \"1h\"")
        .with_agent("quick", QUICK);
    let id = stage.add("actor");
    let up = stage.up_with(&["--until-idle"]);
    let (shim, agent) = stage.run(&id, 1);
    up.send(Signal::STOP);
    send([shim, agent], Signal::STOP);
    wait_for_expiry(&stage, &id);
    up.send(Signal::CONT);
    // The daemon wakes first and finds every lease expired.
    wait_for_scheduler(&stage);
    send([shim, agent], Signal::CONT);
    std::fs::write(stage.home().join("may-end"), "").expect("written");
    assert_eq!(up.wait_for_exit().code(), Some(0));
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "run.started").len(), 1);
    assert!(stage.events_of(&id, "run.failed").is_empty());
    stage.assert_consistent();
}

#[test]
fn daemon_started_after_suspend_keeps_live_run() {
    let stage = DaemonProject::new("heartbeat_ttl = \"1s\"")
        .with_command("actor", WAITS, "")
        .with_agent("quick", QUICK);
    let id = stage.add("actor");
    let up = stage.up();
    let (shim, agent) = stage.run(&id, 1);
    send([shim, agent], Signal::STOP);
    up.kill();
    wait_for_expiry(&stage, &id);
    let up = stage.up_with(&["--until-idle"]);
    wait_for_scheduler(&stage);
    assert_eq!(stage.status(&id), "in-progress");
    send([shim, agent], Signal::CONT);
    std::fs::write(stage.home().join("may-end"), "").expect("written");
    assert_eq!(up.wait_for_exit().code(), Some(0));
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "run.started").len(), 1);
    stage.assert_consistent();
}
