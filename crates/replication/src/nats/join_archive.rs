//! The join archive: a copy of a folder on the servers, from which a new node starts. It bounds how
//! far back the stream of commits must reach.

use adjutant_core::World;
use adjutant_store::file::{ArchiveScope, DataFolder, UnpackError, is_unused, join_from_archive};
use adjutant_store::{FileStore, LoadedStore, Store, StoreError, StoreVersion};

use crate::nats::accepted_keys::SignedKind;
use crate::nats::commits::CommitStream;
use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;
use crate::nats::{NatsStore, objects};

/// The name of the object. A new archive replaces the old one atomically.
const NAME: &str = "snapshot";

/// Stores `archive` as the join archive.
pub(crate) async fn put_archive(
    fleet: &FleetConnection,
    archive: Vec<u8>,
) -> Result<(), FleetError> {
    let signed = fleet.sign(&fleet.subject(NAME), &archive);
    objects::put(fleet, NAME, signed).await
}

impl FleetConnection {
    /// Stores a join archive of a node's folder. The caller holds the write turn, and
    /// `world` has caught up.
    pub fn store_join_archive(
        &self,
        store: &mut NatsStore,
        world: &World,
    ) -> Result<StoreVersion, StoreError> {
        let mut archive = Vec::new();
        let packed = store.pack(world, ArchiveScope::Join, &mut archive)?;
        let kept = self.wait(move |fleet| async move { put_archive(&fleet, archive).await });
        kept.map_err(|error| self.to_store_error(error))?;
        Ok(packed.version)
    }

    /// Fills an unused folder from the join archive, if the servers no longer
    /// have the first commits.
    pub fn join(&self, folder: &DataFolder) -> Result<(), StoreError> {
        if !is_unused(folder)? || !self.is_trimmed()? {
            return Ok(());
        }
        match self.read_join_archive()? {
            Some(archive) => {
                join_from_archive(folder, &archive[..]).map_err(|error| self.unpack_error(error))
            }
            None => self.expect_every_commit(),
        }
    }

    fn read_join_archive(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let archive = self.wait(|fleet| async move { objects::get(&fleet, NAME).await });
        let Some(signed) = archive.map_err(|error| self.to_store_error(error))? else {
            return Ok(None);
        };
        match self.verify(&self.subject(NAME), SignedKind::Message, &signed) {
            Ok(read) => Ok(Some(read.body)),
            Err(refusal) => Err(self.to_store_error(FleetError::Foreign {
                what: "the join archive".to_owned(),
                why: refusal.to_string(),
                next: "a node that is accepted stores another every 5,000 commits, and `adjutant \
                       fleet restore` does under another prefix",
            })),
        }
    }

    fn unpack_error(&self, error: UnpackError) -> StoreError {
        match error {
            UnpackError::Store(error) => error,
            UnpackError::Newer(format) => {
                let what = format!("the join archive: {format}; install a newer version");
                self.to_store_error(FleetError::Damaged(what))
            }
            other => self.to_store_error(FleetError::Damaged(other.to_string())),
        }
    }

    fn is_trimmed(&self) -> Result<bool, StoreError> {
        let first =
            self.wait(|fleet| async move { CommitStream::new(&fleet).first_version().await });
        Ok(first.map_err(|error| self.to_store_error(error))?.is_some_and(|first| first > 1))
    }

    fn expect_every_commit(&self) -> Result<(), StoreError> {
        let first =
            self.wait(|fleet| async move { CommitStream::new(&fleet).first_version().await });
        match first.map_err(|error| self.to_store_error(error))? {
            Some(first) if first > 1 => {
                let what = format!(
                    "the commits before {first} were deleted and there is no join archive: a \
                     node that has the folder must be up before another can join"
                );
                Err(self.to_store_error(FleetError::Damaged(what)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Makes `folder` the start of a fleet on servers without commits: after an import, or after a
    /// cluster was lost.
    pub fn restore(
        &self,
        folder: &DataFolder,
        node: &str,
    ) -> Result<(NatsStore, LoadedStore), StoreError> {
        let commits = CommitStream::new(self);
        let first =
            self.wait(|fleet| async move { CommitStream::new(&fleet).first_version().await });
        if first.map_err(|error| self.to_store_error(error))?.is_some() {
            let what = "the stream has commits already, and they are not overwritten; give the \
                        project another prefix, or delete the stream first";
            return Err(self.to_store_error(FleetError::Damaged(what.into())));
        }
        let version = FileStore::open(folder)?.0.version();
        commits.create(version).map_err(|error| self.to_store_error(error))?;
        let (mut store, loaded) = NatsStore::open(folder, node, commits)?;
        store.begin()?;
        let kept = self.store_join_archive(&mut store, &loaded.world);
        store.end();
        kept?;
        Ok((store, loaded))
    }

    pub(crate) fn to_store_error(&self, error: FleetError) -> StoreError {
        error.into_store(&self.options().display_addresses())
    }
}
