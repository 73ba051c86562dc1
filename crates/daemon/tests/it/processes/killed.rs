//! The shim, or the process that started it, is killed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use adjutant_model::TaskId;
use adjutant_runs::supervisor::{LocalRunState, ProcessExit, StartResult, StopMode};
use rustix::process::Signal;

use crate::processes::support::{HELPER, RunFixture, run, wait_until};

/// An agent with child processes, some of which ignore SIGTERM.
const FAMILY: &str = "steps:
  - fork: {session: true, steps: [{fork: {session: true, steps: [ignore_term, hang]}}, hang]}
  - ignore_term
  - print: here
  - hang";

#[test]
fn killed_shim_has_its_processes_ended_by_the_follower() {
    let stage = RunFixture::new();
    let run = stage.start_script(FAMILY);
    stage.wait_for_output(&run, "here");
    stage.wait_for_processes(&run, 3);
    stage.record(&run).shim_process().send_signal(Signal::KILL);
    let ended = stage.wait_for_end(&run);
    assert_eq!((ended.exit, &*ended.tail), (ProcessExit::Lost, "here"));
}

#[test]
fn killed_shim_has_its_processes_ended_after_a_restart() {
    let mut stage = RunFixture::new();
    let run = stage.start_script(FAMILY);
    stage.wait_for_processes(&run, 3);
    stage.restart();
    assert_eq!(stage.supervisor.find_runs().expect("found"), [(run.clone(), LocalRunState::Alive)]);
    assert_eq!(
        stage.supervisor.find_runs_of_task(&run.task).expect("found"),
        [(run.clone(), LocalRunState::Alive)]
    );
    let another = TaskId::parse("TASK-2026-02-09-002").expect("a good id");
    assert_eq!(stage.supervisor.find_runs_of_task(&another).expect("found"), []);
    let shim = stage.record(&run).shim_process();
    shim.send_signal(Signal::KILL);
    wait_until(|| !shim.is_alive());
    // Followers from before may be quicker; either way the run is over and no process is left.
    assert!(stage.supervisor.adopt(&run).expect("adopted"));
    assert_eq!(stage.wait_for_end(&run).exit, ProcessExit::Lost);
    assert_eq!(stage.supervisor.find_runs().expect("found"), []);
}

#[test]
fn killed_shim_with_broken_record_has_its_processes_ended() {
    let stage = RunFixture::new();
    let run = stage.start_script(FAMILY);
    stage.wait_for_output(&run, "here");
    stage.wait_for_processes(&run, 3);
    let shim = stage.record(&run).shim_process();
    stage.folder(&run).write("shim.json", b"none of your business").expect("written");
    assert_eq!(stage.supervisor.local_state(&run).expect("known"), LocalRunState::Alive);
    shim.send_signal(Signal::KILL);
    assert_eq!(stage.wait_for_end(&run).exit, ProcessExit::Lost);
}

/// Before an agent starts, only the name of the shim's record is synced, not its content.
#[test]
fn run_whose_record_a_power_cut_emptied_is_lost() {
    let stage = RunFixture::new();
    stage.folder(&run(1)).create().expect("made");
    stage.folder(&run(1)).write("shim.json", b"").expect("written");
    let again = stage.supervisor.start(&run(1), &stage.launch("steps: [{print: again}]"));
    assert_eq!(again.expect("answered"), StartResult::AlreadyStarted);
    assert!(stage.supervisor.adopt(&run(1)).expect("adopted"));
    assert_eq!(stage.wait_for_end(&run(1)).exit, ProcessExit::Lost);
    assert_eq!(stage.log(&run(1)), b"");
}

#[test]
fn new_run_waits_until_no_process_of_the_old_one_is_left() {
    let stage = RunFixture::new();
    let first = run(1);
    stage.supervisor.start(&first, &stage.launch(FAMILY)).expect("started");
    stage.wait_for_processes(&first, 3);
    let shim = stage.record(&first).shim_process();
    shim.send_signal(Signal::KILL);
    wait_until(|| !shim.is_alive());
    assert_eq!(stage.supervisor.local_state(&first).expect("known"), LocalRunState::Gone);
    stage.supervisor.start(&run(2), &stage.launch("steps: [{exit: 0}]")).expect("started");
    stage.expect_no_processes(&first);
    assert_eq!(stage.supervisor.local_state(&first).expect("known"), LocalRunState::Over);
}

#[test]
fn new_run_stops_an_old_one_that_still_runs() {
    let stage = RunFixture::new();
    let first = run(1);
    stage.supervisor.start(&first, &stage.launch(FAMILY)).expect("started");
    stage.wait_for_processes(&first, 3);
    stage.supervisor.start(&run(2), &stage.launch("steps: [{exit: 0}]")).expect("started");
    stage.expect_no_processes(&first);
    let ended = stage.folder(&first).exit().expect("it reads").expect("it is over");
    assert_eq!(ended.exit, ProcessExit::Stopped("a newer run was assigned".into()));
}

