//! The table of processes, from `/proc`.

use std::fs;
use std::io::{self, Read};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal,
    set_child_subreaper,
};

use super::{Process, Row};

/// Makes this process the parent of everything below it whose own parent ends, so that nothing can
/// get away by a session of its own.
pub fn set_reaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Returns what is another text after each start of the machine.
pub fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map_or_else(|_| String::new(), |id| id.trim().to_owned())
}

/// Returns when a process started, in clock ticks since the machine did.
pub fn start_of(pid: i32) -> Option<u64> {
    Some(stat(pid)?.start)
}

/// Returns the number of the process that started it, or looks after it now.
pub(super) fn parent_of(pid: i32) -> Option<i32> {
    Some(stat(pid)?.parent)
}

pub(super) fn is_zombie(pid: i32) -> bool {
    stat(pid).is_none_or(|stat| matches!(stat.state, b'Z' | b'X'))
}

pub(super) fn rows() -> Vec<Row> {
    let row = |pid| {
        let stat = stat(pid)?;
        Some(Row { process: Process { pid, start: stat.start }, parent: stat.parent })
    };
    pids().filter_map(row).collect()
}

/// Returns every process of this user that was started with this variable.
pub fn marked(name: &str, value: &str) -> Vec<Process> {
    let mark = format!("{name}={value}").into_bytes();
    let has = |pid: &i32| {
        let environ = fs::read(format!("/proc/{pid}/environ"));
        environ.is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|each| each == mark))
    };
    pids().filter(has).filter_map(Process::of).collect()
}

/// Holds on to the process before looking at it again, so that the signal cannot reach another
/// one that got its number meanwhile.
pub(super) fn send(process: Process, pid: Pid, signal: Signal) {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(held) if start_of(process.pid) == Some(process.start) => {
            let _ = pidfd_send_signal(held, signal);
        }
        Err(Errno::NOSYS) if start_of(process.pid) == Some(process.start) => {
            let _ = kill_process(pid, signal);
        }
        Ok(_) | Err(_) => {}
    }
}

/// Waits until a process has ended. Where the kernel cannot tell, the time is waited out.
pub(super) fn wait(process: Process, pid: Pid, patience: Duration) {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(held) if start_of(process.pid) == Some(process.start) => {
            let patience = Timespec::try_from(patience).ok();
            let _ = poll(&mut [PollFd::new(&held, PollFlags::IN)], patience.as_ref());
        }
        Err(Errno::SRCH) | Ok(_) => {}
        Err(_) => std::thread::sleep(patience),
    }
}

struct Stat {
    state: u8,
    parent: i32,
    start: u64,
}

/// Reads what the kernel says of a process. The name in it may hold anything, brackets included.
fn stat(pid: i32) -> Option<Stat> {
    // All of it fits, and the kernel gives it in one go; what asks for the length first asks often.
    let mut text = [0; 1024];
    let read = fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut text).ok()?;
    let text = &text[..read];
    let after = text.iter().rposition(|byte| *byte == b')')? + 1;
    let text = std::str::from_utf8(&text[after..]).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let start = fields.nth(17)?.parse().ok()?;
    Some(Stat { state, parent, start })
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
