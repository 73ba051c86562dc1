//! Runs git so that nothing that a repository configures is ever executed.
//!
//! An agent can write anything into the configuration of its repository, and harmless git commands
//! execute much of it: file monitors, hooks, filters, diff and fetch programs. So the repository's
//! own git folder is only asked for commits and references, which execute nothing, with every such
//! setting switched off. The work tree is compared through a separate git
//! folder; see [`super::shadow_repository`].

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::InspectionError;

/// The timeout of one git command.
const GIT_TIMEOUT: Duration = Duration::from_mins(1);

/// The largest output that is accepted.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// How much of standard error is kept.
const COMPLAINT_BYTES_MAX: u64 = 4 << 10;

/// These settings override every configuration file.
const SETTINGS: [&str; 8] = [
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    // The owner of the repository does not matter, because nothing in it is executed.
    "safe.directory=*",
];

/// Git's environment, besides `PATH`.
const VARIABLES: [(&str, &str); 12] = [
    ("LC_ALL", "C"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_ASKPASS", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
];

/// A git command that has not been run yet.
pub struct GitCommand {
    command: Command,
    input: Vec<u8>,
    what: String,
}

pub struct GitOutput {
    /// `None` if a signal ended git.
    pub code: Option<i32>,
    pub output: Vec<u8>,
    /// What git printed on standard error, as one line.
    pub stderr: String,
    what: String,
}

/// Which configuration git reads besides the repository's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum GitConfigScope {
    /// The user's configuration. Use this only to read settings.
    WithUser,
    /// No user's configuration.
    Isolated,
}

impl GitCommand {
    /// Makes a command that works in `folder`. The process starts in `/`, so that a program named
    /// `git` in the folder is not run.
    pub fn new(folder: &Path, settings: GitConfigScope, arguments: &[&str]) -> Self {
        let mut command = Command::new("git");
        command.current_dir("/").env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs(VARIABLES);
        match settings {
            GitConfigScope::WithUser => {
                let kept = ["HOME", "XDG_CONFIG_HOME"];
                command.envs(kept.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
            }
            GitConfigScope::Isolated => drop(command.env("GIT_CONFIG_GLOBAL", "/dev/null")),
        }
        command.arg("--no-pager");
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        command.arg("-C").arg(folder).args(arguments);
        let what = format!("git {}", arguments.first().unwrap_or(&""));
        Self { command, input: vec![], what }
    }

    #[must_use]
    pub fn with_env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    #[must_use]
    pub fn with_args(mut self, more: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(more);
        self
    }

    #[must_use]
    pub fn with_input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// Runs git and returns its output. Any exit code but 0 is an error.
    pub fn output(self) -> Result<Vec<u8>, InspectionError> {
        let answer = self.run()?;
        if answer.code == Some(0) { Ok(answer.output) } else { Err(answer.to_error()) }
    }

    /// Runs git and returns the answer with any exit code.
    pub fn run(mut self) -> Result<GitOutput, InspectionError> {
        let command = self.command.stdin(Stdio::piped());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| InspectionError(format!("git cannot be started: {error}")))?;
        let answer = exchange(&mut child, self.input);
        if answer.is_err() {
            let _ = child.kill();
        }
        let status = child.wait();
        let broken = |error: io::Error| InspectionError(format!("`{}` failed: {error}", self.what));
        let (output, complaint) = answer.map_err(broken)?;
        let code = status.map_err(broken)?.code();
        let complaint = String::from_utf8_lossy(&complaint);
        let complaint = complaint.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(GitOutput { code, output, stderr: complaint, what: self.what })
    }
}

impl GitOutput {
    pub fn to_error(&self) -> InspectionError {
        InspectionError(format!("`{}` failed: {}", self.what, self.stderr))
    }
}

/// Writes the input and reads the output, within the limits of time and size.
fn exchange(child: &mut Child, input: Vec<u8>) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let until = Instant::now() + GIT_TIMEOUT;
    if let Some(mut stdin) = child.stdin.take() {
        // A git that does not read all of its input reports that by its exit code.
        thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let output = read_in_thread(child.stdout.take(), ANSWER_BYTES_MAX);
    let complaint = read_in_thread(child.stderr.take(), COMPLAINT_BYTES_MAX);
    let output = wait_for(&output, until)?;
    if output.len() as u64 > ANSWER_BYTES_MAX {
        return Err(io::Error::other("its output is too long"));
    }
    Ok((output, wait_for(&complaint, until)?))
}

/// Reads a stream to its end in a thread, and keeps at most `max` + 1 bytes.
fn read_in_thread(
    from: Option<impl Read + Send + 'static>,
    max: u64,
) -> Receiver<io::Result<Vec<u8>>> {
    let (tell, heard) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = from.map_or(Ok(()), |mut from| {
            from.by_ref().take(max + 1).read_to_end(&mut bytes)?;
            io::copy(&mut from, &mut io::sink()).map(drop)
        });
        // The receiver may have timed out.
        let _ = tell.send(read.map(|()| bytes));
    });
    heard
}

fn wait_for(heard: &Receiver<io::Result<Vec<u8>>>, until: Instant) -> io::Result<Vec<u8>> {
    let left = until.saturating_duration_since(Instant::now());
    heard.recv_timeout(left).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Splits the output of `-z`.
pub fn split_nul(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|item| !item.is_empty())
}
