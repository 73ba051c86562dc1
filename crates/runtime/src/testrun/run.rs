//! Runs a command within limits: of time, of output, and of what it may leave behind.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use adjutant_core::run::Exit;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::process;

/// The most bytes of output that are kept of each stream.
const OUTPUT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How often it is looked whether the command has ended.
const PACE: Duration = Duration::from_millis(20);

/// What a command came to.
#[derive(Debug)]
pub struct Ran {
    /// How it ended; none if it was ended because it took too long.
    pub status: Option<ExitStatus>,
    /// What it printed.
    pub out: String,
    /// What it complained.
    pub err: String,
}

impl Ran {
    /// Says whether it ended by itself, and well.
    pub fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Says how it ended, in words.
    pub fn ended_in_words(&self) -> String {
        match self.exit() {
            Exit::Code(0) => "exit code 0".to_owned(),
            exit => exit.in_words(),
        }
    }

    /// Returns how it ended.
    pub fn exit(&self) -> Exit {
        match self.status {
            None => Exit::TimedOut,
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => Exit::Code(code),
                (None, Some(signal)) => Exit::Signal(signal),
                (None, None) => Exit::Lost,
            },
        }
    }

    /// Returns the last words, of what it complained or else of what it printed.
    pub fn last_words(&self) -> String {
        const LINES: usize = 20;
        let said = if self.err.trim().is_empty() { &self.out } else { &self.err };
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

/// By what everything that a command started is known, where it has a mark.
pub const MARK: &str = "ADJUTANT_CHECK";

/// How a command is run.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// For how long at most.
    pub limit: Duration,
    /// Set when nobody wants it any more.
    pub halt: Arc<AtomicBool>,
    /// By what everything it started is known; none if only its descendants are.
    pub mark: Option<String>,
    /// What is added to its environment.
    pub set: Vec<(String, String)>,
    /// What is taken from its environment, beside what is ours by its name.
    pub deny: Vec<String>,
}

impl Terms {
    /// Runs a command by a shell in a folder, and ends everything it started.
    pub fn run(&self, line: &str, folder: &Path) -> io::Result<Ran> {
        let mut command = Command::new("sh");
        command.args(["-c", line]).stdin(Stdio::null());
        run_on(command, folder, self)
    }

    /// Runs a program in a folder, gives it `input` to read, and ends everything it started.
    pub fn run_program(
        &self,
        program: &Path,
        args: &[String],
        input: &[u8],
        folder: &Path,
    ) -> io::Result<Ran> {
        let (from, to) = io::pipe()?;
        let mut command = Command::new(program);
        command.args(args).stdin(from);
        let input = input.to_owned();
        // It may never read: then this ends with it, because nobody else holds the other end.
        let writer = std::thread::spawn(move || {
            let mut to = to;
            let _ = to.write_all(&input);
        });
        let ran = run_on(command, folder, self);
        let _ = writer.join();
        ran
    }

    /// Ends what an earlier process of ours left that was killed while a command ran.
    pub fn end_strays(&self) {
        if let Some(mark) = &self.mark {
            process::kill(|| process::marked(MARK, mark));
        }
    }
}

/// Runs a command by a shell in a folder, for at most so long, and ends everything it started.
pub fn run(line: &str, folder: &Path, limit: Duration) -> io::Result<Ran> {
    Terms { limit, ..Terms::default() }.run(line, folder)
}

fn run_on(mut command: Command, folder: &Path, terms: &Terms) -> io::Result<Ran> {
    command.current_dir(folder).process_group(0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // Tests are the project's, and have no business with what Adjutant keeps to itself.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_ours(name)) {
        command.env_remove(name);
    }
    for name in &terms.deny {
        command.env_remove(name);
    }
    command.envs(terms.set.iter().cloned());
    command.envs(terms.mark.iter().map(|mark| (MARK, mark)));
    let mut child = command.spawn()?;
    // Whatever it holds of what the child reads would keep it open.
    drop(command);
    let out = child.stdout.take().map(collect);
    let err = child.stderr.take().map(collect);
    let ended = wait(&child, terms);
    end_all(&child, terms);
    let status = child.wait()?;
    let text = |reader: Option<JoinHandle<Vec<u8>>>| {
        let bytes = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(Ran { status: ended.then_some(status), out: text(out), err: text(err) })
}

fn is_ours(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with("ADJUTANT_")
}

/// Waits until the command has ended, without taking its number away; says whether it has.
fn wait(child: &Child, terms: &Terms) -> bool {
    let Some(pid) = pid(child) else { return false };
    let until = Instant::now() + terms.limit;
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    loop {
        match waitid(WaitId::Pid(pid), how) {
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Ok(Some(_)) | Err(_) => return true,
        }
        if Instant::now() >= until || terms.halt.load(Ordering::SeqCst) {
            return false;
        }
        std::thread::sleep(PACE);
    }
}

/// Ends the command and everything that it started and left, in whatever group.
fn end_all(child: &Child, terms: &Terms) {
    let Some(pid) = pid(child) else { return };
    let own = pid.as_raw_nonzero().get();
    process::kill(|| process::descendants(&[own]));
    terms.end_strays();
    // The command has not been waited for, so its number is still its own.
    let _ = kill_process_group(pid, Signal::KILL);
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Reads a stream to its end, and keeps its beginning.
fn collect(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut piece = vec![0; 64 * 1024];
        while let Ok(read) = stream.read(&mut piece) {
            if read == 0 {
                break;
            }
            let room = OUTPUT_BYTES_MAX.saturating_sub(kept.len()).min(read);
            kept.extend_from_slice(&piece[..room]);
        }
        kept
    })
}
