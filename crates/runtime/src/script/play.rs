//! Plays the steps of a script.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use serde_json::Value;
use signal_hook::consts::SIGTERM;

use super::document;
use super::message::Run;
use super::step::{Flood, Fork, Matter, Step, Write};

/// The variable by which a process in the background is told to make a session of its own.
const SESSION_VARIABLE: &str = "SCRIPT_AGENT_SESSION";

/// Plays steps one after the other, until one ends it. One that fails ends it with 70.
pub(super) fn play(steps: &[Step], run: &Run) -> ExitCode {
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

/// Plays a step, and returns the code to end with if it is the last.
fn play_one(step: &Step, run: &Run) -> io::Result<Option<u8>> {
    match step {
        Step::Work(span) => std::thread::sleep(span.0),
        Step::Print(text) => print(text)?,
        // In one piece: what goes to standard output meanwhile would else come in between.
        Step::Complain(text) => io::stderr().write_all(format!("{text}\n").as_bytes())?,
        Step::Progress(text) => send(&run.progress(text))?,
        Step::Report(report) => {
            (0..report.times).try_for_each(|_| send(&run.report(report)))?;
        }
        Step::Result(told) => document::result(told)?,
        Step::AttemptCompletion(told) => document::attempt(told)?,
        Step::Delegate(delegate) => send(&run.delegate(delegate))?,
        Step::Lie(lie) => send(&run.lie(lie))?,
        Step::Flood(flood) => pour(flood)?,
        Step::Write(write) => save(write)?,
        Step::Hang => hang(),
        Step::Exit(code) => return Ok(Some(*code)),
        Step::Die(signal) => die(*signal)?,
        Step::IgnoreTerm => {
            // A handler that does nothing is as good as ignoring, and is not inherited.
            signal_hook::flag::register(SIGTERM, Arc::default())?;
        }
        Step::CloseStdin => rustix::stdio::dup2_stdin(File::open("/dev/null")?)?,
        Step::ReadStdin => {
            let read = io::copy(&mut io::stdin().lock().by_ref(), &mut io::sink())?;
            print(&format!("read {read} bytes"))?;
        }
        Step::Suspend => kill_process(getpid(), Signal::STOP)?,
        Step::Fork(fork) => start(fork)?,
        Step::Adjutant(arguments) => adjutant(arguments)?,
    }
    Ok(None)
}

fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

fn send(message: &Value) -> io::Result<()> {
    print(&format!("AOF/1 {message}"))
}

fn save(write: &Write) -> io::Result<()> {
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

/// Sends itself a signal until it is dead: the first of some, a segmentation fault say, only makes
/// the second one deadly.
fn die(signal: i32) -> io::Result<()> {
    let named = Signal::from_named_raw(signal).ok_or(io::ErrorKind::InvalidInput)?;
    loop {
        kill_process(getpid(), named)?;
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn pour(flood: &Flood) -> io::Result<()> {
    const CHUNK: usize = 64 << 10;
    let chunk: Vec<u8> = match flood.of {
        Matter::Lines => b"All work and no play makes a dull agent, says the log.\n".repeat(1200),
        Matter::OneLine | Matter::Message => vec![b'x'; CHUNK],
        Matter::Binary => (0..=255).cycle().take(CHUNK).collect(),
    };
    let mut out = io::stdout().lock();
    if flood.of == Matter::Message {
        out.write_all(b"AOF/1 {\"x\":\"")?;
    }
    let mut left = flood.bytes;
    while left > 0 {
        let now = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        out.write_all(&chunk[..now])?;
        left -= now as u64;
    }
    out.flush()
}

/// Starts steps in a process of their own, which keeps our output and gets no input.
fn start(fork: &Fork) -> io::Result<()> {
    let steps = serde_json::to_string(&fork.steps)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["script-agent", "--steps", &steps]).stdin(Stdio::null());
    if fork.session {
        command.env(SESSION_VARIABLE, "1");
    } else {
        command.env_remove(SESSION_VARIABLE);
    }
    // Nobody waits for it: that it is left behind is the point.
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
