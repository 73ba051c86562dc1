//! Replicates files that agents leave on one node to every other node.
//!
//! These files travel in the order of the commits. So a move of a task's folder also moves them, in
//! the same order on every node.

use std::borrow::Cow;

use adjutant_model::Time;

use super::apply_commits::CommitSequencer;
use super::disk::PathState;
use super::journal::{JournalEntry, JournalOp};
use super::{FileStore, StateTrust, WriteTurn};
use crate::batch::StoreVersion;
use crate::document_paths::{companion_folder, run_folder};
use crate::replicated_file::{ReplicatedFile, TaskFolderKind};
use crate::store::StoreError;

#[derive(Debug, Clone, Copy)]
pub struct ReplicationRoute<'a> {
    /// The node whose agents wrote the files. Its own copies are newer than the replicated ones.
    pub from: &'a str,
    pub here: &'a str,
}

impl FileStore {
    /// Commits files that agents left, after `order` has accepted the commit. The caller holds
    /// the write lock.
    pub fn commit_files_ordered(
        &mut self,
        files: &[ReplicatedFile],
        way: ReplicationRoute<'_>,
        order: CommitSequencer<'_>,
    ) -> Result<StoreVersion, StoreError> {
        if self.trust != StateTrust::Good || self.turn != WriteTurn::Ours {
            return Err(StoreError::Stopped);
        }
        let carried = self.replicate_all(files, way, order);
        match &carried {
            Ok(_) => {}
            Err(StoreError::Stopped) => self.trust = StateTrust::Stopped,
            Err(_) => self.require_reload(),
        }
        carried
    }

    fn replicate_all(
        &mut self,
        files: &[ReplicatedFile],
        way: ReplicationRoute<'_>,
        order: CommitSequencer<'_>,
    ) -> Result<StoreVersion, StoreError> {
        let ops = files.iter().filter_map(|file| self.replicate_op(file, way.from)).collect();
        let version = self.version.next();
        let day = self.log.day(Time::from_millis(0)).into();
        let mut entry = JournalEntry { version: version.0, day, ops, ..JournalEntry::default() };
        order(&|| serde_json::to_string(&entry).expect("text always makes JSON"), &mut || {})?;
        entry.ops.retain(|_| way.from != way.here);
        self.journal.append(&entry)?;
        self.version = version;
        self.write_to_files(std::slice::from_ref(&entry))?;
        Ok(version)
    }

    /// Returns the write operation for a file. Returns `None` for an unknown task, which has no
    /// folder, and for a path where something else than a file lies.
    fn replicate_op<'a>(&self, file: &'a ReplicatedFile, from: &'a str) -> Option<JournalOp<'a>> {
        let folder = match file.home {
            TaskFolderKind::Task => {
                companion_folder(self.fingerprints.get(&file.task)?.status, &file.task)
            }
            TaskFolderKind::Run => run_folder(&file.task),
        };
        let path = format!("{folder}/{}", file.path);
        let was = match self.disk.path_state(&path) {
            Ok(PathState::Other) | Err(_) => return None,
            Ok(PathState::File(_) | PathState::Missing) => self.hash_of(&path),
        };
        let (text, origin) = (file.content.as_slice().into(), Some(Cow::Borrowed(from)));
        Some(JournalOp::Put { path: path.into(), was, text, origin })
    }
}
