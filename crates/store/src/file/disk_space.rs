//! Checks the disk space for a commit before it is sent to the fleet: once ordered, it counts.

use rustix::fs::fstatvfs;
use rustix::io::Errno;

use super::disk::FolderDisk;
use crate::document_paths::JOURNAL;
use crate::plan::DocumentChange;
use crate::store::StoreError;

/// The least space that a file takes.
const BLOCK_BYTES: u64 = 4096;
/// Reserve for everything else: the event log, exchange slots, folders that grow.
const MARGIN_BYTES: u64 = 64 << 10;

/// Returns how much a commit writes at most: each text goes to its file, to the journal and to
/// the prewritten commit.
pub(super) fn bytes_needed(ops: &[DocumentChange], lines: &[String]) -> u64 {
    let length = |op: &DocumentChange| match op {
        DocumentChange::Task(op) => op.text.len(),
        DocumentChange::Put { text, .. } => text.len(),
        DocumentChange::Move { .. } => 0,
    };
    let texts: u64 = ops.iter().map(|op| length(op) as u64).sum();
    let files: u64 = ops.iter().map(|op| round_up_to_block(length(op) as u64)).sum();
    let record: u64 = lines.iter().map(|line| line.len() as u64).sum();
    files + 2 * (texts + record) + record + MARGIN_BYTES
}

fn round_up_to_block(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK_BYTES)
}

impl FolderDisk {
    /// Fails if the file system has less free space. One that does not tell counts as large enough.
    pub(super) fn expect_free_space(&self, bytes: u64) -> Result<(), StoreError> {
        let has_room = || {
            let stat = fstatvfs(&self.root_fd).ok().filter(|stat| stat.f_blocks > 0);
            stat.is_none_or(|stat| stat.f_bavail.saturating_mul(stat.f_frsize) >= bytes)
        };
        if has_room() || (self.drain_pool() && has_room()) {
            return Ok(());
        }
        Err(StoreError::io("write", self.root().join(JOURNAL))(Errno::NOSPC.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disk_space_counts_text_in_file_and_journal() {
        let put = |text: &str| DocumentChange::Put { path: "a".into(), text: text.into() };
        let shift = DocumentChange::Move { from: "a".into(), to: "b".into() };
        let ops = [put(&"x".repeat(4097)), put("y"), shift];
        let lines = ["z".repeat(10)];
        assert_eq!(bytes_needed(&ops, &lines) - MARGIN_BYTES, 3 * 4096 + 2 * (4098 + 10) + 10);
    }
}
