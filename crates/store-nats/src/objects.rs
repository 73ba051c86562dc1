//! What is too large for a message, by name.

use async_nats::jetstream::object_store::{Config, GetErrorKind, ObjectStore};
use futures_util::StreamExt;
use tokio::io::AsyncReadExt;

use crate::check::REPLICAS;
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::options::Durability;
use crate::patience::Patience;

/// Puts an object there, whole, before it returns.
pub(crate) async fn put(fleet: &Fleet, name: &str, bytes: Vec<u8>) -> Result<(), FleetError> {
    let mut patience = Patience::new(fleet.options().patience);
    loop {
        let error = match try_put(fleet, name, &bytes).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if !patience.again().await {
            return Err(fleet.unreachable("keep an object")(error));
        }
    }
}

/// Returns an object; none if there is none of that name.
pub(crate) async fn get(fleet: &Fleet, name: &str) -> Result<Option<Vec<u8>>, FleetError> {
    let mut patience = Patience::new(fleet.options().patience);
    loop {
        let error = match try_get(fleet, name).await {
            Ok(bytes) => return Ok(bytes),
            Err(error) => error,
        };
        if !patience.again().await {
            return Err(fleet.unreachable("read an object")(error));
        }
    }
}

/// Removes the objects that somebody points at.
pub(crate) async fn remove(fleet: &Fleet, old: impl Fn(&str) -> bool) -> Result<(), FleetError> {
    try_remove(fleet, old).await.map_err(fleet.unreachable("remove an object"))
}

async fn try_remove(fleet: &Fleet, old: impl Fn(&str) -> bool) -> Result<(), async_nats::Error> {
    let bucket = bucket(fleet).await?;
    let mut list = bucket.list().await?;
    while let Some(object) = list.next().await {
        let name = object?.name;
        if old(&name) {
            bucket.delete(&name).await?;
        }
    }
    Ok(())
}

async fn try_put(fleet: &Fleet, name: &str, mut bytes: &[u8]) -> Result<(), async_nats::Error> {
    bucket(fleet).await?.put(name, &mut bytes).await?;
    Ok(())
}

async fn try_get(fleet: &Fleet, name: &str) -> Result<Option<Vec<u8>>, async_nats::Error> {
    let mut object = match bucket(fleet).await?.get(name).await {
        Ok(object) => object,
        Err(error) if error.kind() == GetErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = Vec::new();
    object.read_to_end(&mut bytes).await?;
    Ok(Some(bytes))
}

async fn bucket(fleet: &Fleet) -> Result<ObjectStore, async_nats::Error> {
    let name = fleet.name("objects");
    if let Ok(bucket) = fleet.streams().get_object_store(&name).await {
        return Ok(bucket);
    }
    let config = |num_replicas| Config { bucket: name.clone(), num_replicas, ..Config::default() };
    let made = fleet.streams().create_object_store(config(REPLICAS)).await;
    if made.is_err() && fleet.options().durability == Durability::Relaxed {
        return Ok(fleet.streams().create_object_store(config(1)).await?);
    }
    Ok(made?)
}

/// Removes an object, if it is there.
pub(crate) async fn drop_one(fleet: &Fleet, name: &str) -> Result<(), FleetError> {
    let removed = match bucket(fleet).await {
        Ok(bucket) => bucket.delete(name).await.map_err(Into::into),
        Err(error) => Err(error),
    };
    removed.map_err(fleet.unreachable("remove an object"))
}
