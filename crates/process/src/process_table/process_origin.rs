//! Which run a process belongs to, by its ancestors.
//!
//! The shim becomes the parent of every process its agent leaves behind, so it is an ancestor of
//! all of them, even if they change their session, environment or name. Nothing that a process says
//! about itself is used. A process that another program outside the run started on an agent's
//! behalf is not recognised.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Where a process comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessOrigin {
    /// No run of the data folder is an ancestor, as far as this system can tell.
    Outside,
    /// Belongs to the run with this attempt folder.
    Inside(PathBuf),
    /// The process is gone.
    Unknown,
}

/// Returns where the process at the other end of a socket comes from, for a data folder.
pub fn peer_origin(stream: &UnixStream, root: &Path) -> ProcessOrigin {
    match peer_pid(stream) {
        Some(pid) => origin_of(pid, root),
        // The system does not report the peer, or the peer is in another container.
        None => ProcessOrigin::Outside,
    }
}

/// Returns where this process comes from, for a data folder.
pub fn own_origin(root: &Path) -> ProcessOrigin {
    origin_of(rustix::process::getpid().as_raw_nonzero().get(), root)
}

#[cfg(target_os = "linux")]
fn peer_pid(stream: &UnixStream) -> Option<i32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    Some(peer.pid.as_raw_nonzero().get())
}

#[cfg(not(target_os = "linux"))]
fn peer(_: &UnixStream) -> Option<i32> {
    None
}

#[cfg(not(target_os = "linux"))]
fn of(_: i32, _: &Path) -> ProcessOrigin {
    ProcessOrigin::Outside
}

#[cfg(target_os = "linux")]
fn origin_of(pid: i32, root: &Path) -> ProcessOrigin {
    // An ancestor may exit during the search, which changes the parents below it.
    const TRIES: usize = 5;
    let Ok(runs) = root.join("runs").canonicalize() else { return ProcessOrigin::Outside };
    let found = (0..TRIES).find_map(|_| search_ancestors(pid, &runs));
    found.unwrap_or(ProcessOrigin::Unknown)
}

/// Searches the ancestors of a process; `None` if one of them exited meanwhile.
#[cfg(target_os = "linux")]
fn search_ancestors(mut pid: i32, runs: &Path) -> Option<ProcessOrigin> {
    loop {
        if let Some(folder) = shim_folder(pid).filter(|folder| folder.starts_with(runs)) {
            return Some(ProcessOrigin::Inside(folder));
        }
        match super::table::parent_of(pid)? {
            0 | 1 => return Some(ProcessOrigin::Outside),
            parent => pid = parent,
        }
    }
}

/// Returns the attempt folder if a process is a shim: its first argument is `shim`, and the folder
/// is its working directory.
#[cfg(target_os = "linux")]
fn shim_folder(pid: i32) -> Option<PathBuf> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    words.split(|byte| *byte == 0).nth(1).filter(|word| *word == b"shim")?;
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}
