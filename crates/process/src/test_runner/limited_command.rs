//! Runs a program of the operator with limits on time and output, and kills the processes that it
//! leaves behind. Commands that may execute what an agent wrote run under a shim instead.

use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use adjutant_model::run::RunExit;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::bounded_output::BoundedOutput;
use crate::process_table;

/// How often the command is polled for its end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The result of a command.
#[derive(Debug)]
pub struct CommandResult {
    /// [`RunExit::TimedOut`] if the command was killed at its time limit or halted.
    pub exit: RunExit,
    pub stdout: String,
    pub stderr: String,
}

impl CommandResult {
    /// Returns whether the command exited with 0 by itself.
    pub fn is_success(&self) -> bool {
        self.exit == RunExit::Code(0)
    }

    /// Describes the end in words.
    pub fn exit_text(&self) -> String {
        match &self.exit {
            RunExit::Code(0) => "exit code 0".to_owned(),
            exit => exit.in_words(),
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
#[derive(Debug, Clone)]
pub struct CommandLimits {
    /// The longest time that the command may take.
    pub timeout: Duration,
    /// Set by the caller to stop the command.
    pub halt: Arc<AtomicBool>,
    /// The value of [`CHECK_VARIABLE`] for its processes; `None` if only descendants are killed.
    pub mark: Option<String>,
    /// Variables to remove from the environment, besides all `ADJUTANT_…` variables.
    pub env_removed: Vec<String>,
}

impl CommandLimits {
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
        // The program may never read its input, and a process that it left may hold the pipe open:
        // so nothing waits for the thread.
        std::thread::spawn(move || {
            let mut to = to;
            let _ = to.write_all(&input);
        });
        run_command(command, folder, self)
    }

    /// Kills marked processes of an earlier daemon that was killed while a command ran.
    pub fn kill_strays(&self) {
        if let Some(mark) = &self.mark {
            process_table::kill_all(|| process_table::find_by_variable(CHECK_VARIABLE, mark));
        }
    }
}

fn run_command(
    mut command: Command,
    folder: &Path,
    terms: &CommandLimits,
) -> io::Result<CommandResult> {
    command.current_dir(folder).process_group(0);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    remove_secrets(&mut command, &terms.env_removed);
    command.envs(terms.mark.iter().map(|mark| (CHECK_VARIABLE, mark)));
    let mut child = command.spawn()?;
    // The command holds the read end of the child's input open until it is dropped.
    drop(command);
    let out = child.stdout.take().map(BoundedOutput::read);
    let err = child.stderr.take().map(BoundedOutput::read);
    let ended = wait(&child, terms);
    kill_all(&child, terms);
    let status = child.wait()?;
    let text = |output: Option<BoundedOutput>| {
        let bytes = output.map(BoundedOutput::finish).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let exit = if ended { exit_of(status) } else { RunExit::TimedOut };
    Ok(CommandResult { exit, stdout: text(out), stderr: text(err) })
}

fn exit_of(status: ExitStatus) -> RunExit {
    match (status.code(), status.signal()) {
        (Some(code), _) => RunExit::Code(code),
        (None, Some(signal)) => RunExit::Signal(signal),
        (None, None) => RunExit::Lost,
    }
}

/// Removes Adjutant's own variables and those in `names`.
pub fn remove_secrets(command: &mut Command, names: &[String]) {
    let is_ours = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with("ADJUTANT_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_ours(name)) {
        command.env_remove(name);
    }
    for name in names {
        command.env_remove(name);
    }
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
