//! Named objects that are too large for a message.

use async_nats::jetstream::object_store::{Config, GetErrorKind, ObjectStore};
use futures_util::StreamExt;
use tokio::io::AsyncReadExt;

use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;
use crate::nats::options::DurabilityLevel;
use crate::nats::retry::RetryDeadline;
use crate::nats::server_check::REPLICAS;

/// Stores an object; it is complete when this returns.
pub(crate) async fn put(
    fleet: &FleetConnection,
    name: &str,
    bytes: Vec<u8>,
) -> Result<(), FleetError> {
    let mut patience = RetryDeadline::new(fleet.options().retry_timeout);
    loop {
        let error = match try_put(fleet, name, &bytes).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if !patience.wait_for_retry().await {
            return Err(fleet.unreachable("store an object")(error));
        }
    }
}

/// Returns an object, or None if no object has this name.
pub(crate) async fn get(
    fleet: &FleetConnection,
    name: &str,
) -> Result<Option<Vec<u8>>, FleetError> {
    let mut patience = RetryDeadline::new(fleet.options().retry_timeout);
    loop {
        let error = match try_get(fleet, name).await {
            Ok(bytes) => return Ok(bytes),
            Err(error) => error,
        };
        if !patience.wait_for_retry().await {
            return Err(fleet.unreachable("read an object")(error));
        }
    }
}

/// Deletes the objects whose name matches `old`.
pub(crate) async fn delete_matching(
    fleet: &FleetConnection,
    old: impl Fn(&str) -> bool,
) -> Result<(), FleetError> {
    try_delete_matching(fleet, old).await.map_err(fleet.unreachable("delete an object"))
}

async fn try_delete_matching(
    fleet: &FleetConnection,
    old: impl Fn(&str) -> bool,
) -> Result<(), async_nats::Error> {
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

async fn try_put(
    fleet: &FleetConnection,
    name: &str,
    mut bytes: &[u8],
) -> Result<(), async_nats::Error> {
    bucket(fleet).await?.put(name, &mut bytes).await?;
    Ok(())
}

async fn try_get(
    fleet: &FleetConnection,
    name: &str,
) -> Result<Option<Vec<u8>>, async_nats::Error> {
    let mut object = match bucket(fleet).await?.get(name).await {
        Ok(object) => object,
        Err(error) if error.kind() == GetErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut bytes = Vec::new();
    object.read_to_end(&mut bytes).await?;
    Ok(Some(bytes))
}

async fn bucket(fleet: &FleetConnection) -> Result<ObjectStore, async_nats::Error> {
    let name = fleet.name("objects");
    if let Ok(bucket) = fleet.jetstream().get_object_store(&name).await {
        return Ok(bucket);
    }
    let config = |num_replicas| Config { bucket: name.clone(), num_replicas, ..Config::default() };
    let made = fleet.jetstream().create_object_store(config(REPLICAS)).await;
    if made.is_err() && fleet.options().durability == DurabilityLevel::Relaxed {
        return Ok(fleet.jetstream().create_object_store(config(1)).await?);
    }
    Ok(made?)
}

/// Deletes an object, if it exists.
pub(crate) async fn delete(fleet: &FleetConnection, name: &str) -> Result<(), FleetError> {
    let removed = match bucket(fleet).await {
        Ok(bucket) => bucket.delete(name).await.map_err(Into::into),
        Err(error) => Err(error),
    };
    removed.map_err(fleet.unreachable("delete an object"))
}
