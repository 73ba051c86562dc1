//! The machine sleeps: everything stands still for longer than a heartbeat lasts.

use std::time::Duration;

use adjutant_runtime::process::Process;
use rustix::process::Signal;

use crate::up::stage::Stage;

fn send(run: [Process; 2], signal: Signal) {
    for process in run {
        process.send(signal);
    }
}

#[test]
fn a_run_that_slept_with_everybody_else_goes_on() {
    let script = "steps: [{work: 300ms}, {progress: half of it}, {report: {outcome: done}}]";
    let stage =
        Stage::new("heartbeat_ttl = \"1s\"").with_agent_as("actor", script, "timeout = \"1h\"");
    let id = stage.add("actor");
    let up = stage.up_with(&["--until-idle"]);
    let (shim, agent) = stage.run(&id, 1);
    up.send(Signal::STOP);
    send([shim, agent], Signal::STOP);
    // The heartbeat and the lease are over by then; nothing else says that time went by.
    std::thread::sleep(Duration::from_millis(2500));
    up.send(Signal::CONT);
    // The daemon wakes first and finds everything stale.
    std::thread::sleep(Duration::from_millis(1500));
    send([shim, agent], Signal::CONT);
    assert_eq!(up.ends().code(), Some(0));
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "run.started").len(), 1);
    assert!(stage.events_of(&id, "run.failed").is_empty());
    stage.is_whole();
}

#[test]
fn a_daemon_that_comes_after_a_long_sleep_calls_no_living_run_stale() {
    let stage = Stage::new("heartbeat_ttl = \"1s\"")
        .with_agent("actor", "steps: [{work: 300ms}, {report: {outcome: done}}]");
    let id = stage.add("actor");
    let up = stage.up();
    let (shim, agent) = stage.run(&id, 1);
    send([shim, agent], Signal::STOP);
    up.kill();
    std::thread::sleep(Duration::from_millis(2500));
    let up = stage.up_with(&["--until-idle"]);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(stage.status(&id), "in-progress");
    send([shim, agent], Signal::CONT);
    assert_eq!(up.ends().code(), Some(0));
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "run.started").len(), 1);
    stage.is_whole();
}
