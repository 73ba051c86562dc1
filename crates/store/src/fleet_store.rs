//! What the store of a fleet node does besides [`Store`].

use std::io::Write;

use adjutant_core::World;

use crate::archive_summary::ArchiveSummary;
use crate::batch::StoreVersion;
use crate::replicated_file::ReplicatedFile;
use crate::store::{Store, StoreError};

/// A store whose commits are ordered together with those of other nodes.
pub trait FleetStore: Store {
    /// While `is_leader` returns true, `begin` does not ask for the commits of other nodes. If
    /// another node committed, the next commit is refused, and the `begin` after it asks.
    fn set_leader_check(&mut self, is_leader: LeaderCheck);

    /// Makes the next `begin` ask for the commits of other nodes in any case.
    fn expect_other_commits(&mut self);

    /// Copies files that agents of a node left to the folders of the other nodes. The caller holds
    /// the write lock, and calls this before it makes decisions based on the files.
    fn replicate_files(
        &mut self,
        files: &[ReplicatedFile],
        from: &str,
    ) -> Result<StoreVersion, StoreError>;

    /// Writes everything into an archive. The caller holds the write lock and a current world.
    fn write_archive(
        &mut self,
        world: &World,
        out: &mut dyn Write,
    ) -> Result<ArchiveSummary, StoreError>;

    /// Stores an archive for other nodes to join with. The caller holds the write lock and has
    /// loaded the current world.
    fn store_join_archive(&mut self, world: &World) -> Result<(), StoreError>;

    /// Removes and returns the answer to a request of this node, if a commit of another
    /// node has it.
    fn take_answer(&mut self, request_id: &str) -> Option<String>;

    /// Returns whether any node's request is known to be done, by a commit of this or another node.
    fn was_answered(&self, request_id: &str) -> bool;
}

/// Returns whether this node leads, so that no other node is expected to commit.
pub type LeaderCheck = Box<dyn Fn() -> bool + Send>;

impl<S: FleetStore + ?Sized> FleetStore for Box<S> {
    fn set_leader_check(&mut self, is_leader: LeaderCheck) {
        (**self).set_leader_check(is_leader);
    }

    fn expect_other_commits(&mut self) {
        (**self).expect_other_commits();
    }

    fn replicate_files(
        &mut self,
        files: &[ReplicatedFile],
        from: &str,
    ) -> Result<StoreVersion, StoreError> {
        (**self).replicate_files(files, from)
    }

    fn write_archive(
        &mut self,
        world: &World,
        out: &mut dyn Write,
    ) -> Result<ArchiveSummary, StoreError> {
        (**self).write_archive(world, out)
    }

    fn store_join_archive(&mut self, world: &World) -> Result<(), StoreError> {
        (**self).store_join_archive(world)
    }

    fn take_answer(&mut self, request_id: &str) -> Option<String> {
        (**self).take_answer(request_id)
    }

    fn was_answered(&self, request_id: &str) -> bool {
        (**self).was_answered(request_id)
    }
}
