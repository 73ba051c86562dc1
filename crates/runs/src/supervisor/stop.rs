//! Stops a run, including one that was not started yet.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use adjutant_run_files::attempt_files::{AttemptFolder, ExitRecord, ProcessExit, SyncLevel};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::Signal;

use super::find_runs::{LocalRunState, local_run_state};
use super::shim_cleanup::{clean_up_run, end_without_shim};
use super::shim_watchdog::EndWithoutShim;
use super::{RunRef, RunSupervisor, shim_client};
use crate::shim::control_socket::ControlRequest;

/// How long to wait for a shim that is starting or exiting.
const PAUSE: Duration = Duration::from_millis(5);

/// How long to try to reach a living shim before it is sent a signal.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same, if an earlier call has tried already.
const REPEATED_PATIENCE: Duration = Duration::from_millis(100);

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
    ///
    /// Fails with [`io::ErrorKind::TimedOut`] if the shim of a run that is followed does not answer.
    /// The run is then ended without its shim, which the caller need not wait for.
    pub fn stop(&self, run: &RunRef, reason: &str, leave: StopMode) -> io::Result<()> {
        let folder = self.folder(run);
        let wish = ControlRequest::Stop {
            reason: reason.to_owned(),
            leave: leave == StopMode::AfterGrace,
        };
        let followed = self.followed.lock().get(run).cloned();
        let earlier = followed.as_ref().and_then(|it| it.stop.lock().replace(reason.to_owned()));
        let patience = if earlier.is_some() { REPEATED_PATIENCE } else { PATIENCE };
        let is_ending = || followed.as_ref().is_some_and(|it| it.is_ending.load(Ordering::SeqCst));
        let deadline = Instant::now() + patience;
        loop {
            match local_run_state(&folder)? {
                LocalRunState::Over => return Ok(()),
                _ if is_ending() => return Err(shim_silent()),
                LocalRunState::Alive if tell_shim(&folder, &wish) => return Ok(()),
                LocalRunState::Alive if Instant::now() >= deadline => {
                    return self.stop_without_socket(run, reason, followed.is_some());
                }
                LocalRunState::Gone => return clean_up_run(&folder, run, &self.token(run)),
                LocalRunState::Unknown if self.prevent_start(run, reason)? => return Ok(()),
                // The shim has just started and has no socket yet, is starting, or is exiting.
                LocalRunState::Alive | LocalRunState::Unknown => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Stops a run whose shim cannot be reached through its socket: by a signal, and without the
    /// shim if that does not help.
    fn stop_without_socket(&self, run: &RunRef, reason: &str, is_followed: bool) -> io::Result<()> {
        let folder = self.folder(run);
        let record = folder.record().ok().flatten().ok_or_else(shim_silent)?;
        record.shim_process().send_signal(Signal::TERM);
        record.shim_process().send_signal(Signal::CONT);
        if is_followed {
            // The follower ends the run if the shim does not.
            return Err(shim_silent());
        }
        let grace_ms = record.deadlines.map_or(0, |deadlines| deadlines.grace_ms);
        record.shim_process().wait(PATIENCE + Duration::from_millis(grace_ms));
        let exit = ProcessExit::Stopped(reason.to_owned());
        end_without_shim(&folder, run, &self.token(run), EndWithoutShim::new(record, exit))
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

fn shim_silent() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the shim does not answer")
}

/// Wakes a shim that was suspended, sends it a request, and returns whether the request was received.
fn tell_shim(folder: &AttemptFolder, wish: &ControlRequest) -> bool {
    if let Ok(Some(record)) = folder.record() {
        record.shim_process().send_signal(Signal::CONT);
    }
    shim_client::send_request(folder, wish).is_ok()
}
