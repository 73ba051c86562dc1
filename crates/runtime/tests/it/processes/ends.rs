//! How runs end by themselves.

use adjutant_runtime::supervisor::{Exit, Leave, Life, Started};

use crate::processes::support::{Stage, run};

#[test]
fn an_agent_that_exits_silently_exits_with_0_and_nothing_else() {
    let stage = Stage::new();
    let ended = stage.played("steps: []");
    assert_eq!((ended.exit, &*ended.tail, ended.messages.len()), (Exit::Code(0), "", 0));
}

#[test]
fn the_last_lines_tell_why_an_agent_exited_with_1() {
    let stage = Stage::new();
    let ended = stage.played("steps: [{print: trying}, {complain: no oil}, {exit: 1}]");
    assert_eq!(ended.exit, Exit::Code(1));
    assert!(ended.tail.contains("trying") && ended.tail.contains("no oil"), "{ended:?}");
}

#[test]
fn an_agent_that_crashes_is_ended_by_its_signal() {
    let stage = Stage::new();
    assert_eq!(stage.played("steps: [{die: 6}]").exit, Exit::Signal(6));
}

#[test]
fn what_an_agent_does_depends_on_the_attempt() {
    let script = "attempts: {1: [{exit: 1}], 2: [{exit: 2}]}\nsteps: [{exit: 3}]";
    let stage = Stage::new();
    for attempt in 1..=4 {
        let run = run(attempt);
        stage.supervisor.start(&run, &stage.launch(script)).expect("started");
        stage.supervisor.adopt(&run).expect("adopted");
        let code = i32::try_from(attempt.min(3)).expect("a small number");
        assert_eq!(stage.end(&run).exit, Exit::Code(code));
    }
}

#[test]
fn an_agent_that_cannot_be_started_says_why_and_is_over() {
    let stage = Stage::new();
    let mut launch = stage.launch("steps: []");
    launch.command = vec!["/no/such/program".into()];
    let why =
        "cannot start \"/no/such/program\": No such file or directory (os error 2)".to_owned();
    let started = stage.supervisor.start(&run(1), &launch).expect("answered");
    assert_eq!(started, Started::NotStarted(why.clone()));
    assert!(stage.supervisor.adopt(&run(1)).expect("adopted"));
    assert_eq!(stage.end(&run(1)).exit, Exit::NotStarted(why));
    assert_eq!(stage.supervisor.start(&run(1), &launch).expect("answered"), Started::Before);
}

#[test]
fn a_run_is_started_once() {
    let stage = Stage::new();
    let launch = stage.launch("steps: [{print: once}, hang]");
    let first = stage.begin(&launch);
    assert_eq!(stage.supervisor.start(&first, &launch).expect("answered"), Started::Before);
    assert_eq!(stage.supervisor.life(&first).expect("known"), Life::Alive);
    stage.printed(&first, "once");
    stage.supervisor.stop(&first, "enough", Leave::Now).expect("told");
    assert_eq!(stage.end(&first).exit, Exit::Stopped("enough".into()));
    assert_eq!(stage.supervisor.life(&first).expect("known"), Life::Over);
    assert_eq!(stage.supervisor.start(&first, &launch).expect("answered"), Started::Before);
    assert_eq!(stage.log(&first), b"once\n");
}

#[test]
fn a_run_that_was_stopped_before_it_began_never_begins() {
    let stage = Stage::new();
    assert!(!stage.supervisor.adopt(&run(1)).expect("looked"));
    stage.supervisor.stop(&run(1), "cancelled", Leave::Now).expect("prevented");
    let started = stage.supervisor.start(&run(1), &stage.launch("steps: [hang]"));
    assert_eq!(started.expect("answered"), Started::Before);
    assert!(stage.supervisor.adopt(&run(1)).expect("looked"));
    assert_eq!(stage.end(&run(1)).exit, Exit::Stopped("cancelled".into()));
}

#[test]
fn an_agent_that_may_leave_by_itself_does_and_one_that_does_not_is_stopped() {
    let stage = Stage::new();
    let mut launch = stage.launch("steps: [{print: reported}, {work: 100ms}, {exit: 0}]");
    launch.limits.grace_ms = 60_000;
    let leaving = stage.begin(&launch);
    stage.supervisor.stop(&leaving, "it has reported", Leave::First).expect("told");
    assert_eq!(stage.end(&leaving).exit, Exit::Code(0));
    let stage = Stage::new();
    let staying = stage.play("steps: [{print: reported}, hang]");
    stage.supervisor.stop(&staying, "it has reported", Leave::First).expect("told");
    assert_eq!(stage.end(&staying).exit, Exit::Stopped("it has reported".into()));
}

/// The path of a socket has room for about a hundred bytes.
#[test]
fn a_project_may_lie_deep_and_have_any_name() {
    let deep = format!("{}/it's a \u{1f980} 'project'\n", "far/".repeat(60));
    let stage = Stage::at(&deep);
    let run = stage.play("steps: [{print: here}, {progress: one}, hang]");
    stage.printed(&run, "here");
    stage.supervisor.stop(&run, "seen", Leave::Now).expect("told");
    let ended = stage.end(&run);
    assert_eq!((ended.exit, ended.messages.len()), (Exit::Stopped("seen".into()), 1));
}
