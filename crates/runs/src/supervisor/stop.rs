//! Stops a run, including one that was not started yet.

use std::io;
use std::time::Duration;

use adjutant_run_files::attempt_files::{AttemptFolder, ExitRecord, ProcessExit, SyncLevel};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::Signal;

use super::find_runs::{LocalRunState, local_run_state};
use super::shim_cleanup::clean_up_run;
use super::{RunRef, RunSupervisor, shim_client};
use crate::shim::control_socket::ControlRequest;

/// How long to wait for a shim that is starting or exiting.
const PAUSE: Duration = Duration::from_millis(5);

/// How often to try to reach a living shim.
const TRIES_MAX: u32 = 1000;

/// Whether a run may still exit by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopMode {
    /// It is asked to end at once, and killed after the grace period.
    Immediately,
    /// It gets one grace period to exit by itself, and is then asked to end.
    AfterGrace,
}

impl RunSupervisor {
    /// Stops a run, and returns when its shim knows. If the shim is gone, ends all processes of the
    /// run. A run that was not started yet can never start after this; a run that has ended stays
    /// as it is.
    pub fn stop(&self, run: &RunRef, reason: &str, leave: StopMode) -> io::Result<()> {
        let folder = self.folder(run);
        let wish = ControlRequest::Stop {
            reason: reason.to_owned(),
            leave: leave == StopMode::AfterGrace,
        };
        let mut tries = 0;
        loop {
            match local_run_state(&folder)? {
                LocalRunState::Alive if tell_shim(&folder, &wish, tries)? => return Ok(()),
                LocalRunState::Alive => {
                    // The shim has just started and has no socket yet, or is exiting.
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                LocalRunState::Gone => return clean_up_run(&folder, run, &self.token(run)),
                LocalRunState::Over => return Ok(()),
                LocalRunState::Unknown if self.prevent_start(run, reason)? => return Ok(()),
                LocalRunState::Unknown => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Records the exit of a run before it has started, so that a later start finds it. Returns
    /// `false` while a shim is starting.
    fn prevent_start(&self, run: &RunRef, reason: &str) -> io::Result<bool> {
        let folder = self.folder(run);
        folder.create()?;
        let lock = folder.lock_file()?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if folder.was_started() => return Ok(false),
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
        let exit = ProcessExit::Stopped(reason.to_owned());
        let ended = ExitRecord::from_numbers(run.fence, run.attempt, exit, String::new());
        // The file only has to stop a shim that is starting now, and none survives a power cut.
        folder.write_exit(&ended, SyncLevel::Later)?;
        Ok(true)
    }
}

/// Sends a request to a shim, and returns whether it was received. If the socket was removed, falls
/// back to a signal after many tries.
fn tell_shim(folder: &AttemptFolder, wish: &ControlRequest, tries: u32) -> io::Result<bool> {
    if let Ok(Some(record)) = folder.record() {
        // Wake a shim that was suspended.
        record.shim_process().send_signal(Signal::CONT);
        if tries >= TRIES_MAX {
            record.shim_process().send_signal(Signal::TERM);
            return Ok(true);
        }
    } else if tries >= TRIES_MAX {
        return Err(io::Error::other("the shim cannot be reached"));
    }
    Ok(shim_client::send_request(folder, wish).is_ok())
}
