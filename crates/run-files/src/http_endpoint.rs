//! The file that says where the daemon of a folder serves HTTP. Only its owner can read it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The file in the data folder.
const FILE: &str = "journal/http";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpEndpointFile {
    /// The daemon's process. A file left by a killed daemon names a process that is
    /// not its successor's.
    pub pid: u32,
    /// For example `http://127.0.0.1:7474`.
    pub url: String,
    /// The link that signs a browser in, once.
    pub login: String,
}

impl HttpEndpointFile {
    /// Writes the file atomically.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        let path = root.join(FILE);
        let staged = path.with_extension(self.pid.to_string());
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&staged)?;
        let line = serde_json::to_string(self).expect("text and numbers always make JSON");
        file.write_all(line.as_bytes())?;
        fs::rename(staged, path)
    }

    /// Returns the endpoint of the daemon with this process id, if it serves HTTP.
    pub fn read(root: &Path, pid: u32) -> Option<Self> {
        let text = fs::read(root.join(FILE)).ok()?;
        let place: Self = serde_json::from_slice(&text).ok()?;
        (place.pid == pid).then_some(place)
    }

    /// Removes the file, unless another daemon has written it since.
    pub fn remove(&self, root: &Path) {
        if Self::read(root, self.pid).is_some() {
            // A file that stays names a dead process and is ignored.
            let _ = fs::remove_file(root.join(FILE));
        }
    }
}
