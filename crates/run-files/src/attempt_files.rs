//! The files of an attempt: everything a shim leaves on disk for the daemon.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use adjutant_model::Time;
use adjutant_model::run::RunExit;
use adjutant_model::run_nonce::RunNonce;
use adjutant_model::sandbox_level::SandboxLevel;
use adjutant_process::atomic_file::unique_suffix;
use adjutant_process::clock::{Clock, SystemClock};
use adjutant_process::process_table::{self, ProcessIdentity};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::sandbox_spec::{ResourceLimits, SandboxNetwork};
use super::shim_spec::{ReportSpec, ShimSpec, to_millis};

/// The output of the agent.
pub const LOG: &str = "output.log";
/// The earlier output, moved away when the log was full.
pub const ROTATED_LOG: &str = "output.log.1";
/// The work order that the agent got.
pub const ORDER: &str = "order";
/// The socket through which a daemon controls the shim.
pub const CONTROL_SOCKET: &str = "shim.sock";
/// The folder with the socket of the run, and nothing else: a sandbox can show it alone.
pub const RUN_SOCKET_FOLDER: &str = "socket";
/// The socket through which the run talks, in its folder.
pub const RUN_SOCKET: &str = "run.sock";
/// The work order for a model with the tools of the MCP server.
pub const CONTEXT: &str = "context";
/// The messages of the agent, one JSON object per line, numbered from 1.
pub const OUTBOX: &str = "outbox.jsonl";
/// The number of the last message that was confirmed.
pub const CONFIRMED: &str = "outbox.taken";
/// What the agent's event stream says about itself, for agents whose stream is parsed.
pub const TELEMETRY: &str = "told.json";
/// Exists if the agent has started Adjutant's MCP server.
pub const MCP_STARTED: &str = "mcp.started";
/// The evidence for the work of the attempt.
pub const EVIDENCE_FILE: &str = "evidence.json";
/// The hosts that the run wanted to connect to and may not, one a line.
pub const REFUSED_HOSTS: &str = "refused-hosts";
const RECORD: &str = "shim.json";
const EXIT: &str = "exit.json";
const LOCK: &str = "shim.lock";

/// The most bytes that are read of the refused hosts.
const REFUSED_BYTES_MAX: u64 = 64 << 10;

/// The folder of an attempt: `runs/TASK-…/attempts/<n>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptFolder(PathBuf);

/// `shim.json`: the shim of a run, and the agent it supervises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShimRecord {
    pub shim_pid: i32,
    /// In the same unit as `Process::start`.
    pub shim_start: u64,
    /// `None` until the agent runs.
    pub agent_pid: Option<i32>,
    /// In the same unit as `Process::start`; `None` until the agent runs.
    pub agent_start: Option<u64>,
    /// Changes with every boot of the machine.
    pub boot_id: String,
    pub fence: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<RunNonce>,
    pub attempt: u32,
    pub agent: String,
    pub started_at: String,
    /// The document in which the run reports its result, if it leaves one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportSpec>,
    /// What confines the agent; absent if an earlier version started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxLevel>,
    /// What the agent can connect to.
    #[serde(default, skip_serializing_if = "SandboxNetwork::is_open")]
    pub network: SandboxNetwork,
    /// How much of the machine the agent may take.
    #[serde(default, skip_serializing_if = "ResourceLimits::is_empty")]
    pub limits: ResourceLimits,
    /// What a supervisor must know to end the run if the shim does not answer; absent if an earlier
    /// version started it, whose shims send no pulse.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadlines: Option<RunDeadlines>,
}

/// The limits of a run that hold even if its shim does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunDeadlines {
    /// When the run times out, in milliseconds of the machine's monotonic clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at_ms: Option<u64>,
    /// The time between asking to end and killing.
    pub grace_ms: u64,
    /// How long a heartbeat is valid.
    pub ttl_ms: u64,
}

/// `exit.json`: how the run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitRecord {
    pub fence: u64,
    pub attempt: u32,
    pub exit: ProcessExit,
    pub ended_at: String,
    /// The last lines of the output.
    pub tail: String,
}

/// `answer-<n>.json`: the operator's answer to a question of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerFile {
    /// `None` if the request is refused and the agent offered no option for that.
    pub choice: Option<String>,
}

