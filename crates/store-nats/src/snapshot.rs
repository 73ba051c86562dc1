//! A snapshot: the archive of a folder, kept with the servers, by which a new node joins and which
//! bounds how far back anybody must go.

use adjutant_core::World;
use adjutant_store::file::{Folder, Parcel, UnpackError, is_unused, join};
use adjutant_store::{FileStore, Loaded, Store, StoreError, Version};

use crate::commits::Commits;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::{NatsStore, objects};

/// What the snapshot is called. A new one takes the place of the one before, whole.
const NAME: &str = "snapshot";

/// Keeps an archive as the snapshot.
pub(crate) async fn put(fleet: &Fleet, archive: Vec<u8>) -> Result<(), FleetError> {
    objects::put(fleet, NAME, archive).await
}

impl Fleet {
    /// Keeps a snapshot of a node's folder, in turn, with a world that has caught up.
    pub fn keep_snapshot(
        &self,
        store: &mut NatsStore,
        world: &World,
    ) -> Result<Version, StoreError> {
        let mut archive = Vec::new();
        let packed = store.pack(world, Parcel::Snapshot, &mut archive)?;
        let kept = self.wait(move |fleet| async move { objects::put(&fleet, NAME, archive).await });
        kept.map_err(|error| self.failed(error))?;
        Ok(packed.version)
    }

    /// Begins a folder that nobody has used with the snapshot, where the servers no longer have
    /// the first commits.
    pub fn join(&self, folder: &Folder) -> Result<(), StoreError> {
        if !is_unused(folder)? || !self.is_trimmed()? {
            return Ok(());
        }
        match self.snapshot()? {
            Some(archive) => join(folder, &archive[..]).map_err(|error| self.not_unpacked(error)),
            None => self.expect_every_commit(),
        }
    }

    fn snapshot(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let archive = self.wait(|fleet| async move { objects::get(&fleet, NAME).await });
        archive.map_err(|error| self.failed(error))
    }

    fn not_unpacked(&self, error: UnpackError) -> StoreError {
        match error {
            UnpackError::Store(error) => error,
            UnpackError::Newer(format) => {
                let what =
                    format!("the copy that nodes join by: {format}; install a newer version");
                self.failed(FleetError::Damaged(what))
            }
            other => self.failed(FleetError::Damaged(other.to_string())),
        }
    }

    fn is_trimmed(&self) -> Result<bool, StoreError> {
        let first = self.wait(|fleet| async move { Commits::new(&fleet).first().await });
        Ok(first.map_err(|error| self.failed(error))?.is_some_and(|first| first > 1))
    }

    fn expect_every_commit(&self) -> Result<(), StoreError> {
        let first = self.wait(|fleet| async move { Commits::new(&fleet).first().await });
        match first.map_err(|error| self.failed(error))? {
            Some(first) if first > 1 => {
                let what = format!(
                    "the commits before {first} are gone and there is no snapshot: a node that has \
                     the folder must be up for another to join"
                );
                Err(self.failed(FleetError::Damaged(what)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Makes a folder the fleet's, on servers that have none: from an import, or when a cluster
    /// was lost.
    pub fn restore(&self, folder: &Folder, node: &str) -> Result<(NatsStore, Loaded), StoreError> {
        let commits = Commits::new(self);
        let first = self.wait(|fleet| async move { Commits::new(&fleet).first().await });
        if first.map_err(|error| self.failed(error))?.is_some() {
            let what = "there are commits already, and nothing is written over; give the project \
                        another prefix, or remove the stream first";
            return Err(self.failed(FleetError::Damaged(what.into())));
        }
        let version = FileStore::open(folder)?.0.version();
        commits.establish(version).map_err(|error| self.failed(error))?;
        let (mut store, loaded) = NatsStore::open(folder, node, commits)?;
        store.begin()?;
        let kept = self.keep_snapshot(&mut store, &loaded.world);
        store.end();
        kept?;
        Ok((store, loaded))
    }

    pub(crate) fn failed(&self, error: FleetError) -> StoreError {
        error.into_store(&self.options().shown())
    }
}
