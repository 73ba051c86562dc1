//! Plays the steps of a script.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::protocols::aof::MESSAGE_PREFIX;
use rustix::process::{Signal, getpid, kill_process};
use serde_json::Value;
use signal_hook::consts::SIGTERM;

use super::document;
use super::message::RunIdentity;
use super::step::{BackgroundSteps, FileWrite, FloodContent, OutputFlood, ScriptStep};

/// Tells a forked process to start its own session.
const SESSION_VARIABLE: &str = "SCRIPT_AGENT_SESSION";

/// Plays steps in order until one ends the process. A step that fails ends it with code 70.
pub(super) fn play(steps: &[ScriptStep], run: &RunIdentity) -> ExitCode {
    if std::env::var_os(SESSION_VARIABLE).is_some() {
        let _ = rustix::process::setsid();
    }
    for step in steps {
        match play_one(step, run) {
            Ok(None) => {}
            Ok(Some(code)) => return ExitCode::from(code),
            Err(error) => {
                let _ = writeln!(io::stderr(), "script agent: {error}");
                return ExitCode::from(70);
            }
        }
    }
    ExitCode::SUCCESS
}

/// Plays one step, and returns the exit code if the step ends the process.
fn play_one(step: &ScriptStep, run: &RunIdentity) -> io::Result<Option<u8>> {
    match step {
        ScriptStep::Work(span) => std::thread::sleep(span.0),
        ScriptStep::Print(text) => print(text)?,
        // One write, so that standard output cannot get in between.
        ScriptStep::Complain(text) => io::stderr().write_all(format!("{text}\n").as_bytes())?,
        ScriptStep::Progress(text) => send(&run.progress(text))?,
        ScriptStep::Report(report) => {
            (0..report.times).try_for_each(|_| send(&run.report(report)))?;
        }
        ScriptStep::Result(told) => document::result(told)?,
        ScriptStep::AttemptCompletion(told) => document::attempt(told)?,
        ScriptStep::Delegate(delegate) => send(&run.delegate(delegate))?,
        ScriptStep::Lie(lie) => send(&run.lie(lie))?,
        ScriptStep::Flood(flood) => print_flood(flood)?,
        ScriptStep::Write(write) => write_file(write)?,
        ScriptStep::Hang => hang(),
        ScriptStep::Exit(code) => return Ok(Some(*code)),
        ScriptStep::Die(signal) => die(*signal)?,
        ScriptStep::IgnoreTerm => {
            // An empty handler has the effect of ignoring the signal, but child processes do
            // not inherit it.
            signal_hook::flag::register(SIGTERM, Arc::default())?;
        }
        ScriptStep::CloseStdin => rustix::stdio::dup2_stdin(File::open("/dev/null")?)?,
        ScriptStep::ReadStdin => {
            let read = io::copy(&mut io::stdin().lock().by_ref(), &mut io::sink())?;
            print(&format!("read {read} bytes"))?;
        }
        ScriptStep::Suspend => kill_process(getpid(), Signal::STOP)?,
        ScriptStep::Fork(fork) => fork_steps(fork)?,
        ScriptStep::Adjutant(arguments) => adjutant(arguments)?,
    }
    Ok(None)
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

fn send(message: &Value) -> io::Result<()> {
    print(&format!("{MESSAGE_PREFIX}{message}"))
}

fn write_file(write: &FileWrite) -> io::Result<()> {
    let path = std::path::Path::new(&write.path);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, &write.text)
}

fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

/// Signals itself until it is dead: some signals, such as a segmentation fault, kill only
/// the second time.
fn die(signal: i32) -> io::Result<()> {
    let named = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
    loop {
        kill_process(getpid(), named)?;
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn print_flood(flood: &OutputFlood) -> io::Result<()> {
    const CHUNK: usize = 64 << 10;
    let chunk: Vec<u8> = match flood.of {
        FloodContent::Lines => {
            b"All work and no play makes a dull agent, says the log.\n".repeat(1200)
        }
        FloodContent::OneLine | FloodContent::Message => vec![b'x'; CHUNK],
        FloodContent::Binary => (0..=255).cycle().take(CHUNK).collect(),
    };
    let mut out = io::stdout().lock();
    if flood.of == FloodContent::Message {
        write!(out, "{MESSAGE_PREFIX}{{\"x\":\"")?;
    }
    let mut left = flood.bytes;
    while left > 0 {
        let now = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        out.write_all(&chunk[..now])?;
        left -= now as u64;
    }
    out.flush()
}

/// Starts steps in a separate process, which shares this output and gets no input.
fn fork_steps(fork: &BackgroundSteps) -> io::Result<()> {
    let steps = serde_json::to_string(&fork.steps)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["script-agent", "--steps", &steps]).stdin(Stdio::null());
    if fork.session {
        command.env(SESSION_VARIABLE, "1");
    } else {
        command.env_remove(SESSION_VARIABLE);
    }
    // The child is not waited for: leaving it behind is the point of the step.
    command.spawn().map(drop)
}

/// Runs this program as any agent can, and waits for it.
fn adjutant(arguments: &[String]) -> io::Result<()> {
    let ended =
        Command::new(std::env::current_exe()?).args(arguments).stdin(Stdio::null()).status()?;
    if ended.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("adjutant {}: {ended}", arguments.join(" "))))
}
