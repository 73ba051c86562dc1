//! Many tasks while the daemon, shims and agents are killed at random.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use adjutant_process::process_table::ProcessIdentity;
use adjutant_test_support::soak::cases;
use adjutant_testkit::seeded_rng::SeededRng;
use rustix::process::Signal;
use serde_json::Value;

use crate::up::project::{DaemonProject, RunningDaemon};

/// The number of tasks in an ordinary test run; a soak test has many times as many.
const TASKS: u64 = 60;

/// The time between two kills.
const PAUSE: Duration = Duration::from_millis(500);

/// The name of each agent, the final status of its tasks, and its script.
const CREW: [(&str, &str, &str); 7] = [
    (
        "quick",
        "done",
        "steps: [{progress: begun}, {progress: half of it}, {report: {outcome: done}}]",
    ),
    ("slow", "done", "steps: [{progress: begun}, {work: 400ms}, {report: {outcome: done}}]"),
    (
        "unlucky",
        "done",
        "attempts: {1: [{complain: no luck}, {exit: 1}]}\nsteps: [{report: {outcome: done}}]",
    ),
    (
        "silent",
        "done",
        "attempts: {1: [{exit: 0}], 2: [{die: 11}]}\nsteps: [{report: {outcome: done}}]",
    ),
    ("curious", "blocked", "steps: [{report: {outcome: blocked, blockers: [where is it?]}}]"),
    ("careful", "review", "steps: [{work: 50ms}, {report: {outcome: needs-review, times: 2}}]"),
    (
        "parent",
        "done",
        "steps: [{fork: {session: true, steps: [{work: 1h}]}}, {work: 50ms}, {report: {outcome: done}}]",
    ),
];

#[test]
fn random_kills_leave_every_task_completed_once() {
    let seed = SeededRng::seed_from_env();
    let mut dice = SeededRng::from_seed(seed);
    let stage = CREW.iter().fold(
        DaemonProject::new("concurrency = 8\nattempts_max = 1000\ngrace = \"100ms\""),
        |stage, (name, _, script)| stage.with_agent_as(name, script, "slots = 8"),
    );
    let tasks: Vec<String> = (1..=cases(TASKS)).map(|number| add(&stage, number)).collect();
    let deaths = kill_until_done(&stage, &mut dice);
    stage.until_idle();
    let by_task = by_task(stage.events());
    for (task, (name, ends, _)) in tasks.iter().zip(CREW.iter().cycle()) {
        assert_eq!(stage.status(task), *ends, "{task} of {name}, seed {seed}, {deaths} deaths");
        assert_one_accepted(&by_task[task], &format!("{task} of {name}, seed {seed}"));
    }
}

/// Writes a task file directly.
fn add(stage: &DaemonProject, number: u64) -> String {
    let id = format!("TASK-2026-02-09-{number:03}");
    let agent = CREW.iter().cycle().nth((number - 1).try_into().expect("it fits"));
    let agent = agent.expect("there is a crew").0;
    let text = format!(
        "---\nschemaVersion: 1\nid: {id}\ntitle: Task {number}\nstatus: ready\npriority: normal\n\
         createdAt: 2026-02-09T20:00:00.000Z\nupdatedAt: 2026-02-09T20:00:00.000Z\n\
         lastTransitionAt: 2026-02-09T20:00:00.000Z\ncreatedBy: human:alice\n\
         routing:\n  agent: {agent}\nmetadata:\n  reviewRequired: false\n---\n\nDo it.\n"
    );
    fs::write(stage.path(&format!("tasks/ready/{id}.md")), text).expect("written");
    id
}

/// Kills processes at random until all tasks have ended, and returns the number of kills.
fn kill_until_done(stage: &DaemonProject, dice: &mut SeededRng) -> usize {
    let (mut up, mut deaths) = (stage.up(), 0);
    let mut next = Instant::now() + PAUSE;
    while stage.count("ready") + stage.count("in-progress") > 0 {
        if Instant::now() >= next {
            up = kill_random_processes(stage, up, dice);
            deaths += 1;
            next = Instant::now() + PAUSE;
        }
        up.assert_memory_bounded();
        assert!(up.is_running(), "a daemon left by itself: {}", stage.errors());
        std::thread::sleep(Duration::from_millis(20));
    }
    up.kill();
    deaths
}

/// Kills the daemon, some of the other processes, or both.
fn kill_random_processes(
    stage: &DaemonProject,
    up: RunningDaemon,
    dice: &mut SeededRng,
) -> RunningDaemon {
    let daemon = up.pid();
    let others = stage.processes().into_iter().filter(|process| process.pid != daemon);
    let others: Vec<ProcessIdentity> = others.collect();
    let whom = dice.below(4);
    if whom < 3 && !others.is_empty() {
        (0..=whom).for_each(|_| dice.choose(&others).send_signal(Signal::KILL));
    }
    if whom >= 2 {
        up.send(Signal::KILL);
        assert_eq!(up.wait_for_exit().signal(), Some(9));
        return stage.up();
    }
    up
}

fn by_task(events: Vec<Value>) -> BTreeMap<String, Vec<Value>> {
    let mut by_task = BTreeMap::<String, Vec<Value>>::new();
    for event in events {
        if let Some(task) = event["taskId"].as_str() {
            by_task.entry(task.to_owned()).or_default().push(event);
        }
    }
    by_task
}

/// Asserts that one run was accepted, no message was logged twice, and no two runs overlapped.
fn assert_one_accepted(events: &[Value], whose: &str) {
    let is = |event: &&Value, kind: &str| event["type"] == kind;
    let completed = events.iter().filter(|event| is(event, "task.completed")).count();
    assert_eq!(completed, 1, "{whose}: {events:#?}");
    let logged: Vec<&Value> = events.iter().filter(|event| is(event, "task.logged")).collect();
    let said: BTreeSet<String> = logged.iter().map(|event| event["payload"].to_string()).collect();
    assert_eq!(said.len(), logged.len(), "{whose} was heard twice: {logged:#?}");
    let mut open = None;
    for event in events {
        match event["type"].as_str() {
            Some("run.started") => {
                assert_eq!(open, None, "{whose} has two runs: {events:#?}");
                open = Some(event["payload"]["fence"].clone());
            }
            Some("run.exited") => {
                assert_eq!(open.take().as_ref(), Some(&event["payload"]["fence"]), "{whose}");
            }
            _ => {}
        }
    }
    assert_eq!(open, None, "{whose}: nobody saw the last run end");
}
