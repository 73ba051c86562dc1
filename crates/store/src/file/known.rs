//! What this program last saw of a file: enough to tell whether somebody changed it since.

use std::collections::BTreeMap;

use adjutant_core::{Status, TaskId};
use rustix::fs::{FileType, Stat};

use crate::hash::Hash;

/// What is known of a task's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// The folder it lies in.
    pub(super) status: Status,
    /// How it looked from outside; none if nobody looked since it was written.
    pub(super) sig: Option<Sig>,
    /// What it said; none if that is in doubt.
    pub(super) hash: Option<Hash>,
}

/// What was known of tasks before it was told what people did to their files, until a commit says
/// so; none of a task that was not known.
pub(super) type Unsaid = BTreeMap<TaskId, Option<Known>>;

/// How a file looks from outside. The same look means the same text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sig {
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) mtime_ns: i64,
}

impl Known {
    /// Says whether a file at this place, with this look, is the one that is known.
    pub(super) fn is_at(&self, (status, sig): &(Status, Option<Sig>)) -> bool {
        self.status == *status && sig.is_some() && self.sig == *sig
    }
}

impl Sig {
    /// Takes the look of a file; none if it is not a plain file.
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
