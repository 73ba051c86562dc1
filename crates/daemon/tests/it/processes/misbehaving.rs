//! Agents that do not end when they should, or leave processes behind.

use adjutant_process::process_table::ProcessIdentity;
use adjutant_run_files::attempt_files::CONTROL_SOCKET;
use adjutant_runs::supervisor::{ProcessExit, StopMode};

use crate::processes::support::{RunFixture, wait_until};

fn expect_stopped(stage: &RunFixture, script: &str, ready: &str) {
    let run = stage.start_script(script);
    stage.wait_for_output(&run, ready);
    stage.supervisor.stop(&run, "cancelled", StopMode::Immediately).expect("told");
    assert_eq!(stage.wait_for_end(&run).exit, ProcessExit::Stopped("cancelled".into()));
}

#[test]
fn hanging_agent_is_stopped() {
    expect_stopped(&RunFixture::new(), "steps: [{print: here}, hang]", "here");
}

#[test]
fn agent_that_ignores_sigterm_is_killed() {
    expect_stopped(&RunFixture::new(), "steps: [ignore_term, {print: here}, hang]", "here");
}

#[test]
fn suspended_agent_is_resumed_before_sigterm() {
    let stage = RunFixture::new();
    let run = stage.start_script("steps: [{print: here}, suspend, {print: awake}, hang]");
    stage.wait_for_output(&run, "here");
    let agent = stage.record(&run).agent_process().expect("it runs");
    wait_until(|| agent.is_suspended());
    stage.supervisor.stop(&run, "cancelled", StopMode::Immediately).expect("told");
    assert_eq!(stage.wait_for_end(&run).exit, ProcessExit::Stopped("cancelled".into()));
}

#[test]
fn suspended_agent_that_ignores_sigterm_is_killed() {
    let stage = RunFixture::new();
    let run =
        stage.start_script("steps: [ignore_term, {print: here}, suspend, suspend, suspend, hang]");
    stage.wait_for_output(&run, "here");
    stage.supervisor.stop(&run, "cancelled", StopMode::Immediately).expect("told");
    assert_eq!(stage.wait_for_end(&run).exit, ProcessExit::Stopped("cancelled".into()));
}

#[test]
fn grandchildren_are_ended_with_their_agent() {
    let stage = RunFixture::new();
    let ended = stage.run_script(
        "steps:
           - fork: {steps: [{fork: {steps: [{print: deep}, hang]}}, hang]}
           - fork: {steps: [ignore_term, hang]}
           - work: 300ms
           - exit: 7",
    );
    assert_eq!(ended.exit, ProcessExit::Code(7));
}

#[test]
fn grandchildren_in_own_sessions_are_ended_too() {
    let stage = RunFixture::new();
    let run = stage.start_script(
        "steps:
           - fork: {session: true, steps: [{fork: {session: true, steps: [ignore_term, hang]}}]}
           - fork: {session: true, steps: [{fork: {steps: [suspend, hang]}}, {exit: 0}]}
           - work: 300ms
           - exit: 0",
    );
    assert_eq!(stage.wait_for_end(&run).exit, ProcessExit::Code(0));
}

#[test]
fn process_without_environment_is_found_below_the_shim() {
    let stage = RunFixture::new();
    let mut launch = stage.launch("steps: []");
    let script = "env -i /bin/sh -c 'setsid sleep 1000 & echo $! > new; mv new pid; wait' & \
                  while [ ! -e pid ]; do sleep 0.05; done; cat pid; exit 0";
    launch.command = vec!["/bin/sh".into(), "-c".into(), script.into()];
    let run = stage.start_launch(&launch);
    assert_eq!(stage.wait_for_end(&run).exit, ProcessExit::Code(0));
    let pid: i32 = String::from_utf8_lossy(&stage.log(&run)).trim().parse().expect("a number");
    assert!(ProcessIdentity::find(pid).is_none_or(|process| !process.is_alive()), "{pid} is left");
}

#[test]
fn process_that_keeps_forking_is_killed() {
    let stage = RunFixture::new();
    let mut launch = stage.launch("steps: []");
    let script = "trap '' TERM; while :; do setsid sleep 1000 & sleep 0.01; done";
    let script = format!("setsid sh -c \"{script}\" & sleep 0.2; exit 0");
    launch.command = vec!["/bin/sh".into(), "-c".into(), script];
    assert_eq!(stage.wait_for_end(&stage.start_launch(&launch)).exit, ProcessExit::Code(0));
}

#[test]
fn background_process_with_late_report_is_not_waited_for() {
    let stage = RunFixture::new();
    let ended = stage.run_script(
        "steps:
           - fork: {session: true, steps: [ignore_term, {work: 1h}, {report: {outcome: done}}]}
           - exit: 0",
    );
    assert_eq!((ended.exit, ended.messages), (ProcessExit::Code(0), vec![]));
}

#[test]
fn suspended_shim_can_be_stopped() {
    let stage = RunFixture::new();
    let run = stage.start_script("steps: [{print: here}, hang]");
    stage.wait_for_output(&run, "here");
    stage.record(&run).shim_process().send_signal(rustix::process::Signal::STOP);
    wait_until(|| stage.record(&run).shim_process().is_suspended());
    stage.supervisor.stop(&run, "cancelled", StopMode::Immediately).expect("told");
    assert_eq!(stage.wait_for_end(&run).exit, ProcessExit::Stopped("cancelled".into()));
}

#[test]
fn agent_that_forges_its_exit_file_is_not_over() {
    let stage = RunFixture::new();
    let folder = ".adjutant/runs/TASK-2026-02-09-001/attempts/1";
    let forged = "{\"fence\":1,\"attempt\":1,\"exit\":{\"code\":0},\"endedAt\":\"\",\"tail\":\"\"}";
    let ended = stage.run_script(&format!(
        "steps:
           - write: {{path: {folder}/exit.json, text: '{forged}'}}
           - write: {{path: {folder}/shim.json, text: none of your business}}
           - work: 500ms
           - exit: 3"
    ));
    assert_eq!(ended.exit, ProcessExit::Code(3));
}

#[test]
fn shim_without_socket_can_be_stopped() {
    let stage = RunFixture::new();
    let run = stage.start_script("steps: [{print: here}, hang]");
    stage.wait_for_output(&run, "here");
    std::fs::remove_file(stage.folder(&run).join(CONTROL_SOCKET)).expect("it was there");
    let unheard = stage.supervisor.stop(&run, "cancelled", StopMode::Immediately);
    assert_eq!(unheard.expect_err("no answer").kind(), std::io::ErrorKind::TimedOut);
    assert_eq!(
        stage.wait_for_end(&run).exit,
        ProcessExit::Stopped("the shim received signal 15".into())
    );
}
