//! The machine sleeps: everything stands still for longer than a heartbeat lasts.

use std::time::{SystemTime, UNIX_EPOCH};

use adjutant_core::Time;
use adjutant_runtime::process::Process;
use rustix::process::Signal;

use crate::up::stage::{Stage, document, wait_for};

/// An agent that works until it may end, and then reports.
const WAITS: &str = "cat >/dev/null\nuntil [ -e may-end ]; do sleep 0.05; done\n\
                     adjutant report progress 'half of it'\nadjutant report done --notes done\n";

/// An agent whose run shows that the scheduler has run.
const QUICK: &str = "steps: [{report: {outcome: done}}]";

fn send(run: [Process; 2], signal: Signal) {
    for process in run {
        process.send(signal);
    }
}

/// Waits until the heartbeat of a stopped run, and with it its lease, has expired.
fn wait_for_expiry(stage: &Stage, id: &str) {
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
fn wait_for_scheduler(stage: &Stage) {
    let id = stage.add("quick");
    wait_for("another task is done", || stage.status(&id) == "done");
}

#[test]
fn a_run_that_slept_with_everybody_else_goes_on() {
    let stage = Stage::new("heartbeat_ttl = \"1s\"")
        .with_command("actor", WAITS, "timeout = \"1h\"")
        .with_agent("quick", QUICK);
    let id = stage.add("actor");
    let up = stage.up_with(&["--until-idle"]);
    let (shim, agent) = stage.run(&id, 1);
    up.send(Signal::STOP);
    send([shim, agent], Signal::STOP);
    wait_for_expiry(&stage, &id);
    up.send(Signal::CONT);
    // The daemon wakes first and finds everything stale.
    wait_for_scheduler(&stage);
    send([shim, agent], Signal::CONT);
    std::fs::write(stage.home().join("may-end"), "").expect("written");
    assert_eq!(up.ends().code(), Some(0));
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "run.started").len(), 1);
    assert!(stage.events_of(&id, "run.failed").is_empty());
    stage.is_whole();
}

#[test]
fn a_daemon_that_comes_after_a_long_sleep_calls_no_living_run_stale() {
    let stage = Stage::new("heartbeat_ttl = \"1s\"")
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
    assert_eq!(up.ends().code(), Some(0));
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "run.started").len(), 1);
    stage.is_whole();
}
