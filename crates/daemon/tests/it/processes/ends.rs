//! Runs that end by themselves.

use adjutant_runs::supervisor::{LocalRunState, ProcessExit, StartResult, StopMode};

use crate::processes::support::{RunFixture, run};

#[test]
fn agent_that_exits_silently_gives_code_0_and_no_messages() {
    let stage = RunFixture::new();
    let ended = stage.run_script("steps: []");
    assert_eq!((ended.exit, &*ended.tail, ended.messages.len()), (ProcessExit::Code(0), "", 0));
}

#[test]
fn agent_that_fails_has_its_last_lines_in_the_tail() {
    let stage = RunFixture::new();
    let ended = stage.run_script("steps: [{print: trying}, {complain: no oil}, {exit: 1}]");
    assert_eq!(ended.exit, ProcessExit::Code(1));
    assert!(ended.tail.contains("trying") && ended.tail.contains("no oil"), "{ended:?}");
}

#[test]
fn agent_that_crashes_exits_with_its_signal() {
    let stage = RunFixture::new();
    assert_eq!(stage.run_script("steps: [{die: 6}]").exit, ProcessExit::Signal(6));
}

#[test]
fn script_agent_steps_depend_on_the_attempt() {
    let script = "attempts: {1: [{exit: 1}], 2: [{exit: 2}]}\nsteps: [{exit: 3}]";
    let stage = RunFixture::new();
    for attempt in 1..=4 {
        let run = run(attempt);
        stage.supervisor.start(&run, &stage.launch(script)).expect("started");
        stage.supervisor.adopt(&run).expect("adopted");
        let code = i32::try_from(attempt.min(3)).expect("a small number");
        assert_eq!(stage.wait_for_end(&run).exit, ProcessExit::Code(code));
    }
}

#[test]
fn agent_that_cannot_be_started_gives_the_reason() {
    let stage = RunFixture::new();
    let mut launch = stage.launch("steps: []");
    launch.command = vec!["/no/such/program".into()];
    let why =
        "cannot start \"/no/such/program\": No such file or directory (os error 2)".to_owned();
    let started = stage.supervisor.start(&run(1), &launch).expect("answered");
    assert_eq!(started, StartResult::NotStarted(why.clone()));
    assert!(stage.supervisor.adopt(&run(1)).expect("adopted"));
    assert_eq!(stage.wait_for_end(&run(1)).exit, ProcessExit::NotStarted(why));
    assert_eq!(
        stage.supervisor.start(&run(1), &launch).expect("answered"),
        StartResult::AlreadyStarted
    );
}

#[test]
fn run_is_started_once() {
    let stage = RunFixture::new();
    let launch = stage.launch("steps: [{print: once}, hang]");
    let first = stage.start_launch(&launch);
    assert_eq!(
        stage.supervisor.start(&first, &launch).expect("answered"),
        StartResult::AlreadyStarted
    );
    assert_eq!(stage.supervisor.local_state(&first).expect("known"), LocalRunState::Alive);
    stage.wait_for_output(&first, "once");
    stage.supervisor.stop(&first, "enough", StopMode::Immediately).expect("told");
    assert_eq!(stage.wait_for_end(&first).exit, ProcessExit::Stopped("enough".into()));
    assert_eq!(stage.supervisor.local_state(&first).expect("known"), LocalRunState::Over);
    assert_eq!(
        stage.supervisor.start(&first, &launch).expect("answered"),
        StartResult::AlreadyStarted
    );
    assert_eq!(stage.log(&first), b"once\n");
}

#[test]
fn run_stopped_before_its_start_never_starts() {
    let stage = RunFixture::new();
    assert!(!stage.supervisor.adopt(&run(1)).expect("looked"));
    stage.supervisor.stop(&run(1), "cancelled", StopMode::Immediately).expect("prevented");
    let started = stage.supervisor.start(&run(1), &stage.launch("steps: [hang]"));
    assert_eq!(started.expect("answered"), StartResult::AlreadyStarted);
    assert!(stage.supervisor.adopt(&run(1)).expect("looked"));
    assert_eq!(stage.wait_for_end(&run(1)).exit, ProcessExit::Stopped("cancelled".into()));
}

#[test]
fn agent_gets_grace_to_exit_by_itself_before_it_is_stopped() {
    let stage = RunFixture::new();
    let mut launch = stage.launch("steps: [{print: reported}, {work: 100ms}, {exit: 0}]");
    launch.limits.grace_ms = 60_000;
    let leaving = stage.start_launch(&launch);
    stage.supervisor.stop(&leaving, "it has reported", StopMode::AfterGrace).expect("told");
    assert_eq!(stage.wait_for_end(&leaving).exit, ProcessExit::Code(0));
    let stage = RunFixture::new();
    let staying = stage.start_script("steps: [{print: reported}, hang]");
    stage.supervisor.stop(&staying, "it has reported", StopMode::AfterGrace).expect("told");
    assert_eq!(stage.wait_for_end(&staying).exit, ProcessExit::Stopped("it has reported".into()));
}

/// The path of a socket has room for about a hundred bytes.
#[test]
fn run_works_in_a_project_with_a_long_odd_path() {
    let deep = format!("{}/it's a \u{1f980} 'project'\n", "far/".repeat(60));
    let stage = RunFixture::new_below(&deep);
    let run = stage.start_script("steps: [{print: here}, {progress: one}, hang]");
    stage.wait_for_output(&run, "here");
    stage.supervisor.stop(&run, "seen", StopMode::Immediately).expect("told");
    let ended = stage.wait_for_end(&run);
    assert_eq!((ended.exit, ended.messages.len()), (ProcessExit::Stopped("seen".into()), 1));
}
