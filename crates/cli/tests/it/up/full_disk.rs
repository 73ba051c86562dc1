//! A disk that fills up while agents work: the daemon stays, says so once, and continues when there
//! is room. Nothing is lost or done twice.

use std::path::Path;
use std::time::{Duration, Instant};

use adjutant_testkit::disk_space::SmallDiskSpace;
use adjutant_testkit::small_disk::run_test_on_small_disk;
use rustix::process::Signal;
use serde_json::Value;

use crate::up::project::{DaemonProject, RunningDaemon, wait_for};

const WORKS: &str =
    "steps: [{progress: begun}, {work: 400ms}, {progress: half of it}, {report: {outcome: done}}]";

/// Fills the disk, and moves a task file by hand, which the daemon cannot record then.
fn fill(room: &SmallDiskSpace, stage: &DaemonProject, up: &mut RunningDaemon, id: &str) {
    room.fill();
    let file = |status: &str| stage.path(&format!("tasks/{status}/{id}.md"));
    std::fs::rename(file("backlog"), file("ready")).expect("moved");
    until_stuck(up, true);
}

fn add_to_backlog(stage: &DaemonProject) -> String {
    let words = ["task", "add", "Do it", "--agent", "actor", "--review", "none"];
    stage.json(&words)["id"].as_str().expect("a task has an id").to_owned()
}

/// Waits until the daemon says that it is stuck, or that it continues.
fn until_stuck(up: &mut RunningDaemon, stuck: bool) {
    let says = |said: &Value| said.get("stuck").is_some_and(|why| why.is_string() == stuck);
    wait_for("it says how it stands", || {
        assert!(up.is_running(), "it has left");
        up.printed_documents().iter().any(says)
    });
}

/// Waits until the daemon has retried. It does so every second, without output.
fn wait_for_retry() {
    let since = Instant::now();
    wait_for("it tries again", || since.elapsed() > Duration::from_millis(1_500));
}

#[test]
fn nothing_is_lost_or_done_twice() {
    run_test_on_small_disk("up::full_disk::nothing_is_lost_or_done_twice", |disk| {
        let room = SmallDiskSpace::at(disk);
        let stage =
            DaemonProject::on(disk, "concurrency = 4").with_agent_as("actor", WORKS, "slots = 4");
        let mut up = stage.up();
        let mut tasks = Vec::new();
        for round in 0..5 {
            tasks.extend((0..6).map(|_| stage.add("actor")));
            wait_for("somebody works", || stage.count("in-progress") > 0);
            // Each round fills the disk at another moment of the work.
            std::thread::sleep(Duration::from_millis(97 * round));
            let moved = add_to_backlog(&stage);
            fill(&room, &stage, &mut up, &moved);
            tasks.push(moved);
            if round == 0 {
                wait_for_retry();
            }
            let more = up.printed_documents();
            assert!(more.iter().all(|said| said.get("stuck").is_none()), "said again: {more:?}");
            room.release();
            until_stuck(&mut up, false);
        }
        wait_for("all is done", || stage.count("done") == tasks.len());
        up.kill();
        stage.until_idle();
        for id in &tasks {
            let count = |kind| stage.events_of(id, kind).len();
            let counts = ["run.started", "task.logged", "task.completed"].map(count);
            assert_eq!(counts, [1, 2, 1], "{id}: {:#?}", stage.events());
            assert_eq!(count("run.failed"), 0, "a full disk is no fault of an agent");
        }
    });
}

/// Stops a daemon that waits for disk space, and lets the next daemon finish the work.
fn stop_while_full(disk: &Path, tell: impl FnOnce(&DaemonProject, &mut RunningDaemon)) {
    let room = SmallDiskSpace::at(disk);
    let stage = DaemonProject::on(disk, "").with_agent("actor", WORKS);
    let id = stage.add("actor");
    let mut up = stage.up();
    stage.run(&id, 1);
    let moved = add_to_backlog(&stage);
    fill(&room, &stage, &mut up, &moved);
    tell(&stage, &mut up);
    assert_eq!(up.wait_for_exit().code(), Some(0), "{}", stage.errors());
    room.release();
    stage.until_idle();
    for id in [id, moved] {
        let count = |kind| stage.events_of(&id, kind).len();
        assert_eq!(["run.started", "task.logged", "task.completed"].map(count), [1, 2, 1]);
    }
}

#[test]
fn who_waits_for_room_leaves_when_told_to() {
    run_test_on_small_disk("up::full_disk::who_waits_for_room_leaves_when_told_to", |disk| {
        stop_while_full(disk, |stage, _| assert_eq!(stage.adjutant(["down"]).code, 0));
        stop_while_full(disk, |_, up| up.send(Signal::TERM));
        stop_while_full(disk, |stage, up| {
            up.send(Signal::INT);
            // The daemon drains, but the run cannot end until there is room for its report.
            wait_for_retry();
            assert!(up.is_running(), "{}", stage.errors());
            up.send(Signal::TERM);
        });
    });
}
