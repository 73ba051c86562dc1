//! Calls git, so that nothing a repository names is ever run.
//!
//! An agent can write whatever it likes into the configuration of the repository it works in, and
//! much of that is run by harmless commands: a monitor of files, hooks, filters, programs for
//! comparing and for fetching. So the repository's own folder is only asked for its commits and
//! references, which run nothing, with everything switched off that could be; and the work tree is
//! compared through a git folder of our own, see [`super::shadow`].

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::Unseen;

/// How long git may take for one answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// The most it may answer.
const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// How much of a complaint is kept.
const COMPLAINT_BYTES_MAX: u64 = 4 << 10;

/// What counts more than any file of configuration.
const SETTINGS: [&str; 8] = [
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    // Whoever owns the repository, nothing in it is run.
    "safe.directory=*",
];

/// What git finds in its environment, besides the path of programs.
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

/// A call of git.
pub(crate) struct Call {
    command: Command,
    input: Vec<u8>,
    what: String,
}

/// What git answered.
pub(crate) struct Answer {
    /// Its exit code; none if it was ended by a signal.
    pub(crate) code: Option<i32>,
    /// What it printed.
    pub(crate) output: Vec<u8>,
    /// What it complained of, in one line.
    pub(crate) complaint: String,
    what: String,
}

/// Whose settings count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settings {
    /// The user's as well. For reading settings, and for nothing else.
    OfUser,
    /// No user's.
    OfNobody,
}

impl Call {
    /// Makes a call that works in a folder. It is not started there, so that a program of that
    /// folder is not taken for git.
    pub(crate) fn new(folder: &Path, settings: Settings, arguments: &[&str]) -> Self {
        let mut command = Command::new("git");
        command.current_dir("/").env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs(VARIABLES);
        match settings {
            Settings::OfUser => {
                let kept = ["HOME", "XDG_CONFIG_HOME"];
                command.envs(kept.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
            }
            Settings::OfNobody => drop(command.env("GIT_CONFIG_GLOBAL", "/dev/null")),
        }
        command.arg("--no-pager");
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        command.arg("-C").arg(folder).args(arguments);
        let what = format!("git {}", arguments.first().unwrap_or(&""));
        Self { command, input: vec![], what }
    }

    pub(crate) fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn arguments(mut self, more: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(more);
        self
    }

    pub(crate) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// Calls, and returns what was printed. Any exit code but 0 is a failure.
    pub(crate) fn output(self) -> Result<Vec<u8>, Unseen> {
        let answer = self.answer()?;
        if answer.code == Some(0) { Ok(answer.output) } else { Err(answer.failed()) }
    }

    /// Calls, and returns the answer, whatever it is.
    pub(crate) fn answer(mut self) -> Result<Answer, Unseen> {
        let command = self.command.stdin(Stdio::piped());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Unseen(format!("git cannot be started: {error}")))?;
        let answer = converse(&mut child, self.input);
        if answer.is_err() {
            let _ = child.kill();
        }
        let status = child.wait();
        let broken = |error: io::Error| Unseen(format!("`{}` failed: {error}", self.what));
        let (output, complaint) = answer.map_err(broken)?;
        let code = status.map_err(broken)?.code();
        let complaint = String::from_utf8_lossy(&complaint);
        let complaint = complaint.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Answer { code, output, complaint, what: self.what })
    }
}

impl Answer {
    pub(crate) fn failed(&self) -> Unseen {
        Unseen(format!("`{}` failed: {}", self.what, self.complaint))
    }
}

/// Says what there is to say, and hears the answer, both within bounds.
fn converse(child: &mut Child, input: Vec<u8>) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let until = Instant::now() + PATIENCE;
    if let Some(mut stdin) = child.stdin.take() {
        // Whoever does not read to the end says why by its exit code.
        thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let output = hear(child.stdout.take(), ANSWER_BYTES_MAX);
    let complaint = hear(child.stderr.take(), COMPLAINT_BYTES_MAX);
    let output = wait(&output, until)?;
    if output.len() as u64 > ANSWER_BYTES_MAX {
        return Err(io::Error::other("its answer is too long"));
    }
    Ok((output, wait(&complaint, until)?))
}

/// Reads in a thread, all of it, and keeps as much as is wanted and one byte more.
fn hear(from: Option<impl Read + Send + 'static>, max: u64) -> Receiver<io::Result<Vec<u8>>> {
    let (tell, heard) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = from.map_or(Ok(()), |mut from| {
            from.by_ref().take(max + 1).read_to_end(&mut bytes)?;
            io::copy(&mut from, &mut io::sink()).map(drop)
        });
        // Nobody may wait for it any more.
        let _ = tell.send(read.map(|()| bytes));
    });
    heard
}

fn wait(heard: &Receiver<io::Result<Vec<u8>>>, until: Instant) -> io::Result<Vec<u8>> {
    let left = until.saturating_duration_since(Instant::now());
    heard.recv_timeout(left).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Splits what git prints with `-z`.
pub(crate) fn items(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|item| !item.is_empty())
}
