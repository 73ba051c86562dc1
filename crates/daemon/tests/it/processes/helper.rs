//! The processes that tests start: the shim, the script agent, and a process that starts a run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use adjutant_config::run_token::TokenSecret;
use adjutant_config::{Agent, Kind, Scheduler};
use adjutant_model::{AgentId, TaskId};
use adjutant_runs::agent::{AgentLaunch, LaunchContext};
use adjutant_runs::supervisor::{RunEvent, RunEventKind, RunRef, RunSupervisor};
use adjutant_runs::{check_shim, script, shim};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["check-shim"] => check_shim::run().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        ["shim"] => shim::run().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        ["script-agent", "--steps", steps] => script::run_steps(steps).expect("good steps"),
        ["script-agent", file] => script::run(Path::new(file)).expect("a good script"),
        ["start", root, script] => start(Path::new(root), script),
        ["fill", mount, script] => full_disk(Path::new(mount), script),
        _ => ExitCode::from(2),
    }
}

/// Starts a run, prints the result, and waits to be killed.
fn start(root: &Path, script: &str) -> ExitCode {
    let (supervisor, _events) = supervise(root);
    let started = supervisor.start(&run(), &launch(root, script));
    let _ = writeln!(std::io::stdout(), "{started:?}");
    std::thread::sleep(Duration::from_hours(1));
    ExitCode::SUCCESS
}

/// Fills the disk during a run, frees it again, and prints what the run did.
fn full_disk(mount: &Path, script: &str) -> ExitCode {
    let root = mount.join(".adjutant");
    std::fs::create_dir(&root).expect("a folder");
    let (supervisor, events) = supervise(&root);
    let started = supervisor.start(&run(), &launch(&root, script)).expect("started");
    let filler = mount.join("filler");
    fill(&filler);
    std::thread::sleep(Duration::from_secs(2));
    let waits = supervisor.local_state(&run()).expect("known");
    std::fs::remove_file(filler).expect("it was there");
    assert!(supervisor.adopt(&run()).expect("adopted"));
    let said = |what| match what {
        RunEventKind::Message { seq, .. } => (format!("message {seq}"), false),
        RunEventKind::Exited { exit, .. } => (format!("{exit:?}"), true),
    };
    let mut heard = Vec::new();
    for event in events {
        let (text, over) = said(event.kind);
        heard.push(text);
        if over {
            break;
        }
    }
    let _ = writeln!(std::io::stdout(), "{started:?}, {waits:?}, {}", heard.join(", "));
    ExitCode::SUCCESS
}

fn fill(path: &Path) {
    let mut file = std::fs::File::create(path).expect("a file");
    for size in [64 << 10, 4 << 10, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

fn supervise(root: &Path) -> (RunSupervisor, Receiver<RunEvent>) {
    let program = std::env::current_exe().expect("this program");
    RunSupervisor::new(root, program, TokenSecret::open(root).expect("a secret"))
}

fn launch(root: &Path, script: &str) -> AgentLaunch {
    let program = std::env::current_exe().expect("this program");
    let settings = Agent { script: Some(PathBuf::from(script)), ..Agent::new(Kind::Script) };
    let home = root.parent().expect("a project");
    AgentLaunch::for_agent(
        &settings,
        &Scheduler::default(),
        &LaunchContext::new(home, &program),
        String::new(),
    )
}

fn run() -> RunRef {
    let task = TaskId::parse("TASK-2026-02-09-001").expect("a good id");
    RunRef {
        nonce: None,
        task,
        attempt: 1,
        fence: 1,
        agent: AgentId::parse("swe").expect("a good name"),
    }
}
