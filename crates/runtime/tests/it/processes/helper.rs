//! The processes that tests start: the shim, the script agent, and somebody who starts a run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use adjutant_core::{AgentId, TaskId};
use adjutant_runtime::agent::{Here, Launch};
use adjutant_runtime::config::{Agent, Kind, Scheduler};
use adjutant_runtime::supervisor::{Event, Run, Supervisor, What};
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
        ["fill", mount, script] => full_disk(Path::new(mount), script),
        _ => ExitCode::from(2),
    }
}

/// Starts a run, says so, and waits to be killed.
fn start(root: &Path, script: &str) -> ExitCode {
    let (supervisor, _events) = supervise(root);
    let started = supervisor.start(&run(), &launch(root, script));
    let _ = writeln!(std::io::stdout(), "{started:?}");
    std::thread::sleep(Duration::from_hours(1));
    ExitCode::SUCCESS
}

/// Fills the disk while a run goes on, gives room again, and says what the run did.
fn full_disk(mount: &Path, script: &str) -> ExitCode {
    let root = mount.join(".adjutant");
    std::fs::create_dir(&root).expect("a folder");
    let (supervisor, events) = supervise(&root);
    let started = supervisor.start(&run(), &launch(&root, script)).expect("started");
    let filler = mount.join("filler");
    fill(&filler);
    std::thread::sleep(Duration::from_secs(2));
    let waits = supervisor.life(&run()).expect("known");
    std::fs::remove_file(filler).expect("it was there");
    assert!(supervisor.adopt(&run()).expect("adopted"));
    let said = |what| match what {
        What::Line { seq, .. } => (format!("message {seq}"), false),
        What::Exited { exit, .. } => (format!("{exit:?}"), true),
    };
    let mut heard = Vec::new();
    for event in events {
        let (text, over) = said(event.what);
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

fn supervise(root: &Path) -> (Supervisor, Receiver<Event>) {
    let program = std::env::current_exe().expect("this program");
    Supervisor::new(root, program, Secret::open(root).expect("a secret"))
}

fn launch(root: &Path, script: &str) -> Launch {
    let program = std::env::current_exe().expect("this program");
    let settings = Agent { script: Some(PathBuf::from(script)), ..Agent::new(Kind::Script) };
    let home = root.parent().expect("a project");
    Launch::of(&settings, &Scheduler::default(), &Here::new(home, &program), String::new())
}

fn run() -> Run {
    let task = TaskId::parse("TASK-2026-02-09-001").expect("a good id");
    Run { task, attempt: 1, fence: 1, agent: AgentId::parse("swe").expect("a good name") }
}
