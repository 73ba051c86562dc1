//! What a shim leaves on disk for whoever comes after it: the folder of an attempt.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use adjutant_core::Time;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::spec::{Report, Spec};
use crate::agent::Told;
use crate::clock::{Clock, SystemClock};
use crate::process::{self, Process};

/// What the agent printed, and what it printed before that.
pub const LOG: &str = "output.log";
/// The log that was put aside when it was full.
pub const LOG_BEFORE: &str = "output.log.1";
/// The work order as it was given.
pub const ORDER: &str = "order";
/// The socket of the shim.
pub const SOCKET: &str = "shim.sock";
/// The messages the agent printed, one JSON object a line, numbered from 1.
pub const OUTBOX: &str = "outbox.jsonl";
/// The number of the last message that was taken.
pub const TAKEN: &str = "outbox.taken";
/// What the agent told of itself, where that is read.
pub const TOLD: &str = "told.json";
/// There if the agent has started our MCP server.
pub const SERVER: &str = "mcp.started";
const RECORD: &str = "shim.json";
const EXIT: &str = "exit.json";
const LOCK: &str = "shim.lock";

/// The folder of an attempt: `runs/TASK-…/attempts/<n>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder(PathBuf);

/// `shim.json`: who supervises the run, and what it supervises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The number of the shim.
    pub shim_pid: i32,
    /// When the shim started, in the units of the system.
    pub shim_start: u64,
    /// The number of the agent, once it runs.
    pub agent_pid: Option<i32>,
    /// When the agent started.
    pub agent_start: Option<u64>,
    /// What is another text after each start of the machine.
    pub boot_id: String,
    /// The fence of the run.
    pub fence: u64,
    /// The number of the run.
    pub attempt: u32,
    /// Who works.
    pub agent: String,
    /// When the shim started.
    pub started_at: String,
    /// In what document the run says what came of it, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
}

/// `exit.json`: how the run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// The fence of the run.
    pub fence: u64,
    /// The number of the run.
    pub attempt: u32,
    /// How it ended.
    pub exit: Exit,
    /// When.
    pub ended_at: String,
    /// The last lines it printed.
    pub tail: String,
}

/// `answer-<n>.json`: what a person answered to a question of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// The choice; none if it is refused and there is no choice for that.
    pub choice: Option<String>,
}

