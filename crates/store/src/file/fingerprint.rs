//! File signatures: what was last seen of a task's file, to tell whether it changed since.

use std::collections::BTreeMap;

use adjutant_model::{Status, TaskId};
use rustix::fs::{FileType, Stat};

use crate::hash::ShortHash;

/// The last known state of a task's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileFingerprint {
    /// The folder in which the file lies.
    pub(super) status: Status,
    /// `None` if the file was not looked at since it was written.
    pub(super) sig: Option<FileSignature>,
    /// The hash of the text; `None` if the text is uncertain.
    pub(super) hash: Option<ShortHash>,
}

/// The state of each task's file before an edit that was reported and is in no commit yet. `None`
/// if the task was unknown.
pub(super) type PendingEdits = BTreeMap<TaskId, Option<FileFingerprint>>;

/// A file's signature. The same signature means the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileSignature {
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) mtime_ns: i64,
}

impl FileFingerprint {
    /// Returns true if a file with this folder and signature is the known one.
    pub(super) fn is_at(&self, (status, sig): &(Status, Option<FileSignature>)) -> bool {
        self.status == *status && sig.is_some() && self.sig == *sig
    }
}

impl FileSignature {
    /// Returns the signature of a file; `None` if it is not a plain file.
    pub(super) fn of(stat: &Stat) -> Option<Self> {
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        #[cfg_attr(
            not(target_os = "linux"),
            expect(clippy::useless_conversion, reason = "Linux counts them without a sign")
        )]
        let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
        Some(Self {
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_ns: stat.st_mtime.saturating_mul(1_000_000_000).saturating_add(nanos),
        })
    }
}
