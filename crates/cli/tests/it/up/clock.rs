//! The machine's clock jumps by an hour: healthy runs are not affected.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use adjutant_model::Time;
use rustix::process::Signal;
use serde_json::Value;

use crate::up::project::{DaemonProject, document, wait_for};

const HOUR_MS: i64 = 3_600_000;

/// Half an hour: more than two heartbeats, and less than the clock jump.
const NEAR_MS: i64 = HOUR_MS / 2;

/// An agent that suspends itself until a signal. Its timeouts are shorter than the clock jump.
const WAITS: &str = "steps: [{progress: begun}, suspend, {report: {outcome: done}}]";
const SETTINGS: &str = "timeout = \"30m\"\nidle_timeout = \"30m\"";

fn stage() -> DaemonProject {
    DaemonProject::new("heartbeat_ttl = \"2s\"").with_agent_as("actor", WAITS, SETTINGS)
}

/// Returns whether a time is close to the project's shifted clock.
fn is_near(time: &Value, jump_ms: i64) -> bool {
    let real = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    let now = i64::try_from(real.as_millis()).expect("it fits") + jump_ms;
    let time = time.as_str().and_then(|text| Time::parse(text).ok());
    time.is_some_and(|time| (time.as_millis() - now).abs() < NEAR_MS)
}

/// Shifts the clock, and waits until the heartbeat and the lease follow.
fn jump(stage: &DaemonProject, id: &str, jump_ms: i64) {
    stage.set_clock(jump_ms);
    wait_for("the heartbeat follows", || {
        let text = fs::read_to_string(stage.path(&format!("runs/{id}/run_heartbeat.json")));
        is_near(&document(&text.expect("a heartbeat"))["expiresAt"], jump_ms)
    });
    wait_for("the lease follows", || {
        let renewed = stage.events_of(id, "run.heartbeat");
        renewed.last().is_some_and(|event| is_near(&event["payload"]["expiresAt"], jump_ms))
    });
}

fn assert_done_once(stage: &DaemonProject, id: &str) {
    assert_eq!(stage.status(id), "done");
    let count = |kind| stage.events_of(id, kind).len();
    assert_eq!(["run.started", "run.exited", "run.failed"].map(count), [1, 1, 0]);
    stage.assert_consistent();
}

#[test]
fn clock_jump_does_not_end_healthy_run() {
    let stage = stage();
    let id = stage.add("actor");
    let up = stage.up_with(&["--until-idle"]);
    let (_, agent) = stage.run(&id, 1);
    for jump_ms in [HOUR_MS, 0, -HOUR_MS, HOUR_MS] {
        jump(&stage, &id, jump_ms);
        assert!(agent.is_alive());
        assert_eq!(stage.status(&id), "in-progress");
    }
    agent.send_signal(Signal::CONT);
    assert_eq!(up.wait_for_exit().code(), Some(0), "{}", stage.errors());
    assert_done_once(&stage, &id);
}

#[test]
fn clock_jump_without_daemon_does_not_end_healthy_run() {
    let stage = stage();
    let id = stage.add("actor");
    let mut up = stage.up();
    let (_, agent) = stage.run(&id, 1);
    for jump_ms in [HOUR_MS, -HOUR_MS] {
        up.kill();
        stage.set_clock(jump_ms);
        up = stage.up();
        jump(&stage, &id, jump_ms);
        assert_eq!(stage.run(&id, 1).1, agent);
    }
    agent.send_signal(Signal::CONT);
    wait_for("it is done", || stage.status(&id) == "done");
    up.kill();
    stage.until_idle();
    assert_done_once(&stage, &id);
}
