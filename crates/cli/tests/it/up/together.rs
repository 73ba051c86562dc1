//! Several runs at once: they start together and end together, and none waits for another.

use std::fs;

use crate::up::stage::{Stage, wait_for};

/// How many runs there are at once.
const SLOTS: usize = 8;

fn stage(settings: &str, script: &str) -> (Stage, Vec<String>) {
    let stage = Stage::new(&format!("concurrency = {SLOTS}\n{settings}"));
    let stage = stage.with_agent_as("actor", script, &format!("slots = {SLOTS}"));
    let tasks = (0..SLOTS).map(|_| stage.add("actor")).collect();
    (stage, tasks)
}

#[test]
fn of_the_runs_of_one_tick_all_start_but_the_one_that_cannot() {
    let (stage, tasks) = stage("attempts_max = 1", "steps: [{report: {outcome: done}}]");
    // A file where the folder of its attempts is to be made.
    fs::create_dir_all(stage.path(&format!("runs/{}", tasks[3]))).expect("made");
    fs::write(stage.path(&format!("runs/{}/attempts", tasks[3])), "").expect("written");
    stage.until_idle();
    let events = stage.events();
    let first_end = events.iter().position(|event| event["type"] == "run.exited");
    let before = &events[..first_end.expect("they end")];
    let given = before.iter().filter(|event| event["type"] == "run.started").count();
    assert_eq!(given, SLOTS, "all were given out before any ended");
    for task in &tasks {
        let expected = if *task == tasks[3] { "deadletter" } else { "done" };
        assert_eq!(stage.status(task), expected, "{task}");
    }
    let exited = &stage.events_of(&tasks[3], "run.exited")[0];
    let why = exited["payload"].to_string();
    assert!(why.contains("cannot make the folder of the run"), "{why}");
}

#[test]
fn a_daemon_that_is_killed_while_it_starts_several_leaves_none_behind_and_starts_none_twice() {
    for begun in 0..=SLOTS {
        let script = "steps: [{print: once}, {work: 100ms}, {report: {outcome: done}}]";
        let (stage, tasks) = stage("", script);
        let up = stage.up();
        let has_begun = |task: &&String| stage.attempt(task, 1).join("shim.json").exists();
        wait_for("some have begun", || tasks.iter().filter(has_begun).count() >= begun);
        up.kill();
        stage.until_idle();
        for task in &tasks {
            assert_eq!(stage.status(task), "done", "{task}, killed after {begun}");
            assert_eq!(stage.events_of(task, "run.started").len(), 1, "{task}");
            assert_eq!(stage.events_of(task, "task.completed").len(), 1, "{task}");
            let printed = fs::read_to_string(stage.attempt(task, 1).join("output.log"));
            let printed = printed.expect("a log");
            let once = printed.lines().filter(|line| *line == "once").count();
            assert_eq!(once, 1, "{task}, killed after {begun}: {printed}");
        }
    }
}
