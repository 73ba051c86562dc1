//! The daemon lock: one daemon per data folder, with a file that says which process holds it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use adjutant_process::process_table::ProcessIdentity;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The file in the data folder whose lock the daemon holds.
const FILE: &str = "journal/daemon";

/// The longest time that child processes of a killed daemon can keep its lock.
const INHERITED_LOCK_MAX: Duration = Duration::from_secs(10);
/// How long to wait before trying to lock again.
const PAUSE: Duration = Duration::from_millis(5);

/// Proof that this process is the daemon of a folder. The lock is released when it is dropped or
/// the process dies.
pub struct DaemonLock {
    _lock: File,
}

/// The content of the lock file: which daemon runs on a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DaemonInfo {
    pub pid: u32,
    pub since: String,
    pub version: String,
    /// The only story it assigns work for; `None` means every task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
}

#[derive(Debug, Error)]
pub enum DaemonLockError {
    #[error("a daemon is already running on this folder: process {}, since {}", .0.pid, .0.since)]
    Taken(DaemonInfo),
    #[error("cannot lock the folder for a daemon")]
    Io(#[source] io::Error),
}

impl DaemonLock {
    /// Takes the lock, unless a living daemon has it.
    pub fn take(root: &Path, me: &DaemonInfo) -> Result<Self, DaemonLockError> {
        let mut lock = open_lock_file(root).map_err(DaemonLockError::Io)?;
        let until = Instant::now() + INHERITED_LOCK_MAX;
        loop {
            match lock.try_lock() {
                Ok(()) => return Self::write_info(lock, me),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(DaemonLockError::Io(error)),
            }
            let holder = read_info(&mut lock);
            if !holder.is_gone() || Instant::now() > until {
                return Err(DaemonLockError::Taken(holder));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Takes the lock as soon as no other daemon has it.
    pub fn wait(root: &Path, me: &DaemonInfo) -> Result<Self, DaemonLockError> {
        let lock = open_lock_file(root).map_err(DaemonLockError::Io)?;
        lock.lock().map_err(DaemonLockError::Io)?;
        Self::write_info(lock, me)
    }

    fn write_info(mut lock: File, me: &DaemonInfo) -> Result<Self, DaemonLockError> {
        let line = serde_json::to_string(me).expect("text and numbers always make JSON") + "\n";
        let written = lock.set_len(0).and_then(|()| lock.write_all(line.as_bytes()));
        written.map_err(DaemonLockError::Io)?;
        Ok(Self { _lock: lock })
    }
}

impl DaemonInfo {
    /// Returns whether the daemon is dead although its lock is held: a child process inherits the
    /// lock until it executes another program.
    fn is_gone(&self) -> bool {
        let process = i32::try_from(self.pid).ok().filter(|pid| *pid > 0);
        process
            .is_some_and(|pid| !ProcessIdentity::find(pid).is_some_and(ProcessIdentity::is_alive))
    }

    /// Returns a text that no other daemon of the folder has, before or after this one.
    pub fn identity(&self) -> String {
        format!("{} {}", self.pid, self.since)
    }

    /// Returns the daemon that runs on a folder, if one does.
    pub fn find_running(root: &Path) -> Option<Self> {
        let mut lock = File::open(root.join(FILE)).ok()?;
        match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(read_info(&mut lock)).filter(|it| !it.is_gone()),
            Ok(()) | Err(TryLockError::Error(_)) => None,
        }
    }
}

fn open_lock_file(root: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.open(root.join(FILE))
}

/// Reads who holds the lock. A daemon that has only just locked the file has not written to it yet;
/// its pid is then 0.
fn read_info(lock: &mut File) -> DaemonInfo {
    let mut text = String::new();
    let read = lock.seek(SeekFrom::Start(0)).and_then(|_| lock.read_to_string(&mut text));
    let unknown =
        || DaemonInfo { pid: 0, since: String::new(), version: String::new(), only: None };
    read.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me(pid: u32) -> DaemonInfo {
        DaemonInfo {
            pid,
            since: "2026-02-09T21:10:00.000Z".into(),
            version: "1".into(),
            only: None,
        }
    }

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("journal")).expect("a folder");
        folder
    }

    #[test]
    fn daemon_lock_refusal_names_first_daemon() {
        let folder = folder();
        assert_eq!(DaemonInfo::find_running(folder.path()), None);
        let held = DaemonLock::take(folder.path(), &me(1)).expect("no other daemon is there");
        assert_eq!(DaemonInfo::find_running(folder.path()), Some(me(1)));
        let second =
            DaemonLock::take(folder.path(), &me(2)).err().expect("another daemon is there");
        assert!(second.to_string().contains("process 1, since 2026-02-09T21:10:00.000Z"));
        drop(held);
        assert_eq!(DaemonInfo::find_running(folder.path()), None);
        drop(DaemonLock::take(folder.path(), &me(2)).expect("no other daemon is there"));
    }

    #[test]
    fn daemon_lock_of_killed_daemon_is_waited_for() {
        let folder = folder();
        let mut child = std::process::Command::new("true").spawn().expect("a process");
        let dead = child.id();
        child.wait().expect("it ends");
        let held = DaemonLock::take(folder.path(), &me(dead)).expect("no other daemon is there");
        assert_eq!(DaemonInfo::find_running(folder.path()), None, "no daemon runs");
        std::thread::scope(|scope| {
            let second = scope.spawn(|| DaemonLock::take(folder.path(), &me(1)).map(drop));
            std::thread::sleep(PAUSE);
            drop(held);
            second.join().expect("no panic").expect("its turn");
        });
    }

    #[test]
    fn daemon_lock_wait_succeeds_after_release() {
        let folder = folder();
        let held = DaemonLock::take(folder.path(), &me(1)).expect("no other daemon is there");
        std::thread::scope(|scope| {
            let second = scope.spawn(|| DaemonLock::wait(folder.path(), &me(2)).map(drop));
            drop(held);
            second.join().expect("no panic").expect("its turn");
        });
    }
}
