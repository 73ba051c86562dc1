//! `adjutant down`: stops the daemon.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use adjutant_core::Status;
use adjutant_core::command::Chore;
use adjutant_runtime::daemon::Holder;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::data::Data;
use crate::error::Failure;
use crate::output::Output;

/// Stop the daemon, and wait until it is gone
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Without an option the daemon leaves at once: the agents it looked after go on, \
    and the next daemon finds them."
)]
pub(crate) struct Down {
    /// Give out nothing more, and leave when the runs there are have come to their end
    #[arg(long)]
    drain: bool,
    /// Stop the runs there are, and leave when they are over
    #[arg(long, conflicts_with = "drain")]
    stop: bool,
}

/// How often to look whether it is gone.
const PAUSE: Duration = Duration::from_millis(20);

/// How long a daemon that has just started may take to say who it is.
const SIGNING: Duration = Duration::from_secs(10);

impl Down {
    pub(crate) fn run(self, data: &Data, out: &Output) -> Result<ExitCode, Failure> {
        data.permit(Chore::Down, "cannot stop the daemon", out)?;
        let root = data.folder.root();
        let Some(pid) = daemon(root)? else {
            if out.is_json() {
                out.document(&json!({ "stopped": null }))?;
            } else {
                out.line("no daemon is running")?;
            }
            warn_of_runs(data, out)?;
            return Ok(ExitCode::SUCCESS);
        };
        tell(pid, self.signal())?;
        while is_held_by(root, pid) {
            std::thread::sleep(PAUSE);
        }
        if out.is_json() {
            out.document(&json!({ "stopped": pid }))?;
        } else {
            out.line(&format!("the daemon is gone, process {pid}"))?;
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

/// Says that runs go on without a daemon, to whoever may think that they were stopped.
fn warn_of_runs(data: &Data, out: &Output) -> Result<(), Failure> {
    let world = data.world(out)?;
    let runs = world.with_status(Status::InProgress).filter(|task| task.lease().is_some()).count();
    let how = "`adjutant up --detach`, then `adjutant down --stop`";
    match runs {
        0 => {}
        1 => out.warn(&format!("a run goes on without one; {how} stops it")),
        runs => out.warn(&format!("{runs} runs go on without one; {how} stops them")),
    }
    Ok(())
}

/// Returns the process of the daemon. The lock says that it lives, so that no other process can
/// have its number.
fn daemon(root: &Path) -> Result<Option<u32>, Failure> {
    let began = Instant::now();
    while let Some(holder) = Holder::of(root) {
        if holder.pid != 0 {
            return Ok(Some(holder.pid));
        }
        if began.elapsed() > SIGNING {
            return Err(Failure::broken_because(
                "cannot stop the daemon",
                ["somebody holds the folder and does not say who"],
            ));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(None)
}

fn is_held_by(root: &Path, pid: u32) -> bool {
    Holder::of(root).is_some_and(|holder| holder.pid == pid)
}

fn tell(pid: u32, signal: Signal) -> Result<(), Failure> {
    let process = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let told = process.map_or(Err(rustix::io::Errno::SRCH), |pid| kill_process(pid, signal));
    match told {
        // It went by itself meanwhile.
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(Failure::broken(
            format!("cannot stop the daemon, process {pid}"),
            &std::io::Error::from(error),
        )),
    }
}
