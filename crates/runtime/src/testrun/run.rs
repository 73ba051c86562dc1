//! Runs a command within limits: of time, of output, and of what it may leave behind.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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

    /// Returns the last words, of what it complained or else of what it printed.
    pub fn last_words(&self) -> String {
        const LINES: usize = 20;
        let said = if self.err.trim().is_empty() { &self.out } else { &self.err };
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }
}

/// Runs a command by a shell in a folder, for at most so long, and ends everything it started.
pub fn run(line: &str, folder: &Path, limit: Duration) -> io::Result<Ran> {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Tests are the project's, and have no business with what Adjutant keeps to itself.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_ours(name)) {
        command.env_remove(name);
    }
    let mut child = command.spawn()?;
    let out = child.stdout.take().map(collect);
    let err = child.stderr.take().map(collect);
    let ended = wait(&child, limit);
    end_all(&child);
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
fn wait(child: &Child, limit: Duration) -> bool {
    let Some(pid) = pid(child) else { return false };
    let until = Instant::now() + limit;
    let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    loop {
        match waitid(WaitId::Pid(pid), how) {
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Ok(Some(_)) | Err(_) => return true,
        }
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(PACE);
    }
}

/// Ends the command and everything that it started and left, in whatever group.
fn end_all(child: &Child) {
    let Some(pid) = pid(child) else { return };
    let own = pid.as_raw_nonzero().get();
    process::kill(|| process::descendants(&[own]));
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
