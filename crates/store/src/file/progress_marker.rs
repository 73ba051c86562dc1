//! The progress marker: a small file that says which commits the files show, and which are synced.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::fault;
use crate::batch::StoreVersion;
use crate::format::{FormatPart, JOURNAL_FORMAT};
use crate::store::StoreError;

pub(super) struct ProgressMarker {
    file: File,
    path: PathBuf,
    boot: String,
    /// The last version whose files are known to survive a power cut.
    synced: Arc<AtomicU64>,
}

/// The content of the marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FileProgress {
    /// The files show every commit up to here, as long as the machine has not rebooted since.
    pub(super) projected: StoreVersion,
    /// The files show every commit up to here, even after a power cut.
    pub(super) synced: StoreVersion,
    pub(super) loss: DataLoss,
}

/// What the machine may have lost since the marker was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum DataLoss {
    /// The machine has not rebooted since.
    Nothing,
    /// Every write that was not synced.
    #[default]
    Unsynced,
}

impl ProgressMarker {
    /// Reads the marker of a journal without creating one; version 0 if there is none.
    pub(super) fn peek(journal: &Path) -> Result<FileProgress, StoreError> {
        let path = journal.join("state");
        match std::fs::read(&path) {
            Ok(bytes) => parse_progress(&bytes, &boot_id()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(FileProgress::default()),
            Err(error) => Err(StoreError::io("read", path)(error)),
        }
    }

    pub(super) fn open(journal: &Path) -> Result<Self, StoreError> {
        let path = journal.join("state");
        fault::point();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(StoreError::io("open", &path))?;
        Ok(Self { file, path, boot: boot_id(), synced: Arc::default() })
    }

    /// Reads the marker. After a reboot, only synced commits count. A damaged marker counts as
    /// version 0, so everything in the journal is checked again. A newer format is refused, because
    /// this process would overwrite it.
    pub(super) fn read(&self) -> Result<FileProgress, StoreError> {
        let progress = parse_progress(self.text()?.as_bytes(), &self.boot)?;
        self.synced.fetch_max(progress.synced.0, Ordering::SeqCst);
        Ok(progress)
    }

    /// Resets the marker, which belongs to a journal that is gone.
    pub(super) fn reset(&self) -> Result<(), StoreError> {
        self.synced.store(0, Ordering::SeqCst);
        self.put(&self.line(StoreVersion(0)))
    }

    /// Records that the files show every commit up to `version`. Only the holder of the lock
    /// may call it.
    pub(super) fn write(&self, version: StoreVersion) -> Result<(), StoreError> {
        // Another process may have synced more than this one knows.
        self.read()?;
        self.put(&self.line(version))
    }

    /// Records that the files show every commit up to `version` even after a power cut.
    pub(super) fn write_synced(&self, version: StoreVersion) -> Result<(), StoreError> {
        self.synced.fetch_max(version.0, Ordering::SeqCst);
        let line = self.line(version);
        if self.text()? == line {
            return Ok(());
        }
        self.put(&line)?;
        fault::point();
        self.file.sync_data().map_err(StoreError::io("sync", &self.path))
    }

    /// Returns the counter that a checkpoint raises when it has finished.
    pub(super) fn synced(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.synced)
    }

    fn line(&self, version: StoreVersion) -> String {
        let synced = self.synced.load(Ordering::SeqCst).min(version.0);
        format!("adjutant {JOURNAL_FORMAT} {:020} {synced:020} {}\n", version.0, self.boot)
    }

    fn text(&self) -> Result<String, StoreError> {
        let mut bytes = [0; 256];
        let read = self.file.read_at(&mut bytes, 0).map_err(StoreError::io("read", &self.path))?;
        Ok(String::from_utf8_lossy(&bytes[..read]).into_owned())
    }

    /// The line always has the same length, and fits in one disk block.
    fn put(&self, line: &str) -> Result<(), StoreError> {
        fault::point();
        self.file.write_all_at(line.as_bytes(), 0).map_err(StoreError::io("write", &self.path))
    }
}

/// Returns the format number of a marker; `None` if it is damaged.
pub(super) fn format_of(bytes: &[u8]) -> Option<u64> {
    let mut words = bytes.split(u8::is_ascii_whitespace);
    let number = words.next().filter(|word| *word == b"adjutant").and(words.next())?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

fn parse_progress(bytes: &[u8], boot: &str) -> Result<FileProgress, StoreError> {
    let format = format_of(bytes).unwrap_or_default();
    FormatPart::Journal.expect_known(format)?;
    Ok(parse(&String::from_utf8_lossy(bytes), boot).unwrap_or_default())
}

fn parse(text: &str, boot: &str) -> Option<FileProgress> {
    let mut words = text.split_ascii_whitespace();
    if words.next()? != "adjutant" || words.next()?.parse() != Ok(JOURNAL_FORMAT) {
        return None;
    }
    let projected = StoreVersion(words.next()?.parse().ok()?);
    let synced = StoreVersion(words.next()?.parse().ok()?);
    Some(if words.next()? == boot {
        FileProgress { projected, synced, loss: DataLoss::Nothing }
    } else {
        FileProgress { projected: synced, synced, loss: DataLoss::Unsynced }
    })
}

/// Identifies this boot of the machine, so that a marker from before a power cut is not trusted.
fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let id = id.trim();
    if id.is_empty() { format!("pid-{}", std::process::id()) } else { id.to_owned() }
}