fn answer_file(number: u32) -> String {
    format!("answer-{number}.json")
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Exit {
    /// The agent exited with this code.
    Code(i32),
    /// The agent was ended by this signal, sent by somebody else.
    Signal(i32),
    /// It took too long and was stopped.
    TimedOut,
    /// It was silent for too long and was stopped.
    Idle,
    /// It had used up its budget and was stopped.
    OverBudget,
    /// It was stopped for this reason.
    Stopped(String),
    /// It vanished, and nobody saw how.
    Lost,
    /// It could not be started.
    NotStarted(String),
}

impl Record {
    pub(super) fn new(spec: &Spec, shim: Process) -> Self {
        Self {
            shim_pid: shim.pid,
            shim_start: shim.start,
            agent_pid: None,
            agent_start: None,
            boot_id: process::boot_id(),
            fence: spec.fence,
            attempt: spec.attempt,
            agent: spec.agent.clone(),
            started_at: now().to_string(),
            report: spec.report.clone(),
        }
    }

    /// Adds the agent, now that it runs.
    #[must_use]
    pub(super) fn with(self, agent: Option<Process>) -> Self {
        let (agent_pid, agent_start) =
            (agent.map(|agent| agent.pid), agent.map(|agent| agent.start));
        Self { agent_pid, agent_start, ..self }
    }

    /// Returns the shim.
    pub fn shim(&self) -> Process {
        Process { pid: self.shim_pid, start: self.shim_start }
    }

    /// Returns the agent, once it runs.
    pub fn process(&self) -> Option<Process> {
        Some(Process { pid: self.agent_pid?, start: self.agent_start? })
    }

    /// Says whether the shim still runs.
    pub fn is_alive(&self) -> bool {
        self.boot_id == process::boot_id() && self.shim().is_alive()
    }
}

impl Ended {
    /// Makes the end of a run, now.
    pub fn new(spec: &Spec, exit: Exit, tail: String) -> Self {
        Self::of(spec.fence, spec.attempt, exit, tail)
    }

    /// Makes the end of a run that is known by its numbers only.
    pub fn of(fence: u64, attempt: u32, exit: Exit, tail: String) -> Self {
        Self { fence, attempt, exit, ended_at: now().to_string(), tail }
    }
}

impl Folder {
    /// Names the folder of an attempt, wherever it is.
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of a file in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Makes the folder and what is above it, for the owner only.
    pub fn create(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)
    }

    /// Says whether a shim was ever started here.
    pub fn was_started(&self) -> bool {
        self.join(RECORD).exists() || self.has_ended()
    }

    /// Says whether the end of the run was written down.
    pub fn has_ended(&self) -> bool {
        self.join(EXIT).exists()
    }

    /// Reads who supervises the run.
    pub fn record(&self) -> io::Result<Option<Record>> {
        self.read(RECORD)
    }

    /// Reads how the run ended.
    pub fn exit(&self) -> io::Result<Option<Ended>> {
        self.read(EXIT)
    }

    /// Reads what the agent told of itself; none if nobody listened.
    pub fn told(&self) -> io::Result<Option<Told>> {
        self.read(TOLD)
    }

    /// Writes down what the agent told of itself.
    pub fn write_told(&self, told: &Told) -> io::Result<()> {
        replace(&self.join(TOLD), &serde_json::to_vec(told)?, Sync::Later)
    }

    /// Writes down what a person answered to a question of the run.
    pub fn write_answer(&self, number: u32, choice: Option<&str>) -> io::Result<()> {
        let answer = Answered { choice: choice.map(str::to_owned) };
        replace(&self.join(&answer_file(number)), &serde_json::to_vec(&answer)?, Sync::Later)
    }

    /// Reads what a person answered to a question of the run; none while nobody has.
    pub fn answer(&self, number: u32) -> io::Result<Option<Answered>> {
        self.read(&answer_file(number))
    }

    pub(super) fn write_record(&self, record: &Record, sync: Sync) -> io::Result<()> {
        replace(&self.join(RECORD), &serde_json::to_vec(record)?, sync)
    }

    /// Takes back that a shim was started here.
    pub(super) fn forget_record(&self) -> io::Result<()> {
        match fs::remove_file(self.join(RECORD)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Writes down how the run ended. Where a power cut may take it back, the run is found without
    /// an end, and counts as lost.
    pub fn write_exit(&self, ended: &Ended, sync: Sync) -> io::Result<()> {
        replace(&self.join(EXIT), &serde_json::to_vec(ended)?, sync)
    }

    /// Writes down how the run ended, waiting for room if there is none.
    pub(super) fn write_exit_with_room(&self, ended: &Ended, sync: Sync) -> io::Result<()> {
        with_room(|| self.write_exit(ended, sync))
    }

    /// Opens the file that whoever looks after the run holds a lock on.
    pub fn lock_file(&self) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.join(LOCK))
    }

    /// Says whether somebody looks after the run: its shim, or whoever ends what a shim left.
    pub fn is_held(&self) -> io::Result<bool> {
        match flock(&self.lock_file()?, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(false),
            Err(Errno::WOULDBLOCK) => Ok(true),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens a file for appending, for the owner only.
    pub(super) fn append(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().append(true).create(true).mode(0o600).open(self.join(name))
    }

    /// Replaces a file as a whole.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        replace(&self.join(name), bytes, Sync::Later)
    }

    fn read<T: for<'de> Deserialize<'de>>(&self, name: &str) -> io::Result<Option<T>> {
        match fs::read(self.join(name)) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// What of a file must survive a power cut before going on. A process that is killed takes nothing
/// with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// Nothing: the system writes it when it likes.
    Later,
    /// That it is there; it may turn out to be empty.
    Name,
    /// All of it.
    Whole,
}

/// Replaces a file as a whole: whoever reads it reads the old text or the new one.
///
/// A sync comes after the new name, so that the second of two finds little left to do. Should the
/// power fail before it, the file may be there and empty, which is as good as not there for all
/// that is synced here.
pub(super) fn replace(path: &Path, bytes: &[u8], sync: Sync) -> io::Result<()> {
    let staged = path.with_added_extension(unique());
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&staged)?;
    if let Err(error) = file.write_all(bytes).and_then(|()| fs::rename(&staged, path)) {
        let _ = fs::remove_file(&staged);
        return Err(error);
    }
    if sync == Sync::Whole {
        file.sync_all()?;
    }
    match (sync, path.parent()) {
        (Sync::Name | Sync::Whole, Some(folder)) => File::open(folder)?.sync_all(),
        (Sync::Name | Sync::Whole, None) | (Sync::Later, _) => Ok(()),
    }
}

/// Returns an ending that nobody else uses at this time, in this process or another.
pub(crate) fn unique() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{count}.tmp", std::process::id())
}

/// Does something again and again for as long as the disk is full.
pub(super) fn with_room<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(200);
    loop {
        match attempt() {
            Err(error) if is_full(&error) => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
}

/// Says whether something could not be done because the disk is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Returns the time of day.
pub(super) fn now() -> Time {
    SystemClock.now()
}
