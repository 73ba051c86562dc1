//! The values all nodes of a project agree on, in a key-value bucket: the first value written
//! counts for all.

use adjutant_store::fleet_network::AgreedValue;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::kv::{Config, Store};
use async_nats::jetstream::stream::LastRawMessageErrorKind;

use crate::nats::error::FleetError;
use crate::nats::fleet::FleetConnection;
use crate::nats::options::DurabilityLevel;
use crate::nats::retry::RetryDeadline;
use crate::nats::server_check::REPLICAS;

/// The header of a message that marks a delete rather than a value.
const KV_OPERATION: &str = "KV-Operation";

/// Returns the agreed value of a key, or None if there is none. Writes nothing.
pub(crate) async fn read_agreed(
    fleet: &FleetConnection,
    on: &str,
) -> Result<Option<AgreedValue>, FleetError> {
    let mut patience = RetryDeadline::new(fleet.options().retry_timeout);
    loop {
        let error = match read_current(fleet, on).await {
            Ok(there) => return Ok(there),
            Err(error) => error,
        };
        if !patience.wait_for_retry().await {
            return Err(fleet.unreachable("agree with the other nodes")(error));
        }
    }
}

/// Returns the agreed value of a key. Writes `own` if there is none yet.
pub(crate) async fn agree(
    fleet: &FleetConnection,
    on: &str,
    own: &str,
) -> Result<AgreedValue, FleetError> {
    let mut patience = RetryDeadline::new(fleet.options().retry_timeout);
    loop {
        let error = match try_agree(fleet, on, own).await {
            Ok(agreed) => return Ok(agreed),
            Err(error) => error,
        };
        if !patience.wait_for_retry().await {
            return Err(fleet.unreachable("agree with the other nodes")(error));
        }
    }
}

/// Replaces the value of a key if it is still `was`. Returns None if it is not.
pub(crate) async fn change(
    fleet: &FleetConnection,
    on: &str,
    was: &str,
    to: &str,
) -> Result<Option<AgreedValue>, FleetError> {
    let mut patience = RetryDeadline::new(fleet.options().retry_timeout);
    loop {
        let error = match try_change(fleet, on, was, to).await {
            Ok(changed) => return Ok(changed),
            Err(error) => error,
        };
        if !patience.wait_for_retry().await {
            return Err(fleet.unreachable("agree with the other nodes")(error));
        }
    }
}

async fn try_agree(
    fleet: &FleetConnection,
    on: &str,
    own: &str,
) -> Result<AgreedValue, async_nats::Error> {
    // Usually the value exists, and one read is enough.
    if let Ok(Some(there)) = read_current(fleet, on).await {
        return Ok(there);
    }
    let bucket = bucket(fleet).await?;
    if let Some(there) = read_current(fleet, on).await? {
        return Ok(there);
    }
    let revision = bucket.create(on, own.to_owned().into()).await?;
    Ok(AgreedValue { text: own.to_owned(), revision })
}

/// A lost answer leaves the result open, so the next try reads the value again.
async fn try_change(
    fleet: &FleetConnection,
    on: &str,
    was: &str,
    to: &str,
) -> Result<Option<AgreedValue>, async_nats::Error> {
    let bucket = bucket(fleet).await?;
    let Some(there) = read_current(fleet, on).await? else { return Ok(None) };
    if there.text == to {
        return Ok(Some(there));
    }
    if there.text != was {
        return Ok(None);
    }
    let revision = bucket.update(on, to.to_owned().into(), there.revision).await?;
    Ok(Some(AgreedValue { text: to.to_owned(), revision }))
}

/// Reads the current value from the bucket's leader: a replica may lag and return an old value.
async fn read_current(
    fleet: &FleetConnection,
    on: &str,
) -> Result<Option<AgreedValue>, async_nats::Error> {
    let name = fleet.name("keys");
    let stream = fleet.jetstream().get_stream_no_info(format!("KV_{name}")).await?;
    let there = match stream.get_last_raw_message_by_subject(&format!("$KV.{name}.{on}")).await {
        Ok(there) => there,
        Err(error) => match error.kind() {
            LastRawMessageErrorKind::NoMessageFound => return Ok(None),
            // The first node that agrees on a value creates the bucket.
            LastRawMessageErrorKind::JetStream(error_info)
                if error_info.error_code() == ErrorCode::STREAM_NOT_FOUND =>
            {
                return Ok(None);
            }
            _ => return Err(error.into()),
        },
    };
    // The value was deleted.
    if there.headers.get(KV_OPERATION).is_some() {
        return Ok(None);
    }
    let text = String::from_utf8(there.payload.to_vec())?;
    Ok(Some(AgreedValue { text, revision: there.sequence }))
}

async fn bucket(fleet: &FleetConnection) -> Result<Store, async_nats::Error> {
    let name = fleet.name("keys");
    if let Ok(bucket) = fleet.jetstream().get_key_value(&name).await {
        return Ok(bucket);
    }
    let config = |num_replicas| Config {
        bucket: name.clone(),
        history: 1,
        num_replicas,
        ..Config::default()
    };
    let made = fleet.jetstream().create_key_value(config(REPLICAS)).await;
    if made.is_err() && fleet.options().durability == DurabilityLevel::Relaxed {
        return Ok(fleet.jetstream().create_key_value(config(1)).await?);
    }
    Ok(made?)
}
