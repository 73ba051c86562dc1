//! Runs that exceed their time limits.

use std::time::Duration;

use adjutant_runs::supervisor::{ProcessExit, StopMode, report_heartbeat};

use crate::processes::support::RunFixture;

#[test]
fn run_that_exceeds_its_timeout_is_stopped() {
    let stage = RunFixture::new();
    let mut launch = stage.launch("steps: [ignore_term, {print: here}, hang]");
    launch.limits.timeout_ms = Some(500);
    assert_eq!(stage.wait_for_end(&stage.start_launch(&launch)).exit, ProcessExit::TimedOut);
}

#[test]
fn run_that_exceeds_its_idle_timeout_is_stopped() {
    let stage = RunFixture::new();
    let mut launch = stage.launch("steps: [{print: here}, suspend, hang]");
    launch.limits.idle_timeout_ms = Some(500);
    let ended = stage.wait_for_end(&stage.start_launch(&launch));
    assert_eq!((ended.exit, &*ended.tail), (ProcessExit::Idle, "here"));
}

#[test]
fn heartbeat_counts_as_activity_like_output() {
    let stage = RunFixture::new();
    let mut launch = stage.launch("steps: [{print: here}, hang]");
    launch.limits.idle_timeout_ms = Some(3_000);
    let run = stage.start_launch(&launch);
    // Twice the time it may be silent.
    for _ in 0..60 {
        report_heartbeat(&stage.supervisor.folder(&run)).expect("it runs");
        std::thread::sleep(Duration::from_millis(100));
    }
    stage.supervisor.stop(&run, "seen", StopMode::Immediately).expect("told");
    assert_eq!(stage.wait_for_end(&run).exit, ProcessExit::Stopped("seen".into()));
}

#[test]
fn timeout_beyond_the_clock_is_no_limit() {
    let stage = RunFixture::new();
    let mut launch = stage.launch("steps: [{exit: 4}]");
    launch.limits.timeout_ms = Some(u64::MAX);
    launch.limits.idle_timeout_ms = Some(u64::MAX);
    assert_eq!(stage.wait_for_end(&stage.start_launch(&launch)).exit, ProcessExit::Code(4));
}
