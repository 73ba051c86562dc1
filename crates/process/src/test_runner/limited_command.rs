//! Runs a command with limits on time and output, and kills every process it leaves behind.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use adjutant_model::run::RunExit;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::process_table;

/// The most bytes that are kept of each output stream.
const OUTPUT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How often the command is polled for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The result of a command.
#[derive(Debug)]
pub struct CommandResult {
    /// `None` if the command was killed at its time limit or halted.
    pub status: Option<ExitStatus>,
    pub stdout: String,
    pub stderr: String,
}

impl CommandResult {
    /// Returns whether the command exited with 0 by itself.
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// Describes the end in words.
    pub fn exit_text(&self) -> String {
        match self.exit() {
            RunExit::Code(0) => "exit code 0".to_owned(),
            exit => exit.in_words(),
        }
    }

    pub fn exit(&self) -> RunExit {
        match self.status {
            None => RunExit::TimedOut,
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => RunExit::Code(code),
                (None, Some(signal)) => RunExit::Signal(signal),
                (None, None) => RunExit::Lost,
            },
        }
    }

    /// Returns the last lines of standard error, or else of standard output.
    pub fn last_lines(&self) -> String {
        const LINES: usize = 20;
        let output = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

/// The variable that marks every process a command starts.
pub const CHECK_VARIABLE: &str = "ADJUTANT_CHECK";

/// The limits and environment of a command.
#[derive(Debug, Clone, Default)]
pub struct CommandLimits {
    /// The longest time that the command may take.
    pub timeout: Duration,
    /// Set by the caller to stop the command.
    pub halt: Arc<AtomicBool>,
    /// The value of [`CHECK_VARIABLE`] for its processes; `None` if only descendants are killed.
    pub mark: Option<String>,
    /// Variables to add to the environment.
    pub env_set: Vec<(String, String)>,
    /// Variables to remove from the environment, besides all `ADJUTANT_…` variables.
    pub env_removed: Vec<String>,
}

impl CommandLimits {
    /// Runs a shell command in a folder, and kills everything it started.
    pub fn run(&self, line: &str, folder: &Path) -> io::Result<CommandResult> {
        let mut command = Command::new("sh");
        command.args(["-c", line]).stdin(Stdio::null());
        run_command(command, folder, self)
    }

    /// Runs a program in a folder with `input` on standard input, and kills everything it started.
    pub fn run_program(
        &self,
        program: &Path,
        args: &[String],
        input: &[u8],
        folder: &Path,
    ) -> io::Result<CommandResult> {
        let (from, to) = io::pipe()?;
        let mut command = Command::new(program);
        command.args(args).stdin(from);
        let input = input.to_owned();
        // The program may never read its input. The thread still ends with the program, because no
        // other process holds the read end.
        let writer = std::thread::spawn(move || {
            let mut to = to;
            let _ = to.write_all(&input);
        });
        let ran = run_command(command, folder, self);
        let _ = writer.join();
        ran
    }

    /// Kills marked processes of an earlier daemon that was killed while a command ran.
    pub fn kill_strays(&self) {
        if let Some(mark) = &self.mark {
            process_table::kill_all(|| process_table::find_by_variable(CHECK_VARIABLE, mark));
        }
    }
}

/// Runs a shell command in a folder for at most `limit`, and kills everything it started.
pub fn run(line: &str, folder: &Path, limit: Duration) -> io::Result<CommandResult> {
    CommandLimits { timeout: limit, ..CommandLimits::default() }.run(line, folder)
}

fn run_command(
    mut command: Command,
    folder: &Path,
    terms: &CommandLimits,
) -> io::Result<CommandResult> {
    command.current_dir(folder).process_group(0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // Tests belong to the project and must not see Adjutant's own variables.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_ours(name)) {
        command.env_remove(name);
    }
    for name in &terms.env_removed {
        command.env_remove(name);
    }
    command.envs(terms.env_set.iter().cloned());
    command.envs(terms.mark.iter().map(|mark| (CHECK_VARIABLE, mark)));
    let mut child = command.spawn()?;
    // The command holds the read end of the child's input open until it is dropped.
    drop(command);
    let out = child.stdout.take().map(read_in_thread);
    let err = child.stderr.take().map(read_in_thread);
    let ended = wait(&child, terms);
    kill_all(&child, terms);
    let status = child.wait()?;
    let text = |reader: Option<JoinHandle<Vec<u8>>>| {
        let bytes = reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(CommandResult { status: ended.then_some(status), stdout: text(out), stderr: text(err) })
}

fn is_ours(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with("ADJUTANT_")
}

/// Waits until the command ends, without reaping its process id; returns whether it ended.
fn wait(child: &Child, terms: &CommandLimits) -> bool {
    let Some(pid) = pid(child) else { return false };
    let until = Instant::now() + terms.timeout;
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    loop {
        match waitid(WaitId::Pid(pid), how) {
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Ok(Some(_)) | Err(_) => return true,
        }
        if Instant::now() >= until || terms.halt.load(Ordering::SeqCst) {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Kills the command and everything it started, in any process group.
fn kill_all(child: &Child, terms: &CommandLimits) {
    let Some(pid) = pid(child) else { return };
    let own = pid.as_raw_nonzero().get();
    process_table::kill_all(|| process_table::descendants(&[own]));
    terms.kill_strays();
    // The command has not been reaped, so its process id cannot have been reused.
    let _ = kill_process_group(pid, Signal::KILL);
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Reads a stream to its end, and keeps its beginning.
fn read_in_thread(mut stream: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
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
