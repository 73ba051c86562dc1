//! The internal commands `shim` and `script-agent`, which Adjutant starts itself.

use std::path::Path;

use adjutant_config::run_token::TokenSecret;
use adjutant_config::{Agent, Kind, Scheduler};
use adjutant_model::{AgentId, TaskId};
use adjutant_runs::agent::{AgentLaunch, LaunchContext};
use adjutant_runs::supervisor::{ProcessExit, RunEventKind, RunRef, RunSupervisor, StartResult};

use crate::commands::support::{CliProject, adjutant, run};

#[test]
fn script_agent_runs_under_shim_of_same_program() {
    let project = CliProject::new();
    project.write("agent.yaml", "steps: [{print: hello}, {report: {outcome: done}}, {exit: 3}]");
    let program = Path::new(env!("CARGO_BIN_EXE_adjutant"));
    let root = project.path("");
    let secret = TokenSecret::open(&root).expect("a secret");
    let (supervisor, events) = RunSupervisor::new(&root, program.into(), secret);
    let script = Some(project.path("agent.yaml"));
    let settings = Agent { script, ..Agent::new(Kind::Script) };
    let launch = AgentLaunch::for_agent(
        &settings,
        &Scheduler::default(),
        &LaunchContext::new(&root, program),
        String::new(),
    );
    let run = RunRef {
        nonce: None,
        task: TaskId::parse("TASK-2026-02-09-001").expect("a good id"),
        attempt: 1,
        fence: 1,
        agent: AgentId::parse("swe").expect("a good name"),
    };
    let started = supervisor.start(&run, &launch);
    assert_eq!(started.expect("answered"), StartResult::Running);
    assert!(supervisor.adopt(&run).expect("adopted"));
    let mut happened = events.iter().map(|event| event.kind);
    assert!(
        matches!(happened.next(), Some(RunEventKind::Message { seq: 1, message }) if message.text.contains("\"done\""))
    );
    let Some(RunEventKind::Exited { exit, tail, .. }) = happened.next() else { panic!("it ends") };
    assert_eq!(exit, ProcessExit::Code(3));
    assert!(tail.starts_with("hello\n"), "{tail}");
}

#[test]
fn script_agent_refuses_invalid_script() {
    let project = CliProject::new();
    project.write("agent.toml", "steps = [\"dance\"]");
    let ran = run(adjutant().arg("script-agent").arg(project.path("agent.toml")));
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("unknown variant `dance`"), "{ran:?}");
    let ran = run(adjutant().args(["script-agent", "/no/such/file"]));
    assert_eq!(ran.code, 3, "{ran:?}");
}

#[test]
fn shim_without_input_exits_with_3() {
    let ran = run(adjutant().arg("shim").stdin(std::process::Stdio::null()));
    assert_eq!((ran.code, &*ran.out), (3, ""), "{ran:?}");
}
