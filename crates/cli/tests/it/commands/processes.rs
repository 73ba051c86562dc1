//! The commands that the program starts itself: `shim` and `script-agent`.

use std::path::Path;

use adjutant_core::{AgentId, TaskId};
use adjutant_runtime::agent::{Here, Launch};
use adjutant_runtime::config::{Agent, Kind, Scheduler};
use adjutant_runtime::supervisor::{Exit, Run, Started, Supervisor, What};
use adjutant_runtime::token::Secret;

use crate::commands::support::{Project, adjutant, run};

#[test]
fn a_script_agent_runs_under_a_shim_of_the_same_program() {
    let project = Project::new();
    project.write("agent.yaml", "steps: [{print: hello}, {report: {outcome: done}}, {exit: 3}]");
    let program = Path::new(env!("CARGO_BIN_EXE_adjutant"));
    let root = project.path("");
    let secret = Secret::open(&root).expect("a secret");
    let (supervisor, events) = Supervisor::new(&root, program.into(), secret);
    let script = Some(project.path("agent.yaml"));
    let settings = Agent { script, ..Agent::new(Kind::Script) };
    let launch =
        Launch::of(&settings, &Scheduler::default(), &Here::new(&root, program), String::new());
    let run = Run {
        task: TaskId::parse("TASK-2026-02-09-001").expect("a good id"),
        attempt: 1,
        fence: 1,
        agent: AgentId::parse("swe").expect("a good name"),
    };
    let started = supervisor.start(&run, &launch);
    assert_eq!(started.expect("answered"), Started::Now);
    assert!(supervisor.adopt(&run).expect("adopted"));
    let mut happened = events.iter().map(|event| event.what);
    assert!(
        matches!(happened.next(), Some(What::Line { seq: 1, text, .. }) if text.contains("\"done\""))
    );
    let Some(What::Exited { exit, tail, .. }) = happened.next() else { panic!("it ends") };
    assert_eq!(exit, Exit::Code(3));
    assert!(tail.starts_with("hello\n"), "{tail}");
}

#[test]
fn a_script_that_makes_no_sense_is_told() {
    let project = Project::new();
    project.write("agent.toml", "steps = [\"dance\"]");
    let ran = run(adjutant().arg("script-agent").arg(project.path("agent.toml")));
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("unknown variant `dance`"), "{ran:?}");
    let ran = run(adjutant().args(["script-agent", "/no/such/file"]));
    assert_eq!(ran.code, 3, "{ran:?}");
}

#[test]
fn a_shim_that_is_told_nothing_does_nothing() {
    let ran = run(adjutant().arg("shim").stdin(std::process::Stdio::null()));
    assert_eq!((ran.code, &*ran.out), (3, ""), "{ran:?}");
}
