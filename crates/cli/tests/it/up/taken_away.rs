//! Somebody takes the folder of a run away while it runs.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::up::stage::{Stage, wait_for};

/// An agent that works for long the first time, with a child in a session of its own.
const WORKS: &str = "attempts: {1: [{fork: {session: true, steps: [{work: 1h}]}}, {work: 1h}]}\n\
                     steps: [{report: {outcome: done}}]";

fn check(folder: impl Fn(&Stage, &str) -> PathBuf) {
    let stage = Stage::new("").with_agent("actor", WORKS);
    let id = stage.add("actor");
    let mut up = stage.up_with(&["--until-idle"]);
    let (shim, agent) = stage.run(&id, 1);
    wait_for("it is looked after", || up.says("started"));
    fs::remove_dir_all(folder(&stage, &id)).expect("removed");
    assert_eq!(up.ends().code(), Some(0), "{}", stage.errors());
    assert!(!shim.is_alive() && !agent.is_alive());
    assert_eq!(stage.status(&id), "done");
    let failed = stage.events_of(&id, "run.failed");
    let reason = failed.first().expect("it counts")["payload"]["reason"].as_str();
    let reason = reason.expect("a reason");
    assert!(reason.contains("the folder of the run was taken away"), "{reason}");
    assert_eq!((failed.len(), stage.events_of(&id, "run.started").len()), (1, 2));
    stage.is_whole();
}

#[test]
fn a_run_whose_folder_is_gone_is_ended_and_the_task_given_out_again() {
    check(|stage, id| stage.attempt(id, 1));
    check(|stage, id| stage.path(&format!("runs/{id}")));
}

#[test]
fn a_run_whose_folder_went_while_no_daemon_was_there_is_ended_before_the_next() {
    let stage = Stage::new("heartbeat_ttl = \"1s\"").with_agent("actor", WORKS);
    let id = stage.add("actor");
    let up = stage.up();
    let (shim, agent) = stage.run(&id, 1);
    wait_for("it is known to run", || !stage.events_of(&id, "run.heartbeat").is_empty());
    up.kill();
    fs::remove_dir_all(stage.path(&format!("runs/{id}"))).expect("removed");
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
    assert!(!shim.is_alive() && !agent.is_alive());
    assert_eq!(stage.events_of(&id, "run.started").len(), 2);
}

#[test]
fn a_run_of_a_project_that_is_gone_ends_by_itself() {
    let stage = Stage::new("").with_agent("actor", WORKS);
    let id = stage.add("actor");
    stage.does(["tick"]);
    let (shim, agent) = stage.run(&id, 1);
    // Somebody writes there while it is being removed.
    wait_for("it is gone", || {
        fs::remove_dir_all(stage.path("")).is_ok() || !stage.path("").exists()
    });
    wait_for("it ends", || !shim.is_alive() && !agent.is_alive());
    stage.nobody_is_left();
}

#[test]
fn a_run_of_which_nothing_shows_that_it_was_started_is_ended_before_it_is_started_again() {
    let stage = Stage::new("").with_agent("actor", WORKS);
    let id = stage.add("actor");
    let up = stage.up();
    let (shim, agent) = stage.run(&id, 1);
    up.kill();
    fs::remove_dir_all(stage.path(&format!("runs/{id}/attempts"))).expect("removed");
    let up = stage.up();
    let (_, second) = stage.run(&id, 1);
    assert!(second != agent && !agent.is_alive());
    wait_for("the shim is gone", || !shim.is_alive());
    up.send(Signal::QUIT);
    assert_eq!(up.ends().code(), Some(0), "{}", stage.errors());
    stage.is_whole();
}
