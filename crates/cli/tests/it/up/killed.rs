//! The daemon is killed: agents go on, and the next daemon finds everything.

use std::fs;
use std::time::SystemTime;

use adjutant_runtime::process::Process;
use rustix::process::Signal;

use crate::up::stage::{Stage, document, wait_for};

/// An agent that takes its time.
const WAITS: &str = "steps: [{progress: begun}, {work: 1s}, {progress: half of it}, \
                     {report: {outcome: done, notes: All of it.}}]";

#[test]
fn what_an_agent_says_while_nobody_listens_is_heard_by_the_next_daemon_once() {
    let stage = Stage::new("heartbeat_ttl = \"1s\"").with_agent("actor", WAITS);
    let id = stage.add("actor");
    let up = stage.up();
    let (shim, agent) = stage.run(&id, 1);
    wait_for("it has begun", || !stage.events_of(&id, "task.logged").is_empty());
    up.kill();
    assert!(agent.is_alive(), "an agent does not notice");
    let beats = beats(&stage, &id);
    wait_for("it beats by itself", || !shim.is_alive() || self::beats(&stage, &id) > beats);
    wait_for("it is through", || !shim.is_alive());
    assert_eq!(stage.status(&id), "in-progress", "nobody has heard of it");
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "run.started").len(), 1);
    assert_eq!(stage.events_of(&id, "task.completed").len(), 1);
    assert_eq!(stage.events_of(&id, "task.logged").len(), 2);
}

fn beats(stage: &Stage, id: &str) -> u64 {
    let text = fs::read_to_string(stage.path(&format!("runs/{id}/run_heartbeat.json")));
    document(&text.expect("a heartbeat"))["beatCount"].as_u64().expect("a count")
}

#[test]
fn a_run_that_goes_on_is_found_and_not_started_again() {
    let script = "steps: [{work: 700ms}, {report: {outcome: done}}]";
    let stage = Stage::new("").with_agent("actor", script);
    let id = stage.add("actor");
    let up = stage.up();
    let (_, agent) = stage.run(&id, 1);
    up.kill();
    for _ in 0..3 {
        let up = stage.up();
        assert_eq!(stage.run(&id, 1).1, agent);
        up.kill();
    }
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "run.started").len(), 1);
}

#[test]
fn a_run_whose_shim_is_killed_is_ended_and_given_out_again_at_once() {
    let began = SystemTime::now();
    let script = "attempts: {1: [hang]}\nsteps: [{report: {outcome: done}}]";
    let stage = Stage::new("").with_agent("actor", script);
    let id = stage.add("actor");
    let up = stage.up_with(&["--until-idle"]);
    let (shim, agent): (Process, Process) = stage.run(&id, 1);
    shim.send(Signal::KILL);
    assert_eq!(up.ends().code(), Some(0));
    assert!(!agent.is_alive());
    assert_eq!(stage.status(&id), "done");
    // Five minutes are what a heartbeat lasts.
    assert!(began.elapsed().expect("time goes on").as_secs() < 250);
    stage.is_whole();
}

#[test]
fn a_run_that_dies_while_no_daemon_is_there_is_recovered_by_the_next() {
    let script = "attempts: {1: [hang]}\nsteps: [{report: {outcome: done}}]";
    let stage = Stage::new("").with_agent("actor", script);
    let id = stage.add("actor");
    let up = stage.up();
    let (shim, agent) = stage.run(&id, 1);
    up.kill();
    shim.send(Signal::KILL);
    wait_for("the shim is gone", || !shim.is_alive());
    assert!(agent.is_alive());
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "run.started").len(), 2);
}

#[test]
fn a_message_that_was_taken_but_not_noted_is_not_taken_again() {
    let script = "steps: [{work: 500ms}, {progress: half of it}, {work: 700ms}, \
                  {report: {outcome: done}}]";
    let stage = Stage::new("").with_agent("actor", script);
    let id = stage.add("actor");
    let up = stage.up();
    stage.run(&id, 1);
    // A folder in its place keeps the number from being written: as if the daemon were killed
    // after the commit and before it.
    let noted = stage.attempt(&id, 1).join("outbox.taken");
    fs::create_dir(&noted).expect("made before the first message");
    wait_for("the message is taken", || !stage.events_of(&id, "task.logged").is_empty());
    up.kill();
    fs::remove_dir(&noted).expect("nothing was written");
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "task.logged").len(), 1);
    assert_eq!(stage.events_of(&id, "task.completed").len(), 1);
}
