//! The daemon is killed: agents keep running, and the next daemon adopts them.

use std::fs;
use std::time::SystemTime;

use adjutant_process::process_table::ProcessIdentity;
use rustix::process::Signal;

use crate::up::project::{DaemonProject, document, wait_for};

/// An agent that works for a second.
const WAITS: &str = "steps: [{progress: begun}, {work: 1s}, {progress: half of it}, \
                     {report: {outcome: done, notes: All of it.}}]";

#[test]
fn daemon_reads_reports_sent_while_it_was_down_once() {
    let stage = DaemonProject::new("heartbeat_ttl = \"1s\"").with_agent("actor", WAITS);
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

fn beats(stage: &DaemonProject, id: &str) -> u64 {
    let text = fs::read_to_string(stage.path(&format!("runs/{id}/run_heartbeat.json")));
    document(&text.expect("a heartbeat"))["beatCount"].as_u64().expect("a count")
}

#[test]
fn daemon_adopts_running_run_without_restarting_it() {
    let script = "steps: [{work: 700ms}, {report: {outcome: done}}]";
    let stage = DaemonProject::new("").with_agent("actor", script);
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
fn run_with_killed_shim_is_ended_and_reassigned_at_once() {
    let began = SystemTime::now();
    let script = "attempts: {1: [hang]}\nsteps: [{report: {outcome: done}}]";
    let stage = DaemonProject::new("").with_agent("actor", script);
    let id = stage.add("actor");
    let up = stage.up_with(&["--until-idle"]);
    let (shim, agent): (ProcessIdentity, ProcessIdentity) = stage.run(&id, 1);
    shim.send_signal(Signal::KILL);
    assert_eq!(up.wait_for_exit().code(), Some(0));
    assert!(!agent.is_alive());
    assert_eq!(stage.status(&id), "done");
    // A heartbeat lasts five minutes.
    assert!(began.elapsed().expect("time goes on").as_secs() < 250);
    stage.assert_consistent();
}

#[test]
fn run_that_dies_without_daemon_is_recovered_by_next_daemon() {
    let script = "attempts: {1: [hang]}\nsteps: [{report: {outcome: done}}]";
    let stage = DaemonProject::new("").with_agent("actor", script);
    let id = stage.add("actor");
    let up = stage.up();
    let (shim, agent) = stage.run(&id, 1);
    up.kill();
    shim.send_signal(Signal::KILL);
    wait_for("the shim is gone", || !shim.is_alive());
    assert!(agent.is_alive());
    stage.until_idle();
    assert_eq!(stage.status(&id), "done");
    assert_eq!(stage.events_of(&id, "run.started").len(), 2);
}

#[test]
fn outbox_message_committed_but_not_marked_is_not_taken_again() {
    let script = "steps: [{work: 500ms}, {progress: half of it}, {work: 700ms}, \
                  {report: {outcome: done}}]";
    let stage = DaemonProject::new("").with_agent("actor", script);
    let id = stage.add("actor");
    let up = stage.up();
    stage.run(&id, 1);
    // A folder in place of the file prevents the write of the position, as if the daemon were
    // killed between the commit and that write.
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
