//! How a daemon is told to go.

use rustix::process::Signal;

use crate::up::stage::{Stage, wait_for};

const WORKS: &str = "steps: [{work: 700ms}, {report: {outcome: done}}]";

#[test]
fn ctrl_c_lets_runs_finish_and_gives_out_nothing_more() {
    let stage = Stage::new("").with_agent("actor", WORKS);
    let (first, second) = (stage.add("actor"), stage.add("actor"));
    let up = stage.up();
    stage.run(&first, 1);
    up.send(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", stage.errors());
    assert_eq!((&*stage.status(&first), &*stage.status(&second)), ("done", "ready"));
    stage.is_whole();
    stage.until_idle();
    assert_eq!(stage.status(&second), "done");
}

#[test]
fn ctrl_c_twice_stops_the_runs() {
    let stage = Stage::new("").with_agent("actor", "steps: [ignore_term, hang]");
    let id = stage.add("actor");
    let mut up = stage.up();
    let (_, agent) = stage.run(&id, 1);
    up.send(Signal::INT);
    wait_for("it drains", || up.says("draining"));
    assert!(agent.is_alive());
    up.send(Signal::INT);
    assert_eq!(up.ends().code(), Some(0), "{}", stage.errors());
    assert!(!agent.is_alive());
    assert_eq!(stage.status(&id), "ready");
    assert!(stage.events_of(&id, "run.failed").is_empty(), "it is no fault of the agent");
    stage.is_whole();
}

#[test]
fn who_is_told_to_leave_leaves_and_the_runs_go_on() {
    let stage = Stage::new("").with_agent("actor", WORKS);
    let id = stage.add("actor");
    let up = stage.up();
    let (_, agent) = stage.run(&id, 1);
    up.send(Signal::TERM);
    assert_eq!(up.ends().code(), Some(0), "{}", stage.errors());
    assert!(agent.is_alive(), "the agent goes on");
    assert_eq!(stage.errors(), "warning: left; the run that was under way goes on\n");
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "run.started").len(), 1);
}

#[test]
fn who_leaves_nobody_behind_says_nothing_of_runs() {
    let stage = Stage::new("");
    let up = stage.up();
    up.send(Signal::TERM);
    assert_eq!(up.ends().code(), Some(0));
    assert_eq!(stage.errors(), "");
}
