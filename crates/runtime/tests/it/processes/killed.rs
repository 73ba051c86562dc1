//! Somebody is killed who should not have been: the shim, or whoever started it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use adjutant_core::TaskId;
use adjutant_runtime::supervisor::{Exit, Leave, Life, Started};
use rustix::process::Signal;

use crate::processes::support::{HELPER, Stage, run, until};

/// An agent with a family, some of which would rather stay.
const FAMILY: &str = "steps:
  - fork: {session: true, steps: [{fork: {session: true, steps: [ignore_term, hang]}}, hang]}
  - ignore_term
  - print: here
  - hang";

#[test]
fn what_a_killed_shim_leaves_is_ended_by_whoever_follows_it() {
    let stage = Stage::new();
    let run = stage.play(FAMILY);
    stage.printed(&run, "here");
    stage.has_processes(&run, 3);
    stage.record(&run).shim().send(Signal::KILL);
    let ended = stage.end(&run);
    assert_eq!((ended.exit, &*ended.tail), (Exit::Lost, "here"));
}

#[test]
fn what_a_killed_shim_leaves_is_found_and_ended_after_a_restart() {
    let mut stage = Stage::new();
    let run = stage.play(FAMILY);
    stage.has_processes(&run, 3);
    stage.restart();
    assert_eq!(stage.supervisor.find().expect("found"), [(run.clone(), Life::Alive)]);
    assert_eq!(stage.supervisor.find_of(&run.task).expect("found"), [(run.clone(), Life::Alive)]);
    let another = TaskId::parse("TASK-2026-02-09-002").expect("a good id");
    assert_eq!(stage.supervisor.find_of(&another).expect("found"), []);
    let shim = stage.record(&run).shim();
    shim.send(Signal::KILL);
    until(|| !shim.is_alive());
    // Followers of before may have been quicker; either way it is over and nothing is left.
    assert!(stage.supervisor.adopt(&run).expect("adopted"));
    assert_eq!(stage.end(&run).exit, Exit::Lost);
    assert_eq!(stage.supervisor.find().expect("found"), []);
}

#[test]
fn what_a_killed_shim_leaves_is_ended_though_its_record_is_spoilt() {
    let stage = Stage::new();
    let run = stage.play(FAMILY);
    stage.printed(&run, "here");
    stage.has_processes(&run, 3);
    let shim = stage.record(&run).shim();
    stage.folder(&run).write("shim.json", b"none of your business").expect("written");
    assert_eq!(stage.supervisor.life(&run).expect("known"), Life::Alive);
    shim.send(Signal::KILL);
    assert_eq!(stage.end(&run).exit, Exit::Lost);
}

/// Before an agent starts, only the name of the record is made safe.
#[test]
fn a_run_whose_record_a_power_cut_emptied_was_started_and_is_lost() {
    let stage = Stage::new();
    stage.folder(&run(1)).create().expect("made");
    stage.folder(&run(1)).write("shim.json", b"").expect("written");
    let again = stage.supervisor.start(&run(1), &stage.launch("steps: [{print: again}]"));
    assert_eq!(again.expect("answered"), Started::Before);
    assert!(stage.supervisor.adopt(&run(1)).expect("adopted"));
    assert_eq!(stage.end(&run(1)).exit, Exit::Lost);
    assert_eq!(stage.log(&run(1)), b"");
}

#[test]
fn a_new_run_starts_only_when_nothing_of_the_old_one_is_left() {
    let stage = Stage::new();
    let first = run(1);
    stage.supervisor.start(&first, &stage.launch(FAMILY)).expect("started");
    stage.has_processes(&first, 3);
    let shim = stage.record(&first).shim();
    shim.send(Signal::KILL);
    until(|| !shim.is_alive());
    assert_eq!(stage.supervisor.life(&first).expect("known"), Life::Gone);
    stage.supervisor.start(&run(2), &stage.launch("steps: [{exit: 0}]")).expect("started");
    stage.nothing_is_left(&first);
    assert_eq!(stage.supervisor.life(&first).expect("known"), Life::Over);
}

#[test]
fn a_new_run_stops_an_old_one_that_still_runs() {
    let stage = Stage::new();
    let first = run(1);
    stage.supervisor.start(&first, &stage.launch(FAMILY)).expect("started");
    stage.has_processes(&first, 3);
    stage.supervisor.start(&run(2), &stage.launch("steps: [{exit: 0}]")).expect("started");
    stage.nothing_is_left(&first);
    let ended = stage.folder(&first).exit().expect("it reads").expect("it is over");
    assert_eq!(ended.exit, Exit::Stopped("a newer run was given out".into()));
}

