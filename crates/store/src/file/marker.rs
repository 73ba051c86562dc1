//! How far the files are: a small file that says which commits they show and which are synced.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::batch::Version;
use crate::store::StoreError;

use super::fault;

/// The open marker file.
pub(super) struct Marker {
    file: File,
    path: PathBuf,
    boot: String,
    /// The last version whose files are known to survive a power cut.
    synced: Arc<AtomicU64>,
}

/// What the marker says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Progress {
    /// Files show every commit up to here, as far as this boot of the machine knows.
    pub(super) projected: Version,
    /// Files show every commit up to here, even after a power cut.
    pub(super) synced: Version,
}

impl Marker {
    pub(super) fn open(journal: &Path) -> Result<Self, StoreError> {
        let path = journal.join("state");
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(StoreError::io("open", &path))?;
        Ok(Self { file, path, boot: boot(), synced: Arc::default() })
    }

    /// Reads how far the files are. After another boot only what was synced counts; a marker
    /// that cannot be read counts for nothing, and everything in the journal is checked again.
    pub(super) fn read(&self) -> Result<Progress, StoreError> {
        let mut bytes = [0; 256];
        let length =
            self.file.read_at(&mut bytes, 0).map_err(StoreError::io("read", &self.path))?;
        let text = String::from_utf8_lossy(&bytes[..length]);
        let progress = parse(&text, &self.boot).unwrap_or_default();
        self.synced.fetch_max(progress.synced.0, Ordering::SeqCst);
        Ok(progress)
    }

    /// Says that the files show every commit up to `version`.
    pub(super) fn write(&self, version: Version) -> Result<(), StoreError> {
        let synced = self.synced.load(Ordering::SeqCst).min(version.0);
        let text = format!("adjutant 1 {:020} {synced:020} {}\n", version.0, self.boot);
        fault::point();
        self.file.write_all_at(text.as_bytes(), 0).map_err(StoreError::io("write", &self.path))
    }

    /// Returns the number a checkpoint raises when it is through.
    pub(super) fn synced(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.synced)
    }
}

fn parse(text: &str, boot: &str) -> Option<Progress> {
    let mut words = text.split_ascii_whitespace();
    if words.next()? != "adjutant" || words.next()? != "1" {
        return None;
    }
    let projected = Version(words.next()?.parse().ok()?);
    let synced = Version(words.next()?.parse().ok()?);
    let same_boot = words.next()? == boot;
    Some(Progress { projected: if same_boot { projected } else { synced }, synced })
}

/// Names this boot of the machine, so that a marker written before a power cut is not believed.
fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let id = id.trim();
    if id.is_empty() { format!("pid-{}", std::process::id()) } else { id.to_owned() }
}
