//! The processes that tests start: the shim, the script agent, and somebody who starts a run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use adjutant_core::{AgentId, TaskId};
use adjutant_runtime::agent::Launch;
use adjutant_runtime::config::{Agent, Kind, Scheduler};
use adjutant_runtime::supervisor::{Run, Supervisor};
use adjutant_runtime::token::Secret;
use adjutant_runtime::{script, shim};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["shim"] => shim::run().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        ["script-agent", "--steps", steps] => script::run_steps(steps).expect("good steps"),
        ["script-agent", file] => script::run(Path::new(file)).expect("a good script"),
        ["start", root, script] => start(Path::new(root), script),
        _ => ExitCode::from(2),
    }
}

/// Starts a run, says so, and waits to be killed.
fn start(root: &Path, script: &str) -> ExitCode {
    let program = std::env::current_exe().expect("this program");
    let secret = Secret::open(root).expect("a secret");
    let (supervisor, _events) = Supervisor::new(root, program.clone(), secret);
    let task = TaskId::parse("TASK-2026-02-09-001").expect("a good id");
    let agent = AgentId::parse("swe").expect("a good name");
    let settings = Agent { script: Some(PathBuf::from(script)), ..Agent::new(Kind::Script) };
    let home = root.parent().expect("a project");
    let launch = Launch::of(&settings, &Scheduler::default(), home, &program, String::new());
    let run = Run { task, attempt: 1, fence: 1, agent };
    let started = supervisor.start(&run, &launch.expect("a script can be started"));
    let _ = writeln!(std::io::stdout(), "{started:?}");
    std::thread::sleep(Duration::from_hours(1));
    ExitCode::SUCCESS
}
