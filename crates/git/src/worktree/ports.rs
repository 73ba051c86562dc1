//! Reserves a few TCP ports for each run, distinct from those of other live runs.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use adjutant_process::atomic_file::write_atomic;
use rustix::fs::{FlockOperation, flock};

use super::worktree_paths::FOLDER;
use super::{WorktreeError, Worktrees};

/// How many consecutive ports a run gets.
pub const PORTS: u16 = 10;

/// The range of ports. The system assigns those above itself.
const FIRST: u16 = 20_000;
const LAST: u16 = 29_999;

/// The file with the reservations, and its lock file.
const FILE: &str = "ports.json";
const LOCK: &str = "ports.lock";

impl Worktrees {
    /// Returns the first port of the run `name`. `lives` tells whether another run still needs its
    /// ports. A second call for the same run returns the same port.
    pub fn reserve_port(
        &self,
        name: &str,
        lives: impl Fn(&str) -> bool,
    ) -> Result<u16, WorktreeError> {
        let given = reserve(&self.data.join(FOLDER), name, lives);
        given
            .map_err(|error| WorktreeError(format!("no port can be reserved for the run: {error}")))
    }
}

fn reserve(folder: &Path, name: &str, lives: impl Fn(&str) -> bool) -> io::Result<u16> {
    let lock = File::create(folder.join(LOCK))?;
    flock(&lock, FlockOperation::LockExclusive)?;
    let path = folder.join(FILE);
    let mut given: BTreeMap<u16, String> = fs::read(&path)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    if let Some((port, _)) = given.iter().find(|(_, whose)| *whose == name) {
        return Ok(*port);
    }
    given.retain(|_, whose| lives(whose));
    let free = (FIRST..=LAST - PORTS + 1)
        .step_by(usize::from(PORTS))
        .find(|port| !given.contains_key(port) && are_free(*port));
    let port = free.ok_or_else(|| io::Error::other("all ports are in use"))?;
    given.insert(port, name.to_owned());
    write_atomic(&path, &serde_json::to_vec(&given)?)?;
    Ok(port)
}

/// Returns whether no process on this machine listens on these ports.
fn are_free(port: u16) -> bool {
    let is_free = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    (port..port + PORTS).all(is_free)
}
