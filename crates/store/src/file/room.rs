//! Whether there is room for a commit, asked before others are: once they have it, it counts.

use rustix::fs::fstatvfs;
use rustix::io::Errno;

use super::disk::Disk;
use crate::document::JOURNAL;
use crate::plan::Op;
use crate::store::StoreError;

/// What a file takes at least.
const BLOCK_BYTES: u64 = 4096;
/// What is left for everything else: the record, the marks, folders that grow.
const MARGIN_BYTES: u64 = 64 << 10;

/// Returns how much a commit writes at most: each text to its file, and all of them to the journal
/// and to what is written down ahead of it.
pub(super) fn needed(ops: &[Op], lines: &[String]) -> u64 {
    let length = |op: &Op| match op {
        Op::Task(op) => op.text.len(),
        Op::Put { text, .. } => text.len(),
        Op::Move { .. } => 0,
    };
    let texts: u64 = ops.iter().map(|op| length(op) as u64).sum();
    let files: u64 = ops.iter().map(|op| blocks(length(op) as u64)).sum();
    let record: u64 = lines.iter().map(|line| line.len() as u64).sum();
    files + 2 * (texts + record) + record + MARGIN_BYTES
}

fn blocks(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK_BYTES)
}

impl Disk {
    /// Fails if there is not this much room. A file system that does not say is believed to have it.
    pub(super) fn expect_room(&self, bytes: u64) -> Result<(), StoreError> {
        let has_room = || {
            let stat = fstatvfs(&self.root_fd).ok().filter(|stat| stat.f_blocks > 0);
            stat.is_none_or(|stat| stat.f_bavail.saturating_mul(stat.f_frsize) >= bytes)
        };
        if has_room() || (self.drop_spares() && has_room()) {
            return Ok(());
        }
        Err(StoreError::io("write", self.root().join(JOURNAL))(Errno::NOSPC.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_counted_in_its_file_and_in_the_journal() {
        let put = |text: &str| Op::Put { path: "a".into(), text: text.into() };
        let shift = Op::Move { from: "a".into(), to: "b".into() };
        let ops = [put(&"x".repeat(4097)), put("y"), shift];
        let lines = ["z".repeat(10)];
        assert_eq!(needed(&ops, &lines) - MARGIN_BYTES, 3 * 4096 + 2 * (4098 + 10) + 10);
    }
}
