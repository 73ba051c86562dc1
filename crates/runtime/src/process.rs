//! Processes of this machine: which one it is, what it started, and how it is ended.
//!
//! A process is known by its number and the time it started, because numbers come again. What a run
//! is, and when it is over, is not known here.

#[cfg(target_os = "linux")]
#[path = "process/linux.rs"]
mod table;
#[cfg(not(target_os = "linux"))]
#[path = "process/other.rs"]
mod table;

pub mod inside;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

pub use table::{boot_id, marked, set_reaper, start_of};

/// A process, told from every other one since the machine started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// When it started, in the units of the system.
    pub start: u64,
}

/// A line of the table of processes.
#[derive(Debug, Clone, Copy)]
struct Row {
    process: Process,
    parent: i32,
}

impl Process {
    /// Returns the process that has this number now.
    pub fn of(pid: i32) -> Option<Self> {
        Some(Self { pid, start: start_of(pid)? })
    }

    /// Returns this process.
    pub fn current() -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Self { pid, start: start_of(pid).unwrap_or_default() }
    }

    /// Says whether it still runs. One that has ended and was not yet waited for does not.
    pub fn is_alive(self) -> bool {
        start_of(self.pid) == Some(self.start) && !table::is_zombie(self.pid)
    }

    /// Waits until it has ended, but no longer than this.
    pub fn wait(self, patience: Duration) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            table::wait(self, pid, patience);
        }
    }

    /// Sends it a signal, if it is still there.
    pub fn send(self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            table::send(self, pid, signal);
        }
    }
}

/// Returns everything that some processes started and that still stands below them.
pub fn descendants(roots: &[i32]) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
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

/// Asks processes to end. One that is suspended is woken, or it would never hear of it.
pub fn ask(processes: &[Process]) {
    for process in processes {
        process.send(Signal::TERM);
        process.send(Signal::CONT);
    }
}

/// Kills whatever `find` finds. Everything is held first, so that nothing starts something new
/// while the rest is being killed; what was missed is found the next time.
pub fn kill(find: impl Fn() -> Vec<Process>) {
    const ROUNDS_MAX: usize = 100;
    let mut held = BTreeSet::new();
    for _ in 0..ROUNDS_MAX {
        let fresh: Vec<Process> = find().into_iter().filter(|found| held.insert(*found)).collect();
        if fresh.is_empty() {
            break;
        }
        for process in &fresh {
            process.send(Signal::STOP);
        }
    }
    for process in &held {
        process.send(Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn one_that_has_ended_is_not_waited_for() {
        let mut child = Command::new("true").spawn().expect("it starts");
        let pid = i32::try_from(child.id()).expect("a number of a process");
        let process = Process { pid, start: start_of(pid).unwrap_or_default() };
        // Where the system tells of the end, this is no longer than the process takes.
        let patience = if cfg!(target_os = "linux") { 3_600 } else { 1 };
        process.wait(Duration::from_secs(patience));
        child.wait().expect("it ended");
        process.wait(Duration::from_secs(patience));
        assert!(!process.is_alive());
    }
}
