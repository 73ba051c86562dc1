//! A night for real: many tasks, and every now and then somebody dies.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use adjutant_runtime::process::Process;
use adjutant_test_support::soak::cases;
use adjutant_testkit::dice::Dice;
use rustix::process::Signal;
use serde_json::Value;

use crate::up::stage::{Stage, Up};

/// How many tasks there are for every change; a soak has many times as many.
const TASKS: u64 = 60;

/// The time between two deaths.
const PAUSE: Duration = Duration::from_millis(500);

/// Who works, how, and where its tasks end.
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
fn whoever_dies_all_work_is_done_once() {
    let seed = Dice::seed();
    let mut dice = Dice::from_seed(seed);
    let stage = CREW.iter().fold(
        Stage::new("concurrency = 8\nattempts_max = 1000\ngrace = \"100ms\""),
        |stage, (name, _, script)| stage.with_agent_as(name, script, "slots = 8"),
    );
    let tasks: Vec<String> = (1..=cases(TASKS)).map(|number| add(&stage, number)).collect();
    let deaths = haunt(&stage, &mut dice);
    stage.until_idle();
    let by_task = by_task(stage.events());
    for (task, (name, ends, _)) in tasks.iter().zip(CREW.iter().cycle()) {
        assert_eq!(stage.status(task), *ends, "{task} of {name}, seed {seed}, {deaths} deaths");
        assert_one_accepted(&by_task[task], &format!("{task} of {name}, seed {seed}"));
    }
}

/// Puts a task there by hand.
fn add(stage: &Stage, number: u64) -> String {
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

/// Kills somebody again and again until all tasks are through, and returns how often.
fn haunt(stage: &Stage, dice: &mut Dice) -> usize {
    let (mut up, mut deaths) = (stage.up(), 0);
    let mut next = Instant::now() + PAUSE;
    while stage.count("ready") + stage.count("in-progress") > 0 {
        if Instant::now() >= next {
            up = strike(stage, up, dice);
            deaths += 1;
            next = Instant::now() + PAUSE;
        }
        up.needs_little();
        assert!(up.is_there(), "a daemon left by itself: {}", stage.errors());
        std::thread::sleep(Duration::from_millis(20));
    }
    up.kill();
    deaths
}

/// Kills the daemon, some of the others, or both.
fn strike(stage: &Stage, up: Up, dice: &mut Dice) -> Up {
    let daemon = up.pid();
    let others = stage.processes().into_iter().filter(|process| process.pid != daemon);
    let others: Vec<Process> = others.collect();
    let whom = dice.below(4);
    if whom < 3 && !others.is_empty() {
        (0..=whom).for_each(|_| dice.one_of(&others).send(Signal::KILL));
    }
    if whom >= 2 {
        up.send(Signal::KILL);
        assert_eq!(up.ends().signal(), Some(9));
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

/// Makes sure that one run was accepted, that nothing was heard twice, and that no two ran at once.
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
