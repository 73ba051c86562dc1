//! Where the daemon of a folder can be called by HTTP: a file for its owner only.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The file in the data folder.
const FILE: &str = "journal/http";

/// Where a daemon can be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its process: what a daemon left that was killed is not its successor's.
    pub pid: u32,
    /// Where it is, as `http://127.0.0.1:7474`.
    pub url: String,
    /// The link that signs a browser in, once.
    pub login: String,
}

impl Place {
    /// Writes it down, whole or not at all.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        let path = root.join(FILE);
        let staged = path.with_extension(self.pid.to_string());
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&staged)?;
        let line = serde_json::to_string(self).expect("text and numbers always make JSON");
        file.write_all(line.as_bytes())?;
        fs::rename(staged, path)
    }

    /// Returns where the daemon with this process can be called, if it can.
    pub fn of(root: &Path, pid: u32) -> Option<Self> {
        let text = fs::read(root.join(FILE)).ok()?;
        let place: Self = serde_json::from_slice(&text).ok()?;
        (place.pid == pid).then_some(place)
    }

    /// Takes it away, if it is this one.
    pub fn remove(&self, root: &Path) {
        if Self::of(root, self.pid).is_some() {
            // What stays names a process that is gone, and counts for nothing.
            let _ = fs::remove_file(root.join(FILE));
        }
    }
}
