//! The process table where there is no `/proc`: from `ps`, as far as it can tell.
//!
//! Without a subreaper, a process that leaves its parent and starts its own session is found only
//! by its environment.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{ProcessIdentity, ProcessRow};

/// Does nothing: this system has no subreaper.
pub fn become_subreaper() -> io::Result<()> {
    Ok(())
}

/// Returns an id that changes with every boot of the machine.
pub fn boot_id() -> String {
    output("sysctl", &["-n", "kern.bootsessionuuid"]).trim().to_owned()
}

/// Returns when a process started, as a hash of the text that `ps` prints.
pub fn start_time_of(pid: i32) -> Option<u64> {
    let words = output("ps", &["-o", "lstart=", "-p", &pid.to_string()]);
    (!words.trim().is_empty()).then(|| number(words.trim()))
}

pub(super) fn is_zombie(pid: i32) -> bool {
    let state = output("ps", &["-o", "stat=", "-p", &pid.to_string()]);
    state.trim().is_empty() || state.trim().starts_with('Z')
}

pub(super) fn is_stopped(pid: i32) -> bool {
    output("ps", &["-o", "stat=", "-p", &pid.to_string()]).trim().starts_with('T')
}

/// Returns a process with its parent; `None` if it has ended.
pub(super) fn live_row(pid: i32) -> Option<ProcessRow> {
    rows().into_iter().find(|row| row.process.pid == pid && !is_zombie(pid))
}

/// Returns nothing: without a subreaper, sessions prove nothing.
pub fn session_of(_: i32) -> Option<i32> {
    None
}

/// Does nothing: this process adopts no orphans.
pub(super) fn reap(_: i32) {}

/// Returns the pid of this process.
pub fn own_pid() -> Option<i32> {
    i32::try_from(std::process::id()).ok()
}

/// Returns nothing: this system has no pid namespaces.
pub fn pid_namespace() -> Option<String> {
    None
}

/// Returns nothing: the peer of a socket is not looked up here.
pub fn peer_pid(_: &UnixStream) -> Option<i32> {
    None
}

/// Returns nothing: where there is no subreaper, ancestors prove nothing.
pub(super) fn first_argument(_: i32) -> Option<String> {
    None
}

/// Returns nothing, as [`first_argument`].
pub(super) fn folder_of(_: i32) -> Option<PathBuf> {
    None
}

pub(super) fn rows() -> Vec<ProcessRow> {
    let row = |line: &str| {
        let (pid, rest) = line.trim().split_once(' ')?;
        let (parent, start) = rest.trim().split_once(' ')?;
        let process = ProcessIdentity { pid: pid.parse().ok()?, start: number(start.trim()) };
        Some(ProcessRow { process, parent: parent.parse().ok()? })
    };
    output("ps", &["-axo", "pid=,ppid=,lstart="]).lines().filter_map(row).collect()
}

/// Returns every process of this user that has this variable in its environment.
pub fn find_by_variable(name: &str, value: &str) -> Vec<ProcessIdentity> {
    let mark = format!("{name}={value}");
    let pid = |line: &str| {
        let (pid, rest) = line.trim().split_once(' ')?;
        rest.split(' ').any(|word| word == mark).then(|| pid.parse().ok()).flatten()
    };
    let lines = output("ps", &["-axEww", "-o", "pid=,command="]);
    lines.lines().filter_map(pid).filter_map(ProcessIdentity::find).collect()
}

pub(super) fn send(process: ProcessIdentity, pid: Pid, signal: Signal) {
    if start_time_of(process.pid) == Some(process.start) {
        let _ = kill_process(pid, signal);
    }
}

/// Sleeps for the whole time: the system does not report the end of a process that is no child.
pub(super) fn wait(_: ProcessIdentity, _: Pid, patience: Duration) {
    std::thread::sleep(patience);
}

fn number(words: &str) -> u64 {
    words.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(|_| String::new(), |out| String::from_utf8_lossy(&out.stdout).into_owned())
}