fn answer_file(number: u32) -> String {
    format!("answer-{number}.json")
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProcessExit {
    Code(i32),
    /// A signal that the shim did not send.
    Signal(i32),
    TimedOut,
    Idle,
    OverBudget,
    Stopped(String),
    /// The shim died without recording an exit.
    Lost,
    NotStarted(String),
}

impl ShimRecord {
    /// Makes the record of a shim that starts at `now`, by the machine's monotonic clock.
    pub fn new(spec: &ShimSpec, shim: ProcessIdentity, now: Duration) -> Self {
        let timeout_at_ms =
            spec.limits.timeout_ms.map(|timeout_ms| to_millis(now).saturating_add(timeout_ms));
        let (grace_ms, ttl_ms) = (spec.limits.grace_ms, spec.limits.ttl_ms);
        Self {
            shim_pid: shim.pid,
            shim_start: shim.start,
            agent_pid: None,
            agent_start: None,
            boot_id: process_table::boot_id(),
            fence: spec.fence,
            nonce: spec.nonce,
            attempt: spec.attempt,
            agent: spec.agent.clone(),
            started_at: current_time().to_string(),
            report: spec.report.clone(),
            sandbox: Some(spec.sandbox.level()),
            network: spec.sandbox.network(),
            limits: spec.sandbox.limits(),
            deadlines: Some(RunDeadlines { timeout_at_ms, grace_ms, ttl_ms }),
        }
    }

    #[must_use]
    pub fn with_agent(self, agent: Option<ProcessIdentity>) -> Self {
        let (agent_pid, agent_start) =
            (agent.map(|agent| agent.pid), agent.map(|agent| agent.start));
        Self { agent_pid, agent_start, ..self }
    }

    pub fn shim_process(&self) -> ProcessIdentity {
        ProcessIdentity { pid: self.shim_pid, start: self.shim_start }
    }

    /// Returns the agent's process; `None` until it runs.
    pub fn agent_process(&self) -> Option<ProcessIdentity> {
        Some(ProcessIdentity { pid: self.agent_pid?, start: self.agent_start? })
    }

    /// Returns whether the shim still runs.
    pub fn is_alive(&self) -> bool {
        self.boot_id == process_table::boot_id() && self.shim_process().is_alive()
    }
}

impl ExitRecord {
    /// Makes an exit record with the current time.
    pub fn new(spec: &ShimSpec, exit: ProcessExit, tail: String) -> Self {
        Self::from_numbers(spec.fence, spec.attempt, exit, tail)
    }

    /// Makes an exit record of a run whose spec is not at hand.
    pub fn from_numbers(fence: u64, attempt: u32, exit: ProcessExit, tail: String) -> Self {
        Self { fence, attempt, exit, ended_at: current_time().to_string(), tail }
    }
}

impl AttemptFolder {
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the data folder that the attempt belongs to.
    pub fn data_folder(&self) -> &Path {
        self.0.ancestors().nth(4).unwrap_or(&self.0)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns the path of the socket through which the run talks.
    pub fn run_socket(&self) -> PathBuf {
        self.0.join(RUN_SOCKET_FOLDER).join(RUN_SOCKET)
    }

    /// Removes the socket through which the run talks, with its folder.
    pub fn remove_run_socket(&self) {
        let _ = fs::remove_file(self.run_socket());
        let _ = fs::remove_dir(self.join(RUN_SOCKET_FOLDER));
    }

    /// Creates the folder and its parents, for the owner only.
    pub fn create(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)
    }

    /// Returns whether a shim was ever started here, or the start was prevented.
    pub fn was_started(&self) -> bool {
        self.join(RECORD).exists() || self.has_ended()
    }

    /// Returns whether the exit of the run was recorded.
    pub fn has_ended(&self) -> bool {
        self.join(EXIT).exists()
    }

    /// Reads the record of the shim; `None` if no shim was started.
    pub fn record(&self) -> io::Result<Option<ShimRecord>> {
        self.read(RECORD)
    }

    /// Reads how the run ended; `None` if no exit was recorded.
    pub fn exit(&self) -> io::Result<Option<ExitRecord>> {
        self.read(EXIT)
    }

    /// Reads the agent's telemetry; `None` if its stream is not parsed.
    pub fn telemetry<T: DeserializeOwned>(&self) -> io::Result<Option<T>> {
        self.read(TELEMETRY)
    }

    pub fn write_telemetry(&self, telemetry: &impl Serialize) -> io::Result<()> {
        replace_file(&self.join(TELEMETRY), &serde_json::to_vec(telemetry)?, SyncLevel::Later)
    }

    /// Adds a host that the run wanted to connect to and may not.
    pub fn add_refused_host(&self, host: &str) -> io::Result<()> {
        writeln!(self.append(REFUSED_HOSTS)?, "{host}")
    }

    /// Reads the hosts that the run wanted to connect to and may not, as far as they are readable.
    pub fn refused_hosts(&self) -> Vec<String> {
        let mut text = String::new();
        let file = File::open(self.join(REFUSED_HOSTS));
        let read = file.and_then(|file| file.take(REFUSED_BYTES_MAX).read_to_string(&mut text));
        if read.is_ok() { text.lines().map(str::to_owned).collect() } else { vec![] }
    }

    pub fn write_answer(&self, number: u32, choice: Option<&str>) -> io::Result<()> {
        let answer = AnswerFile { choice: choice.map(str::to_owned) };
        replace_file(
            &self.join(&answer_file(number)),
            &serde_json::to_vec(&answer)?,
            SyncLevel::Later,
        )
    }

    /// Reads the answer to a question of the run; `None` until there is one.
    pub fn answer(&self, number: u32) -> io::Result<Option<AnswerFile>> {
        self.read(&answer_file(number))
    }

    pub fn write_record(&self, record: &ShimRecord, sync: SyncLevel) -> io::Result<()> {
        replace_file(&self.join(RECORD), &serde_json::to_vec(record)?, sync)
    }

    /// Removes the record, as if no shim was started here.
    pub fn remove_record(&self) -> io::Result<()> {
        match fs::remove_file(self.join(RECORD)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Records how the run ended. If a power cut undoes this, the run counts as lost.
    pub fn write_exit(&self, ended: &ExitRecord, sync: SyncLevel) -> io::Result<()> {
        replace_file(&self.join(EXIT), &serde_json::to_vec(ended)?, sync)
    }

    /// Opens the file that the supervising process of the run holds a lock on.
    pub fn lock_file(&self) -> io::Result<File> {
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(self.join(LOCK))
    }

    /// Returns whether a process holds the lock: the shim, or a supervisor that cleans up after it.
    pub fn is_locked(&self) -> io::Result<bool> {
        match flock(&self.lock_file()?, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(false),
            Err(Errno::WOULDBLOCK) => Ok(true),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens a file for appending, readable by the owner only.
    pub fn append(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().append(true).create(true).mode(0o600).open(self.join(name))
    }

    /// Replaces a file atomically.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        replace_file(&self.join(name), bytes, SyncLevel::Later)
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> io::Result<Option<T>> {
        match fs::read(self.join(name)) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// How much of a file must survive a power cut before the function returns. A killed process loses
/// nothing in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncLevel {
    /// Nothing: the system writes it when it likes.
    Later,
    /// That the file exists; it may turn out to be empty.
    Name,
    /// The name and the content.
    Whole,
}

/// Replaces a file atomically: a reader sees the old content or the new.
///
/// Syncs after the rename, so that the second of two syncs has little left to do. If the power
/// fails in between, the file may exist and be empty, which for the files synced here is as
/// good as missing.
pub fn replace_file(path: &Path, bytes: &[u8], sync: SyncLevel) -> io::Result<()> {
    let staged = path.with_added_extension(unique_suffix());
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&staged)?;
    if let Err(error) = file.write_all(bytes).and_then(|()| fs::rename(&staged, path)) {
        let _ = fs::remove_file(&staged);
        return Err(error);
    }
    if sync == SyncLevel::Whole {
        file.sync_all()?;
    }
    match (sync, path.parent()) {
        (SyncLevel::Name | SyncLevel::Whole, Some(folder)) => File::open(folder)?.sync_all(),
        (SyncLevel::Name | SyncLevel::Whole, None) | (SyncLevel::Later, _) => Ok(()),
    }
}

/// Repeats an operation while the disk is full.
pub fn retry_while_full<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    const PAUSE: Duration = Duration::from_millis(200);
    loop {
        match attempt() {
            Err(error) if is_disk_full(&error) => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
}

pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

pub fn current_time() -> Time {
    SystemClock.now()
}

impl From<&ProcessExit> for RunExit {
    fn from(exit: &ProcessExit) -> Self {
        match exit {
            ProcessExit::Code(code) => Self::Code(*code),
            ProcessExit::Signal(signal) => Self::Signal(*signal),
            ProcessExit::TimedOut => Self::TimedOut,
            ProcessExit::Idle => Self::Idle,
            ProcessExit::OverBudget => Self::OverBudget,
            ProcessExit::Stopped(_) => Self::Stopped,
            ProcessExit::Lost => Self::Lost,
            ProcessExit::NotStarted(why) => Self::NotStarted(why.clone()),
        }
    }
}
