//! One daemon a folder: who runs one holds a lock, and says who it is.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The file in the data folder whose lock the daemon holds.
const FILE: &str = "journal/daemon";

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
        match lock.try_lock() {
            Ok(()) => Self::sign(lock, me),
            Err(TryLockError::WouldBlock) => Err(NotHeld::Taken(read(&mut lock))),
            Err(TryLockError::Error(error)) => Err(NotHeld::Io(error)),
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
    /// Returns the daemon that runs on a folder, if one does.
    pub fn of(root: &Path) -> Option<Self> {
        let mut lock = File::open(root.join(FILE)).ok()?;
        match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(read(&mut lock)),
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
    let unknown = || Holder { pid: 0, since: String::new(), version: String::new() };
    read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me(pid: u32) -> Holder {
        Holder { pid, since: "2026-02-09T21:10:00.000Z".into(), version: "1".into() }
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
