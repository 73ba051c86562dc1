//! The format numbers of everything that another version of Adjutant may have to read.
//!
//! A number rises when an older version could not read what a newer one writes, or would damage it.
//! "Formats and upgrades" in `docs/files.md` is the policy; `file/migration.rs` holds the steps from
//! one number to the next.

use thiserror::Error;

/// The layout of the data folder, kept in `format.json`. A folder without that file has format 1.
///
/// This one also rises with each of the other numbers of a folder: processes that have the folder
/// open read only `format.json` again before they write.
pub const FOLDER_FORMAT: u32 = 2;

/// The lines of `events/`, kept in `format.json` as well: the lines have no room for a number.
pub const EVENT_LOG_FORMAT: u32 = 1;

/// `journal/*.wal` and `journal/state`, each of which begins with the number.
pub const JOURNAL_FORMAT: u32 = 1;

/// `journal/index`, which begins with the number.
pub const INDEX_FORMAT: u32 = 2;

/// The archives that `adjutant export` makes and that nodes join a fleet by; in their last entry.
pub const ARCHIVE_FORMAT: u32 = 1;

/// What the nodes of a fleet send to each other: commits, requests, answers, agreements, and the
/// archive that new nodes join by. It must be the same on all nodes. A fleet that says no number
/// speaks 1.
pub const FLEET_PROTOCOL: u32 = 1;

/// Something that has a format number of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FormatPart {
    /// See [`FOLDER_FORMAT`].
    Folder,
    /// See [`EVENT_LOG_FORMAT`].
    EventLog,
    /// See [`JOURNAL_FORMAT`].
    Journal,
    /// See [`INDEX_FORMAT`].
    Index,
    /// See [`ARCHIVE_FORMAT`].
    Archive,
}

/// A format number that this version does not know yet. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{} has format {found}, and this version of Adjutant ({}) reads up to {}",
    part.name(), env!("CARGO_PKG_VERSION"), part.newest()
)]
pub struct NewerFormat {
    /// What has the number.
    pub part: FormatPart,
    /// The number, which is higher than [`FormatPart::newest`].
    pub found: u64,
}

impl FormatPart {
    /// Returns the number this version writes.
    pub const fn newest(self) -> u32 {
        match self {
            Self::Folder => FOLDER_FORMAT,
            Self::EventLog => EVENT_LOG_FORMAT,
            Self::Journal => JOURNAL_FORMAT,
            Self::Index => INDEX_FORMAT,
            Self::Archive => ARCHIVE_FORMAT,
        }
    }

    /// Refuses a number that is higher than what this version writes.
    pub fn expect_known(self, found: u64) -> Result<(), NewerFormat> {
        if found > u64::from(self.newest()) {
            return Err(NewerFormat { part: self, found });
        }
        Ok(())
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Folder | Self::Archive => "it",
            Self::EventLog => "its event log",
            Self::Journal => "its journal",
            Self::Index => "its index",
        }
    }
}
