//! Stops a run.

use std::io;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::Signal;

use super::clear::clear;
use super::find::{Life, life};
use super::{Run, Supervisor, call};
use crate::shim::door::Wish;
use crate::shim::files::{Ended, Exit, Folder, Sync};

/// How long to wait for a shim that is about to begin or to go.
const PAUSE: Duration = Duration::from_millis(5);

/// How often to try to reach a shim that lives.
const TRIES_MAX: u32 = 1000;

/// Whether a run may still leave by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// It is asked to end at once, and killed after the grace.
    Now,
    /// It gets the time of a grace to leave by itself, and is then asked.
    First,
}

impl Supervisor {
    /// Has a run stopped, and returns when its shim knows. Of a run whose shim is gone, everything
    /// is ended; one that was never started never will be; one that is over stays as it is.
    pub fn stop(&self, run: &Run, reason: &str, leave: Leave) -> io::Result<()> {
        let folder = self.folder(run);
        let wish = Wish::Stop { reason: reason.to_owned(), leave: leave == Leave::First };
        let mut tries = 0;
        loop {
            match life(&folder)? {
                Life::Alive if tell_shim(&folder, &wish, tries)? => return Ok(()),
                Life::Alive => {
                    // It has just begun and has no socket yet, or is about to be gone.
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                Life::Gone => return clear(&folder, run, &self.token(run)),
                Life::Over => return Ok(()),
                Life::Unknown if self.prevent(run, reason)? => return Ok(()),
                Life::Unknown => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Writes the end of a run before it has begun: whoever is about to start it finds that. Says
    /// whether it could; it cannot while a shim is about to begin.
    fn prevent(&self, run: &Run, reason: &str) -> io::Result<bool> {
        let folder = self.folder(run);
        folder.create()?;
        let lock = folder.lock_file()?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) if folder.was_started() => return Ok(false),
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
        let exit = Exit::Stopped(reason.to_owned());
        let ended = Ended::of(run.fence, run.attempt, exit, String::new());
        // It keeps out a shim that is about to begin, and a power cut leaves none.
        folder.write_exit(&ended, Sync::Later)?;
        Ok(true)
    }
}

/// Tells a shim, and says whether it heard. One whose socket somebody took away is told by a signal
/// in the end.
fn tell_shim(folder: &Folder, wish: &Wish, tries: u32) -> io::Result<bool> {
    if let Ok(Some(record)) = folder.record() {
        // Somebody may have suspended it.
        record.shim().send(Signal::CONT);
        if tries >= TRIES_MAX {
            record.shim().send(Signal::TERM);
            return Ok(true);
        }
    } else if tries >= TRIES_MAX {
        return Err(io::Error::other("the shim cannot be reached"));
    }
    Ok(call::call(folder, wish).is_ok())
}
