//! Signals that stop a daemon.

use rustix::process::Signal;

use crate::up::project::{DaemonProject, wait_for};

const WORKS: &str = "steps: [{work: 700ms}, {report: {outcome: done}}]";

#[test]
fn ctrl_c_finishes_runs_and_assigns_no_more() {
    let stage = DaemonProject::new("").with_agent("actor", WORKS);
    let (first, second) = (stage.add("actor"), stage.add("actor"));
    let up = stage.up();
    stage.run(&first, 1);
    up.send(Signal::INT);
    assert_eq!(up.wait_for_exit().code(), Some(0), "{}", stage.errors());
    assert_eq!((&*stage.status(&first), &*stage.status(&second)), ("done", "ready"));
    stage.assert_consistent();
    stage.until_idle();
    assert_eq!(stage.status(&second), "done");
}

#[test]
fn ctrl_c_twice_stops_runs() {
    let stage = DaemonProject::new("").with_agent("actor", "steps: [ignore_term, hang]");
    let id = stage.add("actor");
    let mut up = stage.up();
    let (_, agent) = stage.run(&id, 1);
    up.send(Signal::INT);
    wait_for("it drains", || up.has_printed("draining"));
    assert!(agent.is_alive());
    up.send(Signal::INT);
    assert_eq!(up.wait_for_exit().code(), Some(0), "{}", stage.errors());
    assert!(!agent.is_alive());
    assert_eq!(stage.status(&id), "ready");
    assert!(stage.events_of(&id, "run.failed").is_empty(), "it is no fault of the agent");
    stage.assert_consistent();
}

#[test]
fn sigterm_ends_daemon_and_runs_continue() {
    let stage = DaemonProject::new("").with_agent("actor", WORKS);
    let id = stage.add("actor");
    let up = stage.up();
    let (_, agent) = stage.run(&id, 1);
    up.send(Signal::TERM);
    assert_eq!(up.wait_for_exit().code(), Some(0), "{}", stage.errors());
    assert!(agent.is_alive(), "the agent goes on");
    assert_eq!(stage.errors(), "warning: the daemon has exited; 1 run continues without it\n");
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "run.started").len(), 1);
}

#[test]
fn sigterm_without_runs_prints_no_warning() {
    let stage = DaemonProject::new("");
    let up = stage.up();
    up.send(Signal::TERM);
    assert_eq!(up.wait_for_exit().code(), Some(0));
    assert_eq!(stage.errors(), "");
}
