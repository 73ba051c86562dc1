//! What an archive of a project contains.

use crate::batch::StoreVersion;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveSummary {
    pub version: StoreVersion,
    pub files: u64,
}
