//! The supervisor: starts shims, finds and follows their runs, and ends processes that are left.
//!
//! The supervisor knows runs from the disk and the process table, and needs not have started
//! them: a new daemon finds every run of the one before. It does not know what a message or
//! an exit means.

mod find_runs;
mod run_follower;
mod shim_cleanup;
mod shim_client;
mod shim_watchdog;
mod start;
mod stop;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use adjutant_model::TaskId;
use adjutant_model::usage::AgentTelemetry;
use parking_lot::Mutex;

pub use adjutant_run_files::attempt_files::ProcessExit;
pub use adjutant_run_files::run_ref::RunRef;
use adjutant_run_files::run_ref::attempt_folder;
pub use adjutant_run_files::run_ref::was_started_here;
pub use find_runs::{LocalRunState, local_run_state};
use shim_watchdog::FollowedRun;
pub use start::{StartError, StartResult};
pub use stop::StopMode;

use adjutant_config::redact::SecretRedactor;
use adjutant_config::run_token::TokenSecret;
use adjutant_run_files::attempt_files::AttemptFolder;

use crate::shim::control_socket::ControlRequest;
use crate::shim::outbox;
pub use crate::shim::outbox::RunMessage;

/// The most events in the channel. A message has at most 1 MiB, so this bounds the memory.
const EVENTS_MAX: usize = 8;

pub struct RunSupervisor {
    root: PathBuf,
    program: PathBuf,
    secret: TokenSecret,
    redactor: SecretRedactor,
    events: RunEventSink,
    followed: FollowedRuns,
}

/// Takes the events of runs, and may block until there is room for one. Returns false when no more
/// events are taken; the run is then no longer followed.
pub type RunEventSink = Arc<dyn Fn(RunEvent) -> bool + Send + Sync>;

type FollowedRuns = Arc<Mutex<BTreeMap<RunRef, Arc<FollowedRun>>>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEvent {
    pub run: RunRef,
    pub kind: RunEventKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEventKind {
    /// The agent printed a message. It is delivered again after a restart unless
    /// [`RunSupervisor::confirm_messages`] was called for it.
    Message {
        /// The number of the message in the run, counted up from 1.
        seq: u64,
        message: RunMessage,
    },
    /// The run has ended, no process of it is left, and all its messages were delivered before.
    Exited {
        exit: ProcessExit,
        /// The last lines of output, or the agent's own last words.
        tail: String,
        /// The telemetry of the agent.
        telemetry: Box<AgentTelemetry>,
    },
}

impl RunSupervisor {
    /// Makes a supervisor of a data folder, with a channel for the events of its runs. `program` is
    /// the one that has the command `shim`.
    pub fn new(root: &Path, program: PathBuf, secret: TokenSecret) -> (Self, Receiver<RunEvent>) {
        let (sender, events) = sync_channel(EVENTS_MAX);
        let sink = Arc::new(move |event| sender.send(event).is_ok());
        (Self::with_sink(root, program, secret, sink), events)
    }

    /// Like [`RunSupervisor::new`], for a caller that has a queue of its own.
    pub fn with_sink(
        root: &Path,
        program: PathBuf,
        secret: TokenSecret,
        events: RunEventSink,
    ) -> Self {
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let (redactor, followed) = (SecretRedactor::default(), FollowedRuns::default());
        Self { root, program, secret, redactor, events, followed }
    }

    /// Redacts the secrets of the project in the output of the runs that are started.
    #[must_use]
    pub fn with_redactor(mut self, redactor: SecretRedactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Returns the folder of a run, where its log and its exit are.
    pub fn folder(&self, run: &RunRef) -> AttemptFolder {
        run.attempt_folder(&self.root)
    }

    /// Follows a run from now on: unconfirmed messages first, then new ones, then its exit, even if
    /// it ended long ago. Returns whether the run exists. Idempotent.
    pub fn adopt(&self, run: &RunRef) -> io::Result<bool> {
        if !self.folder(run).was_started() {
            return Ok(false);
        }
        let mut followed = self.followed.lock();
        if !followed.contains_key(run) {
            let state = Arc::default();
            run_follower::spawn(self, run.clone(), Arc::clone(&state))?;
            followed.insert(run.clone(), state);
        }
        Ok(true)
    }

    /// Confirms a message, so that it is not delivered again. Call this only after the effect of
    /// the message is durable.
    pub fn confirm_messages(&self, task: &TaskId, attempt: u32, seq: u64) -> io::Result<()> {
        outbox::confirm_up_to(&attempt_folder(&self.root, task, attempt), seq)
    }

    /// Writes the answer to a question of a run where the run looks for it.
    pub fn write_answer(
        &self,
        task: &TaskId,
        attempt: u32,
        number: u32,
        choice: Option<&str>,
    ) -> io::Result<()> {
        attempt_folder(&self.root, task, attempt).write_answer(number, choice)
    }

    /// Ends processes that work on a task and belong to no known run, because the folder of their
    /// run was removed. Searches all processes, so it is too slow for every start.
    pub fn end_strays(&self, task: &TaskId) {
        shim_cleanup::end_strays(&self.root, task);
    }

    fn token(&self, run: &RunRef) -> String {
        self.secret.token(&run.task, run.fence, run.nonce)
    }
}

/// Records a heartbeat that the agent sent to the daemon. `folder` is that of its run.
pub fn report_heartbeat(folder: &AttemptFolder) -> io::Result<()> {
    shim_client::send_request(folder, &ControlRequest::Touch)
}

/// Records that the agent of a run uses the daemon's MCP server.
pub fn report_mcp_started(folder: &AttemptFolder) -> io::Result<()> {
    shim_client::send_request(folder, &ControlRequest::Served)
}
