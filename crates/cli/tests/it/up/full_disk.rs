//! A disk that is full while agents work: the daemon stays, says so once, and goes on when there is
//! room. Nothing is lost or done twice.

use std::path::Path;
use std::time::{Duration, Instant};

use adjutant_testkit::room::Room;
use adjutant_testkit::small_disk::on_a_small_disk;
use rustix::process::Signal;
use serde_json::Value;

use crate::up::stage::{Stage, Up, wait_for};

const WORKS: &str =
    "steps: [{progress: begun}, {work: 400ms}, {progress: half of it}, {report: {outcome: done}}]";

/// Fills the disk, and has a person move a task by hand, which the daemon cannot take in then.
fn fill(room: &Room, stage: &Stage, up: &mut Up, id: &str) {
    room.fill();
    let file = |status: &str| stage.path(&format!("tasks/{status}/{id}.md"));
    std::fs::rename(file("backlog"), file("ready")).expect("moved");
    until_stuck(up, true);
}

fn add_to_backlog(stage: &Stage) -> String {
    let words = ["task", "add", "Do it", "--agent", "actor", "--review", "none"];
    stage.json(&words)["id"].as_str().expect("a task has an id").to_owned()
}

/// Waits until the daemon says that it is stuck, or that it goes on.
fn until_stuck(up: &mut Up, stuck: bool) {
    let says = |said: &Value| said.get("stuck").is_some_and(|why| why.is_string() == stuck);
    wait_for("it says how it stands", || {
        assert!(up.is_there(), "it has left");
        up.said().iter().any(says)
    });
}

/// Waits until the daemon has tried again, which it does every second and says nothing of.
fn wait_for_retry() {
    let since = Instant::now();
    wait_for("it tries again", || since.elapsed() > Duration::from_millis(1_500));
}

#[test]
fn nothing_is_lost_or_done_twice() {
    on_a_small_disk("up::full_disk::nothing_is_lost_or_done_twice", |disk| {
        let room = Room::at(disk);
        let stage = Stage::on(disk, "concurrency = 4").with_agent_as("actor", WORKS, "slots = 4");
        let mut up = stage.up();
        let mut tasks = Vec::new();
        for round in 0..5 {
            tasks.extend((0..6).map(|_| stage.add("actor")));
            wait_for("somebody works", || stage.count("in-progress") > 0);
            // The disk is full at ever other moments of the work.
            std::thread::sleep(Duration::from_millis(97 * round));
            let moved = add_to_backlog(&stage);
            fill(&room, &stage, &mut up, &moved);
            tasks.push(moved);
            if round == 0 {
                wait_for_retry();
            }
            let more = up.said();
            assert!(more.iter().all(|said| said.get("stuck").is_none()), "said again: {more:?}");
            room.free();
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

/// Has a daemon told to leave while it waits for room, and the next one finish the work.
fn leaves(disk: &Path, tell: impl FnOnce(&Stage, &mut Up)) {
    let room = Room::at(disk);
    let stage = Stage::on(disk, "").with_agent("actor", WORKS);
    let id = stage.add("actor");
    let mut up = stage.up();
    stage.run(&id, 1);
    let moved = add_to_backlog(&stage);
    fill(&room, &stage, &mut up, &moved);
    tell(&stage, &mut up);
    assert_eq!(up.ends().code(), Some(0), "{}", stage.errors());
    room.free();
    stage.until_idle();
    for id in [id, moved] {
        let count = |kind| stage.events_of(&id, kind).len();
        assert_eq!(["run.started", "task.logged", "task.completed"].map(count), [1, 2, 1]);
    }
}

#[test]
fn who_waits_for_room_leaves_when_told_to() {
    on_a_small_disk("up::full_disk::who_waits_for_room_leaves_when_told_to", |disk| {
        leaves(disk, |stage, _| assert_eq!(stage.adjutant(["down"]).code, 0));
        leaves(disk, |_, up| up.send(Signal::TERM));
        leaves(disk, |stage, up| {
            up.send(Signal::INT);
            // It drains, and the run cannot end as long as there is no room for its report.
            wait_for_retry();
            assert!(up.is_there(), "{}", stage.errors());
            up.send(Signal::TERM);
        });
    });
}
