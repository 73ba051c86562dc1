//! The process table where there is no `/proc`: from `ps`, as far as it can tell.
//!
//! Without a subreaper, a process that leaves its parent and starts its own session is found only
//! by its environment.

use std::io;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{Process, Row};

/// Does nothing: this system has no subreaper.
pub fn set_reaper() -> io::Result<()> {
    Ok(())
}

/// Returns an id that changes with every boot of the machine.
pub fn boot_id() -> String {
    output("sysctl", &["-n", "kern.bootsessionuuid"]).trim().to_owned()
}

/// Returns when a process started, as a hash of the text that `ps` prints.
pub fn start_of(pid: i32) -> Option<u64> {
    let words = output("ps", &["-o", "lstart=", "-p", &pid.to_string()]);
    (!words.trim().is_empty()).then(|| number(words.trim()))
}

pub(super) fn is_zombie(pid: i32) -> bool {
    let state = output("ps", &["-o", "stat=", "-p", &pid.to_string()]);
    state.trim().is_empty() || state.trim().starts_with('Z')
}

pub(super) fn rows() -> Vec<Row> {
    let row = |line: &str| {
        let (pid, rest) = line.trim().split_once(' ')?;
        let (parent, start) = rest.trim().split_once(' ')?;
        let process = Process { pid: pid.parse().ok()?, start: number(start.trim()) };
        Some(Row { process, parent: parent.parse().ok()? })
    };
    output("ps", &["-axo", "pid=,ppid=,lstart="]).lines().filter_map(row).collect()
}

/// Returns every process of this user that has this variable in its environment.
pub fn marked(name: &str, value: &str) -> Vec<Process> {
    let mark = format!("{name}={value}");
    let pid = |line: &str| {
        let (pid, rest) = line.trim().split_once(' ')?;
        rest.split(' ').any(|word| word == mark).then(|| pid.parse().ok()).flatten()
    };
    let lines = output("ps", &["-axEww", "-o", "pid=,command="]);
    lines.lines().filter_map(pid).filter_map(Process::of).collect()
}

pub(super) fn send(process: Process, pid: Pid, signal: Signal) {
    if start_of(process.pid) == Some(process.start) {
        let _ = kill_process(pid, signal);
    }
}

/// Sleeps for the whole time: the system does not report the end of a process that is no child.
pub(super) fn wait(_: Process, _: Pid, patience: Duration) {
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
