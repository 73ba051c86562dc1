//! Processes of this machine: their identity, their descendants, and how to end them.
//!
//! A process is identified by its pid and its start time, because pids are reused. This module does
//! not know what a run is, or when it has ended.

#[cfg(target_os = "linux")]
#[path = "process_table/linux.rs"]
mod table;
#[cfg(not(target_os = "linux"))]
#[path = "process_table/other.rs"]
mod table;

pub mod process_origin;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

pub use table::{become_subreaper, boot_id, find_by_variable, start_time_of};

/// A process, distinct from every other one since the machine started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub pid: i32,
    /// The start time, in a unit that depends on the system.
    pub start: u64,
}

/// A row of the process table.
#[derive(Debug, Clone, Copy)]
struct ProcessRow {
    process: ProcessIdentity,
    parent: i32,
}

impl ProcessIdentity {
    /// Returns the process that has this pid now.
    pub fn find(pid: i32) -> Option<Self> {
        Some(Self { pid, start: start_time_of(pid)? })
    }

    pub fn current() -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Self { pid, start: start_time_of(pid).unwrap_or_default() }
    }

    /// Returns whether the process still runs. A zombie does not.
    pub fn is_alive(self) -> bool {
        start_time_of(self.pid) == Some(self.start) && !table::is_zombie(self.pid)
    }

    /// Waits until the process has ended, at most for `patience`.
    pub fn wait(self, patience: Duration) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            table::wait(self, pid, patience);
        }
    }

    /// Sends a signal, if the process still exists.
    pub fn send_signal(self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            table::send(self, pid, signal);
        }
    }
}

/// Returns all descendants of some processes.
pub fn descendants(roots: &[i32]) -> Vec<ProcessIdentity> {
    let mut children: BTreeMap<i32, Vec<ProcessIdentity>> = BTreeMap::new();
    for row in table::rows() {
        children.entry(row.parent).or_default().push(row.process);
    }
    let mut found = Vec::new();
    let mut seen: BTreeSet<i32> = roots.iter().copied().collect();
    let mut next = roots.to_owned();
    while let Some(parent) = next.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            if seen.insert(child.pid) {
                found.push(child);
                next.push(child.pid);
            }
        }
    }
    found
}

/// Sends SIGTERM, and SIGCONT because a suspended process would not handle the first.
pub fn ask_to_end(processes: &[ProcessIdentity]) {
    for process in processes {
        process.send_signal(Signal::TERM);
        process.send_signal(Signal::CONT);
    }
}

/// Kills the processes that `find` returns. Suspends all of them first, so that none can start
/// another while the rest is being killed. The next call finds a process that was missed.
pub fn kill_all(find: impl Fn() -> Vec<ProcessIdentity>) {
    const ROUNDS_MAX: usize = 100;
    let mut held = BTreeSet::new();
    for _ in 0..ROUNDS_MAX {
        let fresh: Vec<ProcessIdentity> =
            find().into_iter().filter(|found| held.insert(*found)).collect();
        if fresh.is_empty() {
            break;
        }
        for process in &fresh {
            process.send_signal(Signal::STOP);
        }
    }
    for process in &held {
        process.send_signal(Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn process_wait_returns_when_process_has_ended() {
        let mut child = Command::new("true").spawn().expect("it starts");
        let pid = i32::try_from(child.id()).expect("a number of a process");
        let process = ProcessIdentity { pid, start: start_time_of(pid).unwrap_or_default() };
        // Where the kernel reports the end, this takes no longer than the process does.
        let patience = if cfg!(target_os = "linux") { 3_600 } else { 1 };
        process.wait(Duration::from_secs(patience));
        child.wait().expect("it ended");
        process.wait(Duration::from_secs(patience));
        assert!(!process.is_alive());
    }
}
