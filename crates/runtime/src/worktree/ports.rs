//! Ports for runs: a few for each, that no other run that lives has.

#[cfg(test)]
mod golden_tests;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use super::place::FOLDER;
use super::{Refused, Yard};
use crate::whole_file::put;

/// How many ports a run has, from the first on.
pub const PORTS: u16 = 10;

/// The ports that are given out. Those above are the system's to give.
const FIRST: u16 = 20_000;
const LAST: u16 = 29_999;

/// The file that says whose they are, and the one that is locked meanwhile.
const FILE: &str = "ports.json";
const LOCK: &str = "ports.lock";

impl Yard {
    /// Returns the first port of a run, which is called `name`. `lives` says whether another run
    /// still needs its own. Called again for the same run, the answer is the same.
    pub fn port(&self, name: &str, lives: impl Fn(&str) -> bool) -> Result<u16, Refused> {
        let given = give(&self.data.join(FOLDER), name, lives);
        given.map_err(|error| Refused(format!("no port can be given to the run: {error}")))
    }
}

fn give(folder: &Path, name: &str, lives: impl Fn(&str) -> bool) -> io::Result<u16> {
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
    let port = free.ok_or_else(|| io::Error::other("all of them are in use"))?;
    given.insert(port, name.to_owned());
    put(&path, &serde_json::to_vec(&given)?)?;
    Ok(port)
}

/// Says whether nobody else on this machine listens there.
fn are_free(port: u16) -> bool {
    let is_free = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    (port..port + PORTS).all(is_free)
}