#[test]
fn a_run_can_be_stopped_whose_shim_was_killed() {
    let stage = Stage::new();
    let first = run(1);
    stage.supervisor.start(&first, &stage.launch(FAMILY)).expect("started");
    stage.has_processes(&first, 3);
    let shim = stage.record(&first).shim();
    shim.send(Signal::KILL);
    until(|| !shim.is_alive());
    stage.supervisor.stop(&first, "cancelled", Leave::Now).expect("ended");
    stage.nothing_is_left(&first);
}

#[test]
fn a_shim_that_is_asked_to_end_stops_its_run() {
    let stage = Stage::new();
    let run = stage.play(FAMILY);
    stage.has_processes(&run, 3);
    stage.record(&run).shim().send(Signal::TERM);
    assert_eq!(stage.end(&run).exit, Exit::Stopped("the shim got signal 15".into()));
}

fn starter(stage: &Stage, script: &str) -> Child {
    let path = stage.root.join("script.yaml");
    std::fs::write(&path, script).expect("written");
    let mut command = Command::new(HELPER);
    command.arg("start").arg(&stage.root).arg(&path).stdout(Stdio::piped());
    command.spawn().expect("it starts")
}

#[test]
fn a_run_goes_on_when_its_starter_is_killed() {
    let stage = Stage::new();
    let mut starter = starter(&stage, "steps: [{progress: one}, {work: 500ms}, {progress: two}]");
    let mut said = String::new();
    let stdout = starter.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut said).expect("it speaks");
    assert_eq!(said, "Ok(Now)\n");
    starter.kill().expect("killed");
    starter.wait().expect("gone");
    assert!(stage.supervisor.adopt(&run(1)).expect("adopted"));
    let ended = stage.end(&run(1));
    assert_eq!((ended.exit, ended.messages.len()), (Exit::Code(0), 2));
}

/// Whenever the starter is killed, the run was started or it was not, and then it can be.
#[test]
fn a_starter_can_be_killed_at_any_moment() {
    for delay_us in (0..40).map(|step| step * 700) {
        let stage = Stage::new();
        let script = "steps: [{progress: once}]";
        let mut starter = starter(&stage, script);
        std::thread::sleep(std::time::Duration::from_micros(delay_us));
        starter.kill().expect("killed");
        starter.wait().expect("gone");
        stage.supervisor.start(&run(1), &stage.launch(script)).expect("answered");
        assert!(stage.supervisor.adopt(&run(1)).expect("adopted"));
        let ended = stage.end(&run(1));
        assert_eq!((ended.exit, ended.messages.len()), (Exit::Code(0), 1), "{delay_us} us");
        assert_eq!(String::from_utf8_lossy(&stage.log(&run(1))).lines().count(), 1);
    }
}

/// Whenever a shim is killed, nothing of its run is left once the next one starts.
#[test]
fn a_shim_can_be_killed_at_any_moment() {
    for delay_us in (0..40).map(|step| step * 300) {
        let stage = Stage::new();
        let (launch, next) = (stage.launch(FAMILY), stage.launch("steps: []"));
        let folder = stage.folder(&run(1));
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let record = loop {
                    match folder.record() {
                        Ok(Some(record)) => break record,
                        Ok(None) | Err(_) => std::thread::yield_now(),
                    }
                };
                std::thread::sleep(std::time::Duration::from_micros(delay_us));
                record.shim().send(Signal::KILL);
            });
            // It may have been started, or not have been heard to be.
            let started = stage.supervisor.start(&run(1), &launch).expect("answered");
            assert!(matches!(started, Started::Now | Started::Before), "{started:?}");
        });
        stage.supervisor.start(&run(2), &next).expect("started");
        stage.nothing_is_left(&run(1));
        assert_eq!(stage.supervisor.life(&run(1)).expect("known"), Life::Over, "{delay_us} us");
    }
}

#[test]
fn of_many_who_start_a_run_one_does() {
    let stage = Stage::new();
    let launch = stage.launch("steps: [{print: once}]");
    let started: Vec<Started> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| stage.supervisor.start(&run(1), &launch).expect("answered")))
            .collect();
        starts.into_iter().map(|start| start.join().expect("it ends")).collect()
    });
    let now = started.iter().filter(|started| **started == Started::Now).count();
    assert_eq!(now, 1, "{started:?}");
    until(|| stage.supervisor.adopt(&run(1)).expect("adopted"));
    assert_eq!(stage.end(&run(1)).exit, Exit::Code(0));
    assert_eq!(stage.log(&run(1)), b"once\n");
}
