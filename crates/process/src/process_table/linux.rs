//! The process table, from `/proc`.

use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, kill_process, pidfd_open,
    pidfd_send_signal, set_child_subreaper, waitid,
};

use super::{ProcessIdentity, ProcessRow};

/// Makes this process the subreaper of its descendants, so that none can escape by starting
/// its own session.
pub fn become_subreaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Returns an id that changes with every boot of the machine.
pub fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map_or_else(|_| String::new(), |id| id.trim().to_owned())
}

/// Returns when a process started, in clock ticks since boot.
pub fn start_time_of(pid: i32) -> Option<u64> {
    Some(read_stat(pid)?.start)
}

/// Returns a process with its parent; `None` if it has ended, even if it is not reaped yet.
pub(super) fn live_row(pid: i32) -> Option<ProcessRow> {
    let stat = read_stat(pid).filter(|stat| !matches!(stat.state, b'Z' | b'X'))?;
    Some(ProcessRow { process: ProcessIdentity { pid, start: stat.start }, parent: stat.parent })
}

/// Returns the session of a process. A process can leave its session, but cannot join another.
pub fn session_of(pid: i32) -> Option<i32> {
    Some(read_stat(pid)?.session)
}

/// Reaps a child of this process that has ended.
pub(super) fn reap(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

/// Returns the pid of this process as `/proc` shows it. In a pid namespace of its own a process has
/// another pid for itself.
pub fn own_pid() -> Option<i32> {
    fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

/// Returns the pid namespace of this process.
pub fn pid_namespace() -> Option<String> {
    Some(fs::read_link("/proc/self/ns/pid").ok()?.to_str()?.to_owned())
}

/// Returns the process that opened the connection of a socket; `None` if it is in another container
/// that this one cannot see.
pub fn peer_pid(stream: &UnixStream) -> Option<i32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    Some(peer.pid.as_raw_nonzero().get())
}

/// Returns the first argument of a process, as it says itself.
pub(super) fn first_argument(pid: i32) -> Option<String> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    Some(String::from_utf8_lossy(words.split(|byte| *byte == 0).nth(1)?).into_owned())
}

/// Returns the working directory of a process.
pub(super) fn folder_of(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

pub(super) fn is_zombie(pid: i32) -> bool {
    read_stat(pid).is_none_or(|stat| matches!(stat.state, b'Z' | b'X'))
}

pub(super) fn is_stopped(pid: i32) -> bool {
    read_stat(pid).is_some_and(|stat| matches!(stat.state, b'T' | b't'))
}

pub(super) fn rows() -> Vec<ProcessRow> {
    let row = |pid| {
        let stat = read_stat(pid)?;
        Some(ProcessRow {
            process: ProcessIdentity { pid, start: stat.start },
            parent: stat.parent,
        })
    };
    pids().filter_map(row).collect()
}

/// Returns every process of this user that has this variable in its environment.
pub fn find_by_variable(name: &str, value: &str) -> Vec<ProcessIdentity> {
    let mark = format!("{name}={value}").into_bytes();
    let has = |pid: &i32| {
        let environ = fs::read(format!("/proc/{pid}/environ"));
        environ.is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|each| each == mark))
    };
    pids().filter(has).filter_map(ProcessIdentity::find).collect()
}

/// Opens a pidfd before checking the start time, so that the signal cannot reach another process
/// that got the pid meanwhile.
pub(super) fn send(process: ProcessIdentity, pid: Pid, signal: Signal) {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(held) if start_time_of(process.pid) == Some(process.start) => {
            let _ = pidfd_send_signal(held, signal);
        }
        Err(Errno::NOSYS) if start_time_of(process.pid) == Some(process.start) => {
            let _ = kill_process(pid, signal);
        }
        Ok(_) | Err(_) => {}
    }
}

/// Waits until a process has ended. If the kernel has no pidfd, sleeps for the whole time.
pub(super) fn wait(process: ProcessIdentity, pid: Pid, patience: Duration) {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(held) if start_time_of(process.pid) == Some(process.start) => {
            let patience = Timespec::try_from(patience).ok();
            let _ = poll(&mut [PollFd::new(&held, PollFlags::IN)], patience.as_ref());
        }
        Err(Errno::SRCH) | Ok(_) => {}
        Err(_) => std::thread::sleep(patience),
    }
}

struct ProcessStat {
    state: u8,
    parent: i32,
    session: i32,
    start: u64,
}

/// Parses `/proc/<pid>/stat`. The name in it may contain anything, including brackets.
fn read_stat(pid: i32) -> Option<ProcessStat> {
    // One read returns all of it; reading to the end would need several system calls.
    let mut text = [0; 1024];
    let read = fs::File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut text).ok()?;
    let text = &text[..read];
    let after = text.iter().rposition(|byte| *byte == b')')? + 1;
    let text = std::str::from_utf8(&text[after..]).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let start = fields.nth(15)?.parse().ok()?;
    Some(ProcessStat { state, parent, session, start })
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
