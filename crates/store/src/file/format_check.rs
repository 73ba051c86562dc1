//! Reads the format numbers of a data folder, and refuses a folder that a newer version has written.
//!
//! Nothing here changes anything. A folder is checked before it is locked, since taking the lock
//! makes files, and a folder that is refused must stay byte for byte as it was.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::folder::Folder;
use super::{index, journal, marker};
use crate::document::{FORMAT_FILE, JOURNAL};
use crate::format::{EVENT_LOG_FORMAT, FOLDER_FORMAT, FormatPart, NewerFormat};
use crate::store::StoreError;

/// No first line that says a number is longer than this.
const START_BYTES: u64 = 512;

/// What `format.json` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoredFormats {
    pub(super) folder: u64,
    pub(super) event_log: u64,
}

/// The numbers of a folder; none where there is nothing that could have one.
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

    /// Reads `format.json`; none if there is none. A file that cannot be read as numbers is refused:
    /// to guess an older number would migrate what is migrated already.
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

/// What is wrong with `format.json` if it holds no numbers.
const UNREADABLE: &str = "does not say which format the folder has";

impl FolderFormats {
    /// Reads every number, and refuses one that is newer. What cannot be read as a number counts as
    /// none: that is damage, which is dealt with where the file is read.
    pub(super) fn read(root: &Path) -> Result<Self, StoreError> {
        let stored = StoredFormats::read(root)?;
        stored.map_or(Ok(()), StoredFormats::expect_known)?;
        let folder = root.join(JOURNAL);
        let paths = journal::paths(&folder)?;
        let mut journal = number(&folder.join("state"), marker::format_of)?;
        for path in &paths {
            journal = journal.max(number(path, journal::format_of)?);
        }
        let index = number(&folder.join("index"), index::format_of)?;
        FormatPart::Journal.expect_known(journal.unwrap_or_default())?;
        FormatPart::Index.expect_known(index.unwrap_or_default())?;
        Ok(Self { stored, has_journal: !paths.is_empty(), journal, index })
    }

    /// Returns the number of a part. A folder that has a journal and no `format.json` was written
    /// before there was such a file; one that has neither is new, or the original AOF's.
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

/// Refuses a folder that a newer version has written. Changes nothing.
pub fn check_format(folder: &Folder) -> Result<(), StoreError> {
    FolderFormats::read(folder.root()).map(drop)
}

fn number(path: &Path, of: fn(&[u8]) -> Option<u64>) -> Result<Option<u64>, StoreError> {
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

/// A folder in the place of a file says no number either.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | IsADirectory)
}
