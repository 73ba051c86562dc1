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

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

pub use table::{
    become_subreaper, boot_id, find_by_variable, own_pid, peer_pid, pid_namespace, session_of,
    start_time_of,
};

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

    /// Returns whether the process is stopped, by a signal or by a debugger.
    pub fn is_suspended(self) -> bool {
        start_time_of(self.pid) == Some(self.start) && table::is_stopped(self.pid)
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

/// The process whose ancestors were searched has ended, or changed all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessGone;

/// Returns what `find` finds for a process or the first of its ancestors, the process first; `None`
/// if it finds nothing for any of them.
///
/// An ancestor may exit during the search, which gives the process below it another parent: the
/// search then begins anew.
pub fn find_ancestor<T>(
    pid: i32,
    mut find: impl FnMut(ProcessIdentity) -> Option<T>,
) -> Result<Option<T>, ProcessGone> {
    const TRIES: usize = 200;
    const PAUSE: Duration = Duration::from_millis(1);
    let first = table::live_row(pid).ok_or(ProcessGone)?.process;
    for _ in 0..TRIES {
        match search_ancestors(first, &mut find) {
            AncestorSearch::Found(found) => return Ok(Some(found)),
            AncestorSearch::NotFound => return Ok(None),
            AncestorSearch::Disturbed => {}
        }
        if table::live_row(pid).is_none_or(|row| row.process != first) {
            return Err(ProcessGone);
        }
        // The threads of an exiting process end one by one, and its children keep it as their parent
        // until the last one has.
        std::thread::sleep(PAUSE);
    }
    Err(ProcessGone)
}

enum AncestorSearch<T> {
    Found(T),
    NotFound,
    /// A process exited or got another parent meanwhile.
    Disturbed,
}

/// Searches the ancestors once.
///
/// The parent of a process is read again after the parent itself was: as long as it is the same, the
/// parent has not exited, so its pid cannot belong to another process by now.
fn search_ancestors<T>(
    first: ProcessIdentity,
    find: &mut impl FnMut(ProcessIdentity) -> Option<T>,
) -> AncestorSearch<T> {
    let same = |row: &ProcessRow| {
        table::live_row(row.process.pid)
            .is_some_and(|again| (again.process, again.parent) == (row.process, row.parent))
    };
    let Some(mut row) = table::live_row(first.pid).filter(|row| row.process == first) else {
        return AncestorSearch::Disturbed;
    };
    loop {
        if let Some(found) = find(row.process) {
            return AncestorSearch::Found(found);
        }
        let parent = table::live_row(row.parent);
        match parent {
            _ if !same(&row) => return AncestorSearch::Disturbed,
            _ if row.parent <= 1 => return AncestorSearch::NotFound,
            Some(parent) => row = parent,
            None => return AncestorSearch::Disturbed,
        }
    }
}

/// Returns the working directories of the ancestors of this process whose first argument is `word`.
/// A process can say anything there, so this may only serve to take rights away.
pub fn working_folders_of_ancestors(word: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    let _ = find_ancestor(ProcessIdentity::current().pid, |process| {
        if table::first_argument(process.pid).as_deref() == Some(word) {
            found.extend(table::folder_of(process.pid));
        }
        None::<()>
    });
    found
}

/// Returns the children of some processes.
pub fn children(parents: &[i32]) -> Vec<ProcessIdentity> {
    let rows = table::rows().into_iter();
    rows.filter(|row| parents.contains(&row.parent)).map(|row| row.process).collect()
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

/// The children of this process that lead a session of their own, such as shims.
static SESSION_LEADERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// A child that leads a session of its own. Drop it after the child was waited for.
#[derive(Debug)]
pub struct SessionLeader(i32);

impl Drop for SessionLeader {
    fn drop(&mut self) {
        lock_leaders().remove(&self.0);
    }
}

fn lock_leaders() -> MutexGuard<'static, BTreeSet<i32>> {
    SESSION_LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child that will lead a session of its own, so that it does not count as an orphan.
pub fn spawn_session_leader(command: &mut Command) -> io::Result<(Child, SessionLeader)> {
    let mut leaders = lock_leaders();
    let child = command.spawn()?;
    let pid = i32::try_from(child.id()).unwrap_or_default();
    leaders.insert(pid);
    Ok((child, SessionLeader(pid)))
}

/// Returns the living orphans that this process has adopted as a subreaper, with everything below
/// them: processes below a shim that was killed. They are in another session than this process and
/// it has not started them. Reaps those that have ended.
pub fn adopted_orphans() -> Vec<ProcessIdentity> {
    let leaders = lock_leaders();
    let own = ProcessIdentity::current().pid;
    let Some(session) = session_of(own) else { return vec![] };
    let is_orphan = |child: &ProcessIdentity| {
        !leaders.contains(&child.pid) && session_of(child.pid).is_some_and(|it| it != session)
    };
    let (living, ended): (Vec<_>, Vec<_>) =
        children(&[own]).into_iter().filter(is_orphan).partition(|child| child.is_alive());
    for child in ended {
        table::reap(child.pid);
    }
    let roots: Vec<i32> = living.iter().map(|process| process.pid).collect();
    let below = descendants(&roots).into_iter().filter(|process| process.is_alive());
    living.iter().copied().chain(below).collect()
}

/// Kills the orphans that this process has adopted, and reaps them.
pub fn end_adopted_orphans() {
    const PAUSE: Duration = Duration::from_millis(20);
    while !adopted_orphans().is_empty() {
        kill_all(adopted_orphans);
        std::thread::sleep(PAUSE);
    }
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

/// Kills a process and everything below it. The descendants go first: without their ancestor they
/// could not be found any more. The process itself is stopped meanwhile, so that it adopts orphans
/// and does nothing else.
pub fn kill_tree(root: ProcessIdentity) {
    const PAUSE: Duration = Duration::from_millis(20);
    let below = || descendants(&[root.pid]);
    while root.is_alive() {
        root.send_signal(Signal::STOP);
        kill_all(below);
        if !below().into_iter().any(ProcessIdentity::is_alive) {
            root.send_signal(Signal::KILL);
        }
        root.wait(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn ancestors_lead_from_process_to_its_parents() {
        let own = ProcessIdentity::current();
        let mut child = Command::new("sleep").arg("1000").spawn().expect("it starts");
        let pid = i32::try_from(child.id()).expect("a number of a process");
        let mut seen = vec![];
        let is_own = |process| {
            seen.push(process);
            (process == own).then_some("own")
        };
        assert_eq!(find_ancestor(pid, is_own), Ok(Some("own")));
        assert_eq!(seen, [ProcessIdentity::find(pid).expect("it runs"), own]);
        assert_eq!(find_ancestor(pid, |_| None::<()>), Ok(None));
        child.kill().expect("it is killed");
        // It is a zombie until it is waited for.
        ProcessIdentity::find(pid).expect("a zombie").wait(Duration::from_hours(1));
        assert_eq!(find_ancestor(pid, Some), Err(ProcessGone));
        child.wait().expect("it ended");
        assert_eq!(find_ancestor(pid, Some), Err(ProcessGone));
    }

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
