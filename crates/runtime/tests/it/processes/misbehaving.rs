//! Agents that do not end when they should, and leave things behind.

use adjutant_runtime::process::Process;
use adjutant_runtime::shim::files::SOCKET;
use adjutant_runtime::supervisor::{Exit, Leave};

use crate::processes::support::{Stage, until};

fn stopped(stage: &Stage, script: &str, ready: &str) {
    let run = stage.play(script);
    stage.printed(&run, ready);
    stage.supervisor.stop(&run, "cancelled", Leave::Now).expect("told");
    assert_eq!(stage.end(&run).exit, Exit::Stopped("cancelled".into()));
}

#[test]
fn an_agent_that_hangs_is_stopped() {
    stopped(&Stage::new(), "steps: [{print: here}, hang]", "here");
}

#[test]
fn an_agent_that_ignores_being_asked_is_killed() {
    stopped(&Stage::new(), "steps: [ignore_term, {print: here}, hang]", "here");
}

#[test]
fn an_agent_that_is_suspended_is_woken_to_be_asked() {
    let stage = Stage::new();
    let run = stage.play("steps: [{print: here}, suspend, {print: awake}, hang]");
    stage.printed(&run, "here");
    let agent = stage.record(&run).process().expect("it runs");
    until(|| is_suspended(agent));
    stage.supervisor.stop(&run, "cancelled", Leave::Now).expect("told");
    assert_eq!(stage.end(&run).exit, Exit::Stopped("cancelled".into()));
}

#[test]
fn an_agent_that_is_suspended_and_ignores_being_asked_is_killed() {
    let stage = Stage::new();
    let run = stage.play("steps: [ignore_term, {print: here}, suspend, suspend, suspend, hang]");
    stage.printed(&run, "here");
    stage.supervisor.stop(&run, "cancelled", Leave::Now).expect("told");
    assert_eq!(stage.end(&run).exit, Exit::Stopped("cancelled".into()));
}

#[test]
fn grandchildren_go_with_the_agent_that_left_them() {
    let stage = Stage::new();
    let ended = stage.played(
        "steps:
           - fork: {steps: [{fork: {steps: [{print: deep}, hang]}}, hang]}
           - fork: {steps: [ignore_term, hang]}
           - work: 300ms
           - exit: 7",
    );
    assert_eq!(ended.exit, Exit::Code(7));
}

#[test]
fn grandchildren_in_sessions_of_their_own_go_too() {
    let stage = Stage::new();
    let run = stage.play(
        "steps:
           - fork: {session: true, steps: [{fork: {session: true, steps: [ignore_term, hang]}}]}
           - fork: {session: true, steps: [{fork: {steps: [suspend, hang]}}, {exit: 0}]}
           - work: 300ms
           - exit: 0",
    );
    assert_eq!(stage.end(&run).exit, Exit::Code(0));
}

#[test]
fn what_hides_its_environment_is_still_found_below_the_shim() {
    let stage = Stage::new();
    let mut launch = stage.launch("steps: []");
    let script = "env -i /bin/sh -c 'setsid sleep 1000 & echo $! > new; mv new pid; wait' & \
                  while [ ! -e pid ]; do sleep 0.05; done; cat pid; exit 0";
    launch.command = vec!["/bin/sh".into(), "-c".into(), script.into()];
    let run = stage.begin(&launch);
    assert_eq!(stage.end(&run).exit, Exit::Code(0));
    let pid: i32 = String::from_utf8_lossy(&stage.log(&run)).trim().parse().expect("a number");
    assert!(Process::of(pid).is_none_or(|process| !process.is_alive()), "{pid} is left");
}

#[test]
fn what_keeps_starting_others_is_held_and_killed() {
    let stage = Stage::new();
    let mut launch = stage.launch("steps: []");
    let script = "trap '' TERM; while :; do setsid sleep 1000 & sleep 0.01; done";
    let script = format!("setsid sh -c \"{script}\" & sleep 0.2; exit 0");
    launch.command = vec!["/bin/sh".into(), "-c".into(), script];
    assert_eq!(stage.end(&stage.begin(&launch)).exit, Exit::Code(0));
}

#[test]
fn an_agent_that_reports_late_from_the_background_is_not_waited_for() {
    let stage = Stage::new();
    let ended = stage.played(
        "steps:
           - fork: {session: true, steps: [ignore_term, {work: 1h}, {report: {outcome: done}}]}
           - exit: 0",
    );
    assert_eq!((ended.exit, ended.messages), (Exit::Code(0), vec![]));
}

#[test]
fn a_shim_that_is_suspended_can_be_told_to_stop() {
    let stage = Stage::new();
    let run = stage.play("steps: [{print: here}, hang]");
    stage.printed(&run, "here");
    stage.record(&run).shim().send(rustix::process::Signal::STOP);
    until(|| is_suspended(stage.record(&run).shim()));
    stage.supervisor.stop(&run, "cancelled", Leave::Now).expect("told");
    assert_eq!(stage.end(&run).exit, Exit::Stopped("cancelled".into()));
}

#[test]
fn an_agent_that_writes_its_own_end_does_not_end_by_it() {
    let stage = Stage::new();
    let folder = ".adjutant/runs/TASK-2026-02-09-001/attempts/1";
    let forged = "{\"fence\":1,\"attempt\":1,\"exit\":{\"code\":0},\"endedAt\":\"\",\"tail\":\"\"}";
    let ended = stage.played(&format!(
        "steps:
           - write: {{path: {folder}/exit.json, text: '{forged}'}}
           - write: {{path: {folder}/shim.json, text: none of your business}}
           - work: 500ms
           - exit: 3"
    ));
    assert_eq!(ended.exit, Exit::Code(3));
}

#[test]
fn a_shim_whose_socket_was_taken_away_can_be_told_to_stop() {
    let stage = Stage::new();
    let run = stage.play("steps: [{print: here}, hang]");
    stage.printed(&run, "here");
    std::fs::remove_file(stage.folder(&run).join(SOCKET)).expect("it was there");
    stage.supervisor.stop(&run, "cancelled", Leave::Now).expect("told");
    assert_eq!(stage.end(&run).exit, Exit::Stopped("the shim got signal 15".into()));
}

fn is_suspended(process: Process) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap_or_default();
    stat.contains(") T ")
}
