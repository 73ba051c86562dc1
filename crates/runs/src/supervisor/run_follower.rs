//! Follows a run: delivers its messages as they arrive, and its exit.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use adjutant_model::usage::AgentTelemetry;
use adjutant_run_files::attempt_files::{AttemptFolder, MCP_STARTED, ShimRecord};

use super::find_runs::{LocalRunState, local_run_state};
use super::shim_cleanup::{clean_up_run, end_without_folder, end_without_shim};
use super::shim_watchdog::{FollowedRun, ShimWatchdog};
use super::{
    FollowedRuns, ProcessExit, RunEvent, RunEventKind, RunEventSink, RunRef, RunSupervisor,
    shim_client,
};
use crate::agent::AgentSelfReport;
use crate::shim::control_socket::{ControlRequest, has_pulse};
use crate::shim::outbox::{OutboxMessage, OutboxReader};

/// How long to wait before connecting again to a shim that cannot be reached.
const PAUSE: Duration = Duration::from_millis(20);

/// The output tail of a run whose folder was removed while it ran.
const FOLDER_REMOVED: &str =
    "the folder of the run was removed, and its remaining processes were ended";

struct RunFollower {
    run: RunRef,
    folder: AttemptFolder,
    /// The shim of the run when it was first seen.
    record: Option<ShimRecord>,
    token: String,
    events: RunEventSink,
    followed: FollowedRuns,
    state: Arc<FollowedRun>,
}

/// No more events are taken.
struct SinkClosed;

/// Follows a run in its own thread.
pub(super) fn spawn(
    supervisor: &RunSupervisor,
    run: RunRef,
    state: Arc<FollowedRun>,
) -> io::Result<()> {
    let folder = supervisor.folder(&run);
    let follower = RunFollower {
        record: folder.record().ok().flatten(),
        folder,
        token: supervisor.token(&run),
        events: supervisor.events.clone(),
        followed: supervisor.followed.clone(),
        state,
        run,
    };
    let name = format!("follow {}", follower.run.task);
    std::thread::Builder::new().name(name).stack_size(256 << 10).spawn(move || {
        // It returns with the run, or when no more events are taken.
        let _ = follower.follow();
        let mut all = follower.followed.lock();
        all.remove(&follower.run);
    })?;
    Ok(())
}

impl RunFollower {
    fn follow(&self) -> Result<(), SinkClosed> {
        let mut reader = OutboxReader::open(&self.folder);
        let mut watch = None;
        let mut watchdog = ShimWatchdog::new(self.record.as_ref());
        loop {
            // Check whether the run has ended before reading its messages: then those are the last.
            let life = local_run_state(&self.folder).unwrap_or(LocalRunState::Alive);
            // A read that fails now may succeed the next time.
            while let Ok(Some(message)) = reader.read() {
                let OutboxMessage { seq, message } = message;
                self.deliver(RunEventKind::Message { seq, message })?;
                // However much the run says, its shim is looked at.
                self.look_at_shim(watchdog.as_mut());
            }
            match life {
                LocalRunState::Alive => {
                    if wait_for_news(&self.folder, &mut watch) == ShimNews::Pulse {
                        watchdog.iter_mut().for_each(ShimWatchdog::record_pulse);
                    }
                    self.look_at_shim(watchdog.as_mut());
                }
                LocalRunState::Gone
                    if clean_up_run(&self.folder, &self.run, &self.token).is_ok() => {}
                LocalRunState::Gone => std::thread::sleep(PAUSE),
                LocalRunState::Over => return self.deliver_exit(),
                LocalRunState::Unknown => return self.end_removed_run(),
            }
        }
    }

    /// Ends the run if its shim does not, and records its exit.
    fn look_at_shim(&self, watchdog: Option<&mut ShimWatchdog>) {
        if let Some(end) = watchdog.and_then(|watchdog| watchdog.look(&self.folder, &self.state)) {
            self.state.is_ending.store(true, Ordering::SeqCst);
            // If the exit cannot be recorded now, the run is found without a shim and is cleaned up.
            let _ = end_without_shim(&self.folder, &self.run, &self.token, end);
        }
    }

    fn deliver_exit(&self) -> Result<(), SinkClosed> {
        match self.folder.exit() {
            Ok(Some(ended)) => {
                let telemetry = self.telemetry();
                let tail = match &telemetry {
                    Some(telemetry) => telemetry.exit_text(&ended.exit, &ended.tail),
                    None => ended.tail,
                };
                let telemetry = telemetry.map(|telemetry| telemetry.to_telemetry());
                let refused_hosts = self.folder.refused_hosts();
                let telemetry =
                    Box::new(AgentTelemetry { refused_hosts, ..telemetry.unwrap_or_default() });
                self.deliver(RunEventKind::Exited { exit: ended.exit, tail, telemetry })
            }
            // The file was overwritten.
            Err(_) => self.deliver_lost(""),
            Ok(None) => self.end_removed_run(),
        }
    }

    /// Ends a run whose folder was removed, because its messages cannot be read any more.
    fn end_removed_run(&self) -> Result<(), SinkClosed> {
        end_without_folder(self.record.as_ref(), &self.token);
        self.deliver_lost(FOLDER_REMOVED)
    }

    fn deliver_lost(&self, tail: &str) -> Result<(), SinkClosed> {
        let (tail, telemetry) = (tail.to_owned(), Box::default());
        self.deliver(RunEventKind::Exited { exit: ProcessExit::Lost, tail, telemetry })
    }

    /// Returns the agent's telemetry; `None` if its stream is not parsed.
    fn telemetry(&self) -> Option<AgentSelfReport> {
        let mut telemetry: AgentSelfReport = self.folder.telemetry().ok().flatten()?;
        if telemetry.no_server.is_none() && !self.folder.join(MCP_STARTED).exists() {
            telemetry.no_server = Some("the agent did not start the server".to_owned());
        }
        Some(telemetry)
    }

    fn deliver(&self, kind: RunEventKind) -> Result<(), SinkClosed> {
        let is_taken = (self.events)(RunEvent { run: self.run.clone(), kind });
        if is_taken { Ok(()) } else { Err(SinkClosed) }
    }
}

/// What a shim has told a follower.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShimNews {
    /// That it supervises the run.
    Pulse,
    /// That there may be something to read, or nothing.
    Other,
}

/// Waits until there may be something to read.
fn wait_for_news(folder: &AttemptFolder, watch: &mut Option<UnixStream>) -> ShimNews {
    if watch.is_none() {
        *watch = shim_client::open_with_request(folder, &ControlRequest::Watch).ok();
        // Messages from before the connection may be there already.
        if watch.is_some() {
            return ShimNews::Other;
        }
    }
    let mut bytes = [0; 64];
    let read = watch.as_mut().map(|stream| stream.read(&mut bytes));
    let quiet = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
    };
    match read {
        Some(Ok(read)) if read > 0 && has_pulse(&bytes[..read]) => return ShimNews::Pulse,
        Some(Ok(read)) if read > 0 => {}
        Some(Err(error)) if quiet(&error) => {}
        Some(_) | None => {
            *watch = None;
            wait_for_shim(folder);
        }
    }
    ShimNews::Other
}

/// Waits before a shim that cannot be reached is tried again. Most of these shims are exiting, and
/// waiting for the process notices that at once.
fn wait_for_shim(folder: &AttemptFolder) {
    match folder.record() {
        Ok(Some(record)) => record.shim_process().wait(PAUSE),
        Ok(None) | Err(_) => std::thread::sleep(PAUSE),
    }
}
