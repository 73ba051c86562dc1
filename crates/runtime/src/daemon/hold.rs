//! One daemon a folder: who runs one holds a lock, and says who it is.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::process::Process;

/// The file in the data folder whose lock the daemon holds.
const FILE: &str = "journal/daemon";

/// How long the lock of a daemon that was killed can be held at most by what it was starting.
const LINGERS_MAX: Duration = Duration::from_secs(10);
/// How long to wait before trying again.
const PAUSE: Duration = Duration::from_millis(5);

/// The right to be the daemon of a folder; given back when it is dropped, or its process dies.
pub struct Held {
    _lock: File,
}

/// The daemon that runs on a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// Its process.
    pub pid: u32,
    /// Since when.
    pub since: String,
    /// Its version.
    pub version: String,
    /// The one story it works on; none if it gives out everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
}

/// Why somebody cannot be the daemon of a folder.
#[derive(Debug, Error)]
pub enum NotHeld {
    /// Somebody else is.
    #[error("a daemon is already running on this folder: process {}, since {}", .0.pid, .0.since)]
    Taken(Holder),
    /// The lock cannot be used.
    #[error("cannot lock the folder for a daemon")]
    Io(#[source] io::Error),
}

impl Held {
    /// Becomes the daemon of a folder, unless there is one.
    pub fn take(root: &Path, me: &Holder) -> Result<Self, NotHeld> {
        let mut lock = open(root).map_err(NotHeld::Io)?;
        let until = Instant::now() + LINGERS_MAX;
        loop {
            match lock.try_lock() {
                Ok(()) => return Self::sign(lock, me),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(NotHeld::Io(error)),
            }
            let holder = read(&mut lock);
            if !holder.is_gone() || Instant::now() > until {
                return Err(NotHeld::Taken(holder));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Becomes the daemon of a folder as soon as nobody else is.
    pub fn wait(root: &Path, me: &Holder) -> Result<Self, NotHeld> {
        let lock = open(root).map_err(NotHeld::Io)?;
        lock.lock().map_err(NotHeld::Io)?;
        Self::sign(lock, me)
    }

    fn sign(mut lock: File, me: &Holder) -> Result<Self, NotHeld> {
        let line = serde_json::to_string(me).expect("text and numbers always make JSON") + "\n";
        let written = lock.set_len(0).and_then(|()| lock.write_all(line.as_bytes()));
        written.map_err(NotHeld::Io)?;
        Ok(Self { _lock: lock })
    }
}

impl Holder {
    /// Says whether it is dead, though its lock is held: a process it was just starting has the lock
    /// until it becomes another program.
    fn is_gone(&self) -> bool {
        let process = i32::try_from(self.pid).ok().filter(|pid| *pid > 0);
        process.is_some_and(|pid| !Process::of(pid).is_some_and(Process::is_alive))
    }

    /// Returns the daemon that runs on a folder, if one does.
    pub fn of(root: &Path) -> Option<Self> {
        let mut lock = File::open(root.join(FILE)).ok()?;
        match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(read(&mut lock)).filter(|it| !it.is_gone()),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    }
}

fn open(root: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(root.join(FILE))
}

/// Reads who holds the lock. Who has only just taken it has not signed yet.
fn read(lock: &mut File) -> Holder {
    let mut text = String::new();
    let read = lock.seek(SeekFrom::Start(0)).and_then(|_| lock.read_to_string(&mut text));
    let unknown = || Holder { pid: 0, since: String::new(), version: String::new(), only: None };
    read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me(pid: u32) -> Holder {
        Holder { pid, since: "2026-02-09T21:10:00.000Z".into(), version: "1".into(), only: None }
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("journal")).expect("a folder");
        folder
    }

    #[test]
    fn a_second_daemon_learns_who_the_first_is() {
        let folder = folder();
        assert_eq!(Holder::of(folder.path()), None);
        let held = Held::take(folder.path(), &me(1)).expect("nobody else is there");
        assert_eq!(Holder::of(folder.path()), Some(me(1)));
        let second = Held::take(folder.path(), &me(2)).err().expect("somebody is there");
        assert!(second.to_string().contains("process 1, since 2026-02-09T21:10:00.000Z"));
        drop(held);
        assert_eq!(Holder::of(folder.path()), None);
        drop(Held::take(folder.path(), &me(2)).expect("nobody else is there"));
    }

    #[test]
    fn the_lock_of_one_that_was_killed_is_waited_for() {
        let folder = folder();
        let mut child = std::process::Command::new("true").spawn().expect("a process");
        let dead = child.id();
        child.wait().expect("it ends");
        let held = Held::take(folder.path(), &me(dead)).expect("nobody else is there");
        assert_eq!(Holder::of(folder.path()), None, "nobody runs");
        std::thread::scope(|scope| {
            let second = scope.spawn(|| Held::take(folder.path(), &me(1)).map(drop));
            std::thread::sleep(PAUSE);
            drop(held);
            second.join().expect("no panic").expect("its turn");
        });
    }

    #[test]
    fn who_waits_gets_its_turn() {
        let folder = folder();
        let held = Held::take(folder.path(), &me(1)).expect("nobody else is there");
        std::thread::scope(|scope| {
            let second = scope.spawn(|| Held::wait(folder.path(), &me(2)).map(drop));
            drop(held);
            second.join().expect("no panic").expect("its turn");
        });
    }
}
