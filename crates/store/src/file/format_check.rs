//! Reads the format numbers of a data folder, and refuses a folder that a newer version wrote.
//!
//! Nothing here changes the folder. The check comes before the lock, because taking the lock
//! creates files, and a refused folder must stay byte for byte as it was.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::folder::DataFolder;
use super::{index, journal, progress_marker};
use crate::document_paths::{FORMAT_FILE, JOURNAL};
use crate::format::{EVENT_LOG_FORMAT, FOLDER_FORMAT, FormatPart, NewerFormat};
use crate::store::StoreError;

/// Every line that states a format number fits in this.
const START_BYTES: u64 = 512;

/// The content of `format.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredFormats {
    pub(super) folder: u64,
    pub(super) event_log: u64,
}

/// The format numbers found in a folder; `None` for a part that is missing or damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FolderFormats {
    pub(super) stored: Option<StoredFormats>,
    has_journal: bool,
    journal: Option<u64>,
    index: Option<u64>,
}

impl StoredFormats {
    pub(super) const NEWEST: Self =
        Self { folder: FOLDER_FORMAT as u64, event_log: EVENT_LOG_FORMAT as u64 };

    /// Reads `format.json`; `None` if there is none. A malformed file is an error: guessing an
    /// older number would migrate a folder that is migrated already.
    pub(super) fn read(root: &Path) -> Result<Option<Self>, StoreError> {
        let path = root.join(FORMAT_FILE);
        let Some(bytes) = read_start(&path)? else { return Ok(None) };
        let stored: Option<Self> = serde_json::from_slice(&bytes).ok();
        match stored.filter(|stored| stored.folder > 0 && stored.event_log > 0) {
            Some(stored) => Ok(Some(stored)),
            None => Err(StoreError::Damaged { path, what: UNREADABLE.to_owned() }),
        }
    }

    fn expect_known(self) -> Result<(), NewerFormat> {
        FormatPart::Folder.expect_known(self.folder)?;
        FormatPart::EventLog.expect_known(self.event_log)
    }
}

const UNREADABLE: &str = "does not name the format of the folder";

impl FolderFormats {
    /// Reads every number, and refuses a newer one. A malformed number counts as missing: the code
    /// that reads the file reports the damage.
    pub(super) fn read(root: &Path) -> Result<Self, StoreError> {
        let stored = StoredFormats::read(root)?;
        stored.map_or(Ok(()), StoredFormats::expect_known)?;
        let folder = root.join(JOURNAL);
        let paths = journal::paths(&folder)?;
        let mut journal = read_format(&folder.join("state"), progress_marker::format_of)?;
        for path in &paths {
            journal = journal.max(read_format(path, journal::format_of)?);
        }
        let index = read_format(&folder.join("index"), index::format_of)?;
        FormatPart::Journal.expect_known(journal.unwrap_or_default())?;
        FormatPart::Index.expect_known(index.unwrap_or_default())?;
        Ok(Self { stored, has_journal: !paths.is_empty(), journal, index })
    }

    /// Returns the number of a part. A folder with a journal and no `format.json` is older than
    /// that file. A folder with neither is new, or was written by the original AOF.
    pub(super) fn of(&self, part: FormatPart) -> Option<u64> {
        let before = self.has_journal.then_some(1);
        match part {
            FormatPart::Folder => self.stored.map(|stored| stored.folder).or(before),
            FormatPart::EventLog => self.stored.map(|stored| stored.event_log).or(before),
            FormatPart::Journal => self.journal,
            FormatPart::Index => self.index,
            FormatPart::Archive => None,
        }
    }
}

/// Refuses a folder that a newer version wrote. Changes nothing.
pub fn check_format(folder: &DataFolder) -> Result<(), StoreError> {
    FolderFormats::read(folder.root()).map(drop)
}

fn read_format(path: &Path, of: fn(&[u8]) -> Option<u64>) -> Result<Option<u64>, StoreError> {
    Ok(read_start(path)?.and_then(|bytes| of(&bytes)))
}

fn read_start(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(START_BYTES).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(StoreError::io("read", path)(error)),
    }
}

/// A folder in the place of the file counts as a missing file.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory)
}
