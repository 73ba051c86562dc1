//! Which run a process belongs to, by what stands above it.
//!
//! A shim is the parent of whatever its agent leaves behind, so that every process of a run has it
//! above, whatever it did to its session, its environment or its name. What a process says of itself
//! is not asked. One that had somebody outside start something for it is not found.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Where a process comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whence {
    /// No run of the data folder stands above it, as far as can be told.
    Outside,
    /// It belongs to the run whose attempt has this folder.
    Inside(PathBuf),
    /// It is gone, and nobody can tell any more.
    Unknown,
}

/// Says where the process comes from that connected to a socket, for a data folder.
pub fn whence(stream: &UnixStream, root: &Path) -> Whence {
    match peer(stream) {
        Some(pid) => of(pid, root),
        // A system that does not tell, or a process of another container.
        None => Whence::Outside,
    }
}

/// Says where this process comes from, for a data folder.
pub fn own(root: &Path) -> Whence {
    of(rustix::process::getpid().as_raw_nonzero().get(), root)
}

#[cfg(target_os = "linux")]
fn peer(stream: &UnixStream) -> Option<i32> {
    let peer = rustix::net::sockopt::socket_peercred(stream).ok()?;
    Some(peer.pid.as_raw_nonzero().get())
}

#[cfg(not(target_os = "linux"))]
fn peer(_: &UnixStream) -> Option<i32> {
    None
}

#[cfg(not(target_os = "linux"))]
fn of(_: i32, _: &Path) -> Whence {
    Whence::Outside
}

#[cfg(target_os = "linux")]
fn of(pid: i32, root: &Path) -> Whence {
    // Somebody in between may end while we look, and what is below it moves up.
    const TRIES: usize = 5;
    let Ok(runs) = root.join("runs").canonicalize() else { return Whence::Outside };
    let found = (0..TRIES).find_map(|_| climb(pid, &runs));
    found.unwrap_or(Whence::Unknown)
}

/// Climbs up from a process; none if somebody was gone on the way.
#[cfg(target_os = "linux")]
fn climb(mut pid: i32, runs: &Path) -> Option<Whence> {
    loop {
        if let Some(folder) = as_shim(pid).filter(|folder| folder.starts_with(runs)) {
            return Some(Whence::Inside(folder));
        }
        match super::table::parent_of(pid)? {
            0 | 1 => return Some(Whence::Outside),
            parent => pid = parent,
        }
    }
}

/// Returns the folder of the attempt if a process is a shim: it is called as one, and works there.
#[cfg(target_os = "linux")]
fn as_shim(pid: i32) -> Option<PathBuf> {
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    words.split(|byte| *byte == 0).nth(1).filter(|word| *word == b"shim")?;
    std::fs::read_link(format!("/proc/{pid}/cwd")).ok()
}
