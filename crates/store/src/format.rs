//! The format numbers of everything that another version of Adjutant may have to read.
//!
//! A number rises when an older version could not read what a newer one writes, or would damage it.
//! "Formats and upgrades" in `docs/files.md` is the policy; `file/migration.rs` holds the
//! migrations from one number to the next.

use thiserror::Error;

/// The layout of the data folder, stored in `format.json`. A folder without that file has format 1.
///
/// This number also rises with each of the folder's other numbers: processes that have the folder
/// open check only `format.json` before they write.
pub const FOLDER_FORMAT: u32 = 2;

/// The lines of `events/`, stored in `format.json` too: the lines have no place for a number.
pub const EVENT_LOG_FORMAT: u32 = 1;

/// `journal/*.wal` and `journal/state`; each file begins with the number.
pub const JOURNAL_FORMAT: u32 = 1;

/// `journal/index`, which begins with the number.
pub const INDEX_FORMAT: u32 = 2;

/// The archives that `adjutant export` makes and that nodes use to join a fleet; the number is in
/// the last entry.
pub const ARCHIVE_FORMAT: u32 = 1;

/// The messages between the nodes of a fleet: commits, requests, answers, agreements, and the
/// archive that new nodes join by. The number must be equal on all nodes. A fleet without a number
/// uses protocol 1.
pub const FLEET_PROTOCOL: u32 = 4;

/// A part of the data that has its own format number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FormatPart {
    Folder,
    EventLog,
    Journal,
    Index,
    Archive,
}

/// A format number that is too new for this version. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{} has format {found}, but this version of Adjutant ({}) reads formats up to {}",
    part.name(), env!("CARGO_PKG_VERSION"), part.newest()
)]
pub struct NewerFormat {
    pub part: FormatPart,
    /// Always higher than [`FormatPart::newest`].
    pub found: u64,
}

impl FormatPart {
    /// Returns the number that this version writes.
    pub const fn newest(self) -> u32 {
        match self {
            Self::Folder => FOLDER_FORMAT,
            Self::EventLog => EVENT_LOG_FORMAT,
            Self::Journal => JOURNAL_FORMAT,
            Self::Index => INDEX_FORMAT,
            Self::Archive => ARCHIVE_FORMAT,
        }
    }

    /// Refuses a number that is higher than the one this version writes.
    pub fn expect_known(self, found: u64) -> Result<(), NewerFormat> {
        if found > u64::from(self.newest()) {
            return Err(NewerFormat { part: self, found });
        }
        Ok(())
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Folder => "the data folder",
            Self::Archive => "the archive",
            Self::EventLog => "the event log",
            Self::Journal => "the journal",
            Self::Index => "the index",
        }
    }
}
