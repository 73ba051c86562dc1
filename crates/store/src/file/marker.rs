//! How far the files are: a small file that says which commits they show and which are synced.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::batch::Version;
use crate::format::{FormatPart, JOURNAL_FORMAT};
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
    /// Whether files may have been lost that were written after they were last synced.
    pub(super) loss: Loss,
}

/// What the machine may have lost since the marker was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Loss {
    /// Nothing: it has been running all the while.
    Nothing,
    /// Whatever was not synced.
    #[default]
    Unsynced,
}

impl Marker {
    /// Reads what the marker of a journal says, without making one: nothing if there is none.
    pub(super) fn peek(journal: &Path) -> Result<Progress, StoreError> {
        let path = journal.join("state");
        match std::fs::read(&path) {
            Ok(bytes) => progress(&bytes, &boot()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Progress::default()),
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
        Ok(Self { file, path, boot: boot(), synced: Arc::default() })
    }

    /// Reads how far the files are. After another boot only what was synced counts; a marker
    /// that cannot be read counts for nothing, and everything in the journal is checked again. One
    /// of a newer format is refused, or it would be written over.
    pub(super) fn read(&self) -> Result<Progress, StoreError> {
        let progress = progress(self.text()?.as_bytes(), &self.boot)?;
        self.synced.fetch_max(progress.synced.0, Ordering::SeqCst);
        Ok(progress)
    }

    /// Takes back what it said: it speaks of a journal that is no more.
    pub(super) fn forget(&self) -> Result<(), StoreError> {
        self.synced.store(0, Ordering::SeqCst);
        self.put(&self.line(Version(0)))
    }

    /// Says that the files show every commit up to `version`. Only who holds the lock may.
    pub(super) fn write(&self, version: Version) -> Result<(), StoreError> {
        // Another process may have synced more than this one knows.
        self.read()?;
        self.put(&self.line(version))
    }

    /// Says that the files show every commit up to `version`, even after a power cut.
    pub(super) fn write_synced(&self, version: Version) -> Result<(), StoreError> {
        self.synced.fetch_max(version.0, Ordering::SeqCst);
        let line = self.line(version);
        if self.text()? == line {
            return Ok(());
        }
        self.put(&line)?;
        fault::point();
        self.file.sync_data().map_err(StoreError::io("sync", &self.path))
    }

    /// Returns the number a checkpoint raises when it is through.
    pub(super) fn synced(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.synced)
    }

    fn line(&self, version: Version) -> String {
        let synced = self.synced.load(Ordering::SeqCst).min(version.0);
        format!("adjutant {JOURNAL_FORMAT} {:020} {synced:020} {}\n", version.0, self.boot)
    }

    fn text(&self) -> Result<String, StoreError> {
        let mut bytes = [0; 256];
        let read = self.file.read_at(&mut bytes, 0).map_err(StoreError::io("read", &self.path))?;
        Ok(String::from_utf8_lossy(&bytes[..read]).into_owned())
    }

    /// The line has the same length every time, and never crosses into another block.
    fn put(&self, line: &str) -> Result<(), StoreError> {
        fault::point();
        self.file.write_all_at(line.as_bytes(), 0).map_err(StoreError::io("write", &self.path))
    }
}

/// Returns the format of a marker; none if it is damaged.
pub(super) fn format_of(bytes: &[u8]) -> Option<u64> {
    let mut words = bytes.split(u8::is_ascii_whitespace);
    let number = words.next().filter(|word| *word == b"adjutant").and(words.next())?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

fn progress(bytes: &[u8], boot: &str) -> Result<Progress, StoreError> {
    let format = format_of(bytes).unwrap_or_default();
    FormatPart::Journal.expect_known(format)?;
    Ok(parse(&String::from_utf8_lossy(bytes), boot).unwrap_or_default())
}

fn parse(text: &str, boot: &str) -> Option<Progress> {
    let mut words = text.split_ascii_whitespace();
    if words.next()? != "adjutant" || words.next()?.parse() != Ok(JOURNAL_FORMAT) {
        return None;
    }
    let projected = Version(words.next()?.parse().ok()?);
    let synced = Version(words.next()?.parse().ok()?);
    Some(if words.next()? == boot {
        Progress { projected, synced, loss: Loss::Nothing }
    } else {
        Progress { projected: synced, synced, loss: Loss::Unsynced }
    })
}

/// Names this boot of the machine, so that a marker written before a power cut is not believed.
fn boot() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let id = id.trim();
    if id.is_empty() { format!("pid-{}", std::process::id()) } else { id.to_owned() }
}
