//! Runs that take too long.

use std::time::Duration;

use adjutant_runtime::supervisor::{Exit, Leave, touch};

use crate::processes::support::Stage;

#[test]
fn a_run_that_takes_too_long_is_stopped() {
    let stage = Stage::new();
    let mut launch = stage.launch("steps: [ignore_term, {print: here}, hang]");
    launch.limits.timeout_ms = Some(500);
    assert_eq!(stage.end(&stage.begin(&launch)).exit, Exit::TimedOut);
}

#[test]
fn a_run_that_is_silent_for_too_long_is_stopped() {
    let stage = Stage::new();
    let mut launch = stage.launch("steps: [{print: here}, suspend, hang]");
    launch.limits.idle_timeout_ms = Some(500);
    let ended = stage.end(&stage.begin(&launch));
    assert_eq!((ended.exit, &*ended.tail), (Exit::Idle, "here"));
}

#[test]
fn a_sign_of_life_elsewhere_counts_as_well_as_output() {
    let stage = Stage::new();
    let mut launch = stage.launch("steps: [{print: here}, hang]");
    launch.limits.idle_timeout_ms = Some(3_000);
    let run = stage.begin(&launch);
    // Twice as long as it may be silent.
    for _ in 0..60 {
        touch(&stage.supervisor.folder(&run)).expect("it runs");
        std::thread::sleep(Duration::from_millis(100));
    }
    stage.supervisor.stop(&run, "seen", Leave::Now).expect("told");
    assert_eq!(stage.end(&run).exit, Exit::Stopped("seen".into()));
}

#[test]
fn a_limit_beyond_all_clocks_is_none() {
    let stage = Stage::new();
    let mut launch = stage.launch("steps: [{exit: 4}]");
    launch.limits.timeout_ms = Some(u64::MAX);
    launch.limits.idle_timeout_ms = Some(u64::MAX);
    assert_eq!(stage.end(&stage.begin(&launch)).exit, Exit::Code(4));
}
