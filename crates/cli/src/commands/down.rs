//! `adjutant down`: stops the daemon.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use adjutant_daemon::DaemonInfo;
use adjutant_engine::ipc::SilentProcess;
use adjutant_model::Status;
use adjutant_model::command::OperatorAction;
use adjutant_process::process_table::ProcessIdentity;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::data::ProjectData;
use crate::output::CommandOutput;
use crate::output::error::CommandFailure;

/// Stop the daemon, and wait until it has exited
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Agents that keep running are adopted by the next `adjutant up`.

Examples:
  adjutant down          exit at once; agents keep running
  adjutant down --drain  finish current runs first
  adjutant down --stop   stop current runs first")]
pub(crate) struct DownArgs {
    /// Assign nothing more, and exit when the current runs have ended
    #[arg(long)]
    drain: bool,
    /// Stop the current runs, and exit when they have ended
    #[arg(long, conflicts_with = "drain")]
    stop: bool,
}

/// The interval between two checks whether the daemon is gone.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a daemon that has just started may take to write its process id.
const DAEMON_START_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a stopped daemon is given to continue.
const SUSPENDED_PATIENCE: Duration = Duration::from_secs(5);

impl DownArgs {
    pub(crate) fn run(
        self,
        data: &ProjectData,
        out: &CommandOutput,
    ) -> Result<ExitCode, CommandFailure> {
        data.require_operator(OperatorAction::Down, "cannot stop the daemon", out)?;
        let root = data.folder.root();
        let Some(pid) = find_daemon(root)? else {
            if out.is_json() {
                out.document(&json!({ "stopped": null }))?;
            } else {
                out.line("no daemon is running")?;
            }
            warn_about_runs(data, out)?;
            return Ok(ExitCode::SUCCESS);
        };
        send_signal(pid, self.signal())?;
        wait_for_exit(root, pid)?;
        if out.is_json() {
            out.document(&json!({ "stopped": pid }))?;
        } else {
            out.line(&format!("stopped the daemon (process {pid})"))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn signal(&self) -> Signal {
        match (self.drain, self.stop) {
            (true, _) => Signal::INT,
            (_, true) => Signal::QUIT,
            (false, false) => Signal::TERM,
        }
    }
}

/// Warns that runs continue without a daemon, in case the user expects them to be stopped.
fn warn_about_runs(data: &ProjectData, out: &CommandOutput) -> Result<(), CommandFailure> {
    let world = data.load_world(out)?;
    let runs = world.with_status(Status::InProgress).filter(|task| task.lease().is_some()).count();
    let how = "`adjutant up --detach`, then `adjutant down --stop`";
    match runs {
        0 => {}
        1 => out.warn(&format!("1 run continues without a daemon; {how} stops it")),
        runs => out.warn(&format!("{runs} runs continue without a daemon; {how} stops them")),
    }
    Ok(())
}

/// Returns the process id of the daemon. The daemon holds its lock while it lives, so the id cannot
/// belong to another process.
fn find_daemon(root: &Path) -> Result<Option<u32>, CommandFailure> {
    let began = Instant::now();
    while let Some(holder) = DaemonInfo::find_running(root) {
        if holder.pid != 0 {
            return Ok(Some(holder.pid));
        }
        if began.elapsed() > DAEMON_START_TIMEOUT {
            return Err(CommandFailure::broken_because(
                "cannot stop the daemon",
                ["another process holds the daemon lock and has not written its process id"],
            ));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(None)
}

/// Waits until the daemon is gone, unless it is stopped: it obeys no signal then.
fn wait_for_exit(root: &Path, pid: u32) -> Result<(), CommandFailure> {
    let is_suspended =
        |pid: &i32| ProcessIdentity::find(*pid).is_some_and(ProcessIdentity::is_suspended);
    let mut suspended_since = None;
    while is_locked_by(root, pid) {
        let suspended = i32::try_from(pid).ok().filter(is_suspended);
        match (suspended, suspended_since) {
            (None, _) => suspended_since = None,
            (Some(_), None) => suspended_since = Some(Instant::now()),
            (Some(pid), Some(since)) if since.elapsed() > SUSPENDED_PATIENCE => {
                let silent = SilentProcess { pid: Some(pid), is_suspended: true };
                return Err(CommandFailure::silent_process(silent));
            }
            (Some(_), Some(_)) => {}
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

fn is_locked_by(root: &Path, pid: u32) -> bool {
    DaemonInfo::find_running(root).is_some_and(|holder| holder.pid == pid)
}

fn send_signal(pid: u32, signal: Signal) -> Result<(), CommandFailure> {
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let told = process.map_or(Err(rustix::io::Errno::SRCH), |pid| kill_process(pid, signal));
    match told {
        // The daemon ended by itself meanwhile.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(CommandFailure::broken(
            format!("cannot stop the daemon, process {pid}"),
            &std::io::Error::from(error),
        )),
    }
}
