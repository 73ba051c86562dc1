//! Several concurrent runs: they start and end together, and none waits for another.

use std::fs;

use crate::up::project::{DaemonProject, wait_for};

const SLOTS: usize = 8;

fn stage(settings: &str, script: &str) -> (DaemonProject, Vec<String>) {
    let stage = DaemonProject::new(&format!("concurrency = {SLOTS}\n{settings}"));
    let stage = stage.with_agent_as("actor", script, &format!("slots = {SLOTS}"));
    let tasks = (0..SLOTS).map(|_| stage.add("actor")).collect();
    (stage, tasks)
}

#[test]
fn tick_starts_all_runs_except_the_one_that_cannot_start() {
    let (stage, tasks) = stage("attempts_max = 1", "steps: [{report: {outcome: done}}]");
    // A file in place of the attempts folder makes this run fail to start.
    fs::create_dir_all(stage.path(&format!("runs/{}", tasks[3]))).expect("made");
    fs::write(stage.path(&format!("runs/{}/attempts", tasks[3])), "").expect("written");
    stage.until_idle();
    let events = stage.events();
    let first_end = events.iter().position(|event| event["type"] == "run.exited");
    let before = &events[..first_end.expect("they end")];
    let given = before.iter().filter(|event| event["type"] == "run.started").count();
    assert_eq!(given, SLOTS, "all were given out before any ended");
    for task in &tasks {
        let expected = if *task == tasks[3] { "ready" } else { "done" };
        assert_eq!(stage.status(task), expected, "{task}");
    }
    let exited = &stage.events_of(&tasks[3], "run.exited")[0];
    let why = exited["payload"].to_string();
    assert!(why.contains("cannot create the folder of the run"), "{why}");
    assert!(stage.events_of(&tasks[3], "run.failed").is_empty(), "no attempt is spent");
}

#[test]
fn daemon_killed_while_starting_runs_starts_each_once() {
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