#[test]
fn run_whose_shim_was_killed_can_be_stopped() {
    let stage = RunFixture::new();
    let first = run(1);
    stage.supervisor.start(&first, &stage.launch(FAMILY)).expect("started");
    stage.wait_for_processes(&first, 3);
    let shim = stage.record(&first).shim_process();
    shim.send_signal(Signal::KILL);
    wait_until(|| !shim.is_alive());
    stage.supervisor.stop(&first, "cancelled", StopMode::Immediately).expect("ended");
    stage.expect_no_processes(&first);
}

#[test]
fn shim_that_gets_sigterm_stops_its_run() {
    let stage = RunFixture::new();
    let run = stage.start_script(FAMILY);
    stage.wait_for_processes(&run, 3);
    stage.record(&run).shim_process().send_signal(Signal::TERM);
    assert_eq!(
        stage.wait_for_end(&run).exit,
        ProcessExit::Stopped("the shim received signal 15".into())
    );
}

fn starter(stage: &RunFixture, script: &str) -> Child {
    let path = stage.root.join("script.yaml");
    std::fs::write(&path, script).expect("written");
    let mut command = Command::new(HELPER);
    command.arg("start").arg(&stage.root).arg(&path).stdout(Stdio::piped());
    command.spawn().expect("it starts")
}

#[test]
fn run_continues_when_its_starter_is_killed() {
    let stage = RunFixture::new();
    let mut starter = starter(&stage, "steps: [{progress: one}, {work: 500ms}, {progress: two}]");
    let mut said = String::new();
    let stdout = starter.stdout.take().expect("a pipe");
    BufReader::new(stdout).read_line(&mut said).expect("it speaks");
    assert_eq!(said, "Ok(Running)\n");
    starter.kill().expect("killed");
    starter.wait().expect("gone");
    assert!(stage.supervisor.adopt(&run(1)).expect("adopted"));
    let ended = stage.wait_for_end(&run(1));
    assert_eq!((ended.exit, ended.messages.len()), (ProcessExit::Code(0), 2));
}

/// Whenever the starter is killed, the run was either started, or it can be started now.
#[test]
fn starter_can_be_killed_at_any_moment() {
    for delay_us in (0..40).map(|step| step * 700) {
        let stage = RunFixture::new();
        let script = "steps: [{progress: once}]";
        let mut starter = starter(&stage, script);
        std::thread::sleep(std::time::Duration::from_micros(delay_us));
        starter.kill().expect("killed");
        starter.wait().expect("gone");
        stage.supervisor.start(&run(1), &stage.launch(script)).expect("answered");
        assert!(stage.supervisor.adopt(&run(1)).expect("adopted"));
        let ended = stage.wait_for_end(&run(1));
        assert_eq!((ended.exit, ended.messages.len()), (ProcessExit::Code(0), 1), "{delay_us} us");
        assert_eq!(String::from_utf8_lossy(&stage.log(&run(1))).lines().count(), 1);
    }
}

/// Whenever a shim is killed, no process of its run is left once the next run starts.
#[test]
fn shim_can_be_killed_at_any_moment() {
    for delay_us in (0..40).map(|step| step * 300) {
        let stage = RunFixture::new();
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
                record.shim_process().send_signal(Signal::KILL);
            });
            // The run may have started, or its start may not have been confirmed.
            let started = stage.supervisor.start(&run(1), &launch).expect("answered");
            assert!(
                matches!(started, StartResult::Running | StartResult::AlreadyStarted),
                "{started:?}"
            );
        });
        stage.supervisor.start(&run(2), &next).expect("started");
        stage.expect_no_processes(&run(1));
        assert_eq!(
            stage.supervisor.local_state(&run(1)).expect("known"),
            LocalRunState::Over,
            "{delay_us} us"
        );
    }
}

#[test]
fn run_started_by_many_starts_once() {
    let stage = RunFixture::new();
    let launch = stage.launch("steps: [{print: once}]");
    let started: Vec<StartResult> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| stage.supervisor.start(&run(1), &launch).expect("answered")))
            .collect();
        starts.into_iter().map(|start| start.join().expect("it ends")).collect()
    });
    let now = started.iter().filter(|started| **started == StartResult::Running).count();
    assert_eq!(now, 1, "{started:?}");
    wait_until(|| stage.supervisor.adopt(&run(1)).expect("adopted"));
    assert_eq!(stage.wait_for_end(&run(1)).exit, ProcessExit::Code(0));
    assert_eq!(stage.log(&run(1)), b"once\n");
}
